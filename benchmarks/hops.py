"""How many files of the package a crawl calls into, how often it changes room: `python benchmarks/hops.py [--list]`.

Three plain HTML pages are crawled, then crawled again unchanged (ETags). Counted are calls of functions in the process
of the crawl, from the opening of the spider to the end; pages are converted in that process. A room is a name on the
package's top level; a change of room is a call into another room than the call before it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = "Words of this page, enough of them that it is a page of documentation."
LINKS = '<a href="/a.html">One</a> <a href="/b.html">Two</a>'
PAGE = "<html><head><title>{0}</title></head><body><main><h1>{0}</h1><p>{1}</p>{2}</main></body></html>"
TITLES = {"/": ("Home", LINKS), "/a.html": ("First", ""), "/b.html": ("Second", "")}
PAGES = {path: PAGE.format(title, TEXT, links) for path, (title, links) in TITLES.items()}
CRAWL = """
import atexit, inspect, json, os, sys
from scrapy.cmdline import execute

package = os.path.join(os.getcwd(), "llmsspider") + os.sep
files, rooms, room, counting = {}, 0, None, False

def called(frame, event, _):
    global rooms, room, counting
    if event != "call":
        return
    code = frame.f_code
    counting = counting or (code.co_name == "open_spider_async" and code.co_filename.endswith("engine.py"))
    if not counting or not code.co_filename.startswith(package) or not code.co_flags & inspect.CO_NEWLOCALS:
        return
    name = code.co_filename[len(package):]
    files[name] = files.get(name, 0) + 1
    now = name.split(os.sep)[0]
    rooms, room = rooms + (room not in (now, None)), now

def ended():
    sys.setprofile(None)
    with open(sys.argv[1], "w") as out:
        json.dump({"files": files, "rooms": rooms}, out)

atexit.register(ended)
sys.setprofile(called)
execute(["scrapy", *sys.argv[2:]])
"""


class Site(BaseHTTPRequestHandler):
    """Three pages, each with an ETag."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body, tag = PAGES.get(self.path, "").encode(), f'"{self.path}"'
        unchanged = self.headers.get("If-None-Match") == tag
        self.send_response(404 if not body else 304 if unchanged else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("ETag", tag)
        if not unchanged:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not unchanged:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


def crawl(url: str, folder: Path) -> dict[str, dict[str, int] | int]:
    """Crawl the site in a process of its own, and return its counts."""
    counts, settings = (
        folder / "counts.json",
        {"LLMS_DATA_DIR": str(folder), "LLMS_CONVERT_WORKERS": "0"},
    )
    settings |= {
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "True",
        "LOG_LEVEL": "ERROR",
        "LLMS_STATUS_PORT": "off",
    }
    words = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    words = ["crawl", "docs", "-a", f"url={url}", "-O", str(folder / "documents.jsonl"), *words]
    environment = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": "llmsspider.settings",
        "PYTHONPATH": str(ROOT),
    }
    subprocess.run(
        [sys.executable, "-c", CRAWL, str(counts), *words], cwd=ROOT, env=environment, check=True
    )
    return json.loads(counts.read_text(encoding="utf-8"))


def main() -> None:
    """Print the counts of both crawls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the files, the most called first")
    listed = parser.parse_args().list
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "unchanged"):
            counts = crawl(f"http://127.0.0.1:{server.server_port}/", Path(folder))
            files = counts["files"]
            print(
                f"{name}: {len(files)} files, {counts['rooms']} changes of room, {sum(files.values())} calls"
            )
            for file in sorted(files, key=files.get, reverse=True) if listed else ():
                print(f"  {files[file]:6} {file}")


if __name__ == "__main__":
    main()
