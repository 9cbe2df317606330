"""Memory of a crawl whose consumer sleeps: `python benchmarks/consumer.py [--pages 2000] [--sleep 0.02]`.

`for document in llmsspider.crawl(url)` over pages of 40 KB, with a pause after each document. Shown is the resident
memory of both processes, in MB, after each tenth of the pages, and how many pages the site had been asked for by then.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import llmsspider

TEXT = "".join(f"<p>Paragraph {n}: {'words that a page is made of ' * 14}</p>" for n in range(100))
LOCAL = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1", "LLMS_CONVERT_WORKERS": 0}


def serve(pages: int) -> tuple[str, list[str]]:
    """Serve a home page that links to all others; returns its address, and the paths asked for so far."""
    asked: list[str] = []
    names = [str(n).translate(str.maketrans("0123456789", "abcdefghij")) for n in range(pages - 1)]
    links = "".join(f"<p><a href='/{name}.html'>{name}</a></p>" for name in names)
    known = {"/", *(f"/{name}.html" for name in names)}

    class Site(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            there = self.path in known
            title = f"<title>{self.path}</title><h1>Page {self.path}</h1>"
            body = (
                f"<html>{title}<main>{links if self.path == '/' else TEXT}</main>".encode()
                if there
                else b""
            )
            asked.extend([self.path] * there)
            self.send_response(200 if there else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/", asked


def resident(process: int | str) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--sleep", type=float, default=0.02, help="seconds after each document")
    options = parser.parse_args()
    url, asked = serve(options.pages)
    began = time.monotonic()
    for number, _ in enumerate(llmsspider.crawl(url, settings=LOCAL, max_pages=0), 1):
        time.sleep(options.sleep)
        if number % (options.pages // 10) == 0 and number < options.pages:
            (crawl,) = subprocess.check_output(["pgrep", "-P", str(os.getpid())], text=True).split()
            secs = time.monotonic() - began
            print(
                f"{number:5} documents, {len(asked):5} asked, {secs:5.0f} s: "
                f"crawl {resident(crawl):5.0f} MB, consumer {resident('self'):5.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
