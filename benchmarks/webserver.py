"""A local nginx for one folder: own configuration and files, a free port of 127.0.0.1, ETags, a log of requests."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CONFIGURATION = """
daemon off;
master_process off;
pid {place}/nginx.pid;
error_log {place}/error.log warn;
worker_rlimit_nofile 4096;
events {{ worker_connections 1024; }}
http {{
    include {place}/mime.types;
    charset utf-8;
    sendfile on;
    tcp_nopush on;
    etag on;
    keepalive_requests 100000;
    log_format asked '$msec\\t$request_time\\t$status\\t$body_bytes_sent\\t$sent_http_content_type\\t$request_uri';
    access_log {place}/access.log asked;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    server {{ listen 127.0.0.1:{port}; root {root}; index index.html; }}
}}
"""
MIME_TYPES = """
types {
    text/html html htm;
    text/css css;
    text/markdown md;
    text/plain txt;
    text/xml xml;
    application/javascript js;
    image/png png;
    image/svg+xml svg;
}
default_type application/octet-stream;
"""
START_SECS = 20


@dataclass(frozen=True)
class Asked:
    """One answered request: when it came (seconds since 1970), status, bytes, content type, path."""

    time: float
    status: int
    sent: int
    content_type: str
    path: str

    @property
    def is_page(self) -> bool:
        """An HTML page that was sent."""
        return self.status == 200 and self.content_type.startswith("text/html")


@dataclass
class WebServer:
    """A running server."""

    url: str
    log: Path
    read_up_to: int = 0

    def requests(self) -> list[Asked]:
        """Return the requests since the last call."""
        with self.log.open(encoding="utf-8", errors="replace") as file:
            file.seek(self.read_up_to)
            lines = file.read().splitlines()
            self.read_up_to = file.tell()
        return [_asked(line) for line in lines]


def _asked(line: str) -> Asked:
    ended, took, status, sent, content_type, path = line.split("\t", 5)
    return Asked(
        float(ended) - float(took), int(status), int(sent), content_type, path.partition("#")[0]
    )


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def serving(root: Path, port: int | None = None) -> Iterator[WebServer]:
    """Serve a folder until the block ends."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")
    if nginx is None:
        raise SystemExit("nginx is missing: apt-get install nginx-light")
    port = port or free_port()
    with tempfile.TemporaryDirectory(prefix="llmsspider-nginx-") as name:
        place = Path(name)
        (place / "mime.types").write_text(MIME_TYPES, encoding="utf-8")
        (place / "nginx.conf").write_text(
            CONFIGURATION.format(place=place, port=port, root=root), encoding="utf-8"
        )
        with (place / "output").open("wb") as output:
            process = subprocess.Popen(
                [nginx, "-p", name, "-c", str(place / "nginx.conf")], stdout=output, stderr=output
            )
        try:
            _wait_for(process, port, place)
            yield WebServer(f"http://127.0.0.1:{port}/", place / "access.log")
        finally:
            process.terminate()
            process.wait()


def _wait_for(process: subprocess.Popen[bytes], port: int, place: Path) -> None:
    deadline = time.monotonic() + START_SECS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise SystemExit("nginx did not start:\n" + (place / "output").read_text(encoding="utf-8"))
