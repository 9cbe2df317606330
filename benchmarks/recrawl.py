"""What the second crawl of a site costs beside the first: `python benchmarks/recrawl.py FOLDER`.

Serves a built documentation site from a folder, crawls it twice with the same store, and prints requests, bytes,
CPU and changes of both. With ETags, and with `--no-validators` without. The CPU of every process of a crawl counts,
that of the server, a thread of this process, does not. `starting` is what a crawl of one page costs.

Linux only, see smoke.py.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import ctypes
import hashlib
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from smoke import PR_SET_CHILD_SUBREAPER, Cost, measure  # noqa: E402

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".xml": "application/xml",
}
STATS = ("converted", "same-body", "not-modified", "revalidated", "link-sources", "markdown/miss")


@dataclass
class FolderSite:
    """A site in a folder. `origin` in its text files becomes the server's address."""

    folder: Path
    origin: str = ""
    validators: bool = True
    url: str = ""
    statuses: Counter[int] = field(default_factory=Counter)
    sent: int = 0

    def clear(self) -> None:
        """Forget what was asked."""
        self.statuses.clear()
        self.sent = 0

    def body(self, path: str) -> tuple[bytes, str] | None:
        """Return body and type of a file, None for what is not there."""
        file = self.folder / unquote(urlsplit(path).path).lstrip("/")
        if file.is_dir():
            file /= "index.html"
        if not file.is_file() or self.folder.resolve() not in file.resolve().parents:
            return None
        body = file.read_bytes()
        if self.origin and file.suffix in TYPES:
            body = body.replace(self.origin.encode(), self.url.encode())
        return body, TYPES.get(file.suffix, "application/octet-stream")


@contextlib.contextmanager
def serving(site: FolderSite) -> Iterator[None]:
    """Serve the site on a free port of 127.0.0.1 until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_args: object) -> None:
            pass

        def do_GET(self) -> None:
            found = site.body(self.path)
            status, (body, media_type) = (
                (200, found) if found else (404, (b"Not found", "text/plain"))
            )
            etag = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
            if site.validators and found and self.headers.get("If-None-Match") == etag:
                status, body = 304, b""
            site.statuses[status] += 1
            site.sent += len(body)
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            if site.validators and found:
                self.send_header("ETag", etag)
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def crawl(url: str, folder: Path, *options: str) -> tuple[Cost, dict[str, int]]:
    """Crawl with the default settings and the store in `folder`; returns the cost and the stats."""
    arguments = ["crawl", "docs", "-a", f"url={url}", "-O", "documents.jsonl"]
    arguments += [
        "-s",
        "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
        "-s",
        f"LLMS_DATA_DIR={folder / 'store'}",
    ]
    project = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(HERE.parent)}
    cost = measure([*arguments, *options], folder, r"'llms/documents': (\d+)", **project)
    log = (folder / "log").read_text(encoding="utf-8")
    dump = re.search(r"Dumping Scrapy stats:\n(\{.*?\})\n\d{4}-", log, re.DOTALL)
    stats = re.sub(r"datetime\.datetime\([^()]*\)|tzinfo=[\w.]+", "None", dump[1]) if dump else "{}"
    return cost, ast.literal_eval(stats)


def row(name: str, site: FolderSite, cost: Cost, stats: dict[str, int]) -> str:
    """Return the line of a crawl."""
    changes = {key[12:]: number for key, number in stats.items() if key.startswith("llms/change/")}
    asked = ", ".join(f"{status}: {number}" for status, number in sorted(site.statuses.items()))
    counted = ", ".join(
        f"{name} {stats[f'llms/{name}']}" for name in STATS if f"llms/{name}" in stats
    )
    return (
        f"{name:<9} {sum(site.statuses.values()):>5} requests ({asked}) {site.sent:>10} bytes "
        f"{cost.cpu_secs:>6.2f} s CPU {cost.pages:>5} documents {changes}\n          {counted}"
    )


def main() -> None:
    """Crawl twice and print both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the built site")
    parser.add_argument("--start", default="/", help="path of the start page (default: /)")
    parser.add_argument(
        "--origin", default="", help="address in its files that stands for the server"
    )
    parser.add_argument("--no-validators", action="store_true", help="send no ETag")
    parser.add_argument("options", nargs="*", help="further options of scrapy crawl, after --")
    options = parser.parse_args()
    if sys.platform != "linux" or ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise SystemExit("recrawl.py: needs Linux (PR_SET_CHILD_SUBREAPER)")

    site = FolderSite(options.folder, options.origin, not options.no_validators)
    costs, sizes = [], []
    with tempfile.TemporaryDirectory() as folder, serving(site):
        page = Path(folder, "one")
        page.mkdir()
        (page / "index.html").write_text("<main><h1>One</h1><p>A page without links.</p></main>")
        with serving(one := FolderSite(page)):
            starting, _ = crawl(f"{one.url}/", page, *options.options)
        for name in ("first", "second"):
            site.clear()
            cost, stats = crawl(f"{site.url}{options.start}", Path(folder), *options.options)
            costs.append(cost)
            sizes.append(site.sent)
            print(row(name, site, cost, stats), flush=True)
    print(f"starting  {starting.cpu_secs:.2f} s CPU (a site of one page)")
    net = (costs[1].cpu_secs - starting.cpu_secs) / (costs[0].cpu_secs - starting.cpu_secs)
    print(
        f"second to first: bytes {sizes[1] / sizes[0]:.1%}, CPU {costs[1].cpu_secs / costs[0].cpu_secs:.1%}, "
        f"without starting {net:.1%}"
    )


if __name__ == "__main__":
    main()
