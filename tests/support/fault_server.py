"""A site on 127.0.0.1 that misbehaves as it is told: for each URL a script of faults.

    python tests/support/fault_server.py --list
    python tests/support/fault_server.py --pages 50 '/p1.html=reset*2,ok' '/p2.html=delay:3' '*=500%2'
    python tests/support/fault_server.py FOLDER --port 8000 '/guide/intro.html=429:1*1,ok'

A script is a comma-separated list of steps, `fault[:argument][*times][%percent]`. The first request for the URL
takes the first step, the next one the next; the last step stays. `ok` is the page as it is. `%2` strikes two requests
in a hundred, by a seeded chance, and leaves the others alone; `reset%2,500%1` strikes with either. The script of `*`
holds for every URL without one.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import gzip
import hashlib
import ipaddress
import os
import random
import socket
import ssl
import struct
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from site_server import Reply, Seen, Site, content_type_of

MODIFIED = 1_700_000_000.0
"""When pages were last changed, in seconds since 1970, as long as `FaultSite.modified` says nothing else."""


@dataclass(frozen=True)
class Step:
    """One step of a script."""

    fault: str
    argument: str = ""
    times: int | None = None
    percent: float = 100.0


def script(text: str) -> list[Step]:
    """Read a script; raises `ValueError` for a fault that there is not.

    >>> script("429:1*2,ok")
    [Step(fault='429', argument='1', times=2, percent=100.0), Step(fault='ok', argument='', times=None, percent=100.0)]
    """
    steps = []
    for part in text.split(","):
        rest, _, percent = part.strip().partition("%")
        rest, _, times = rest.partition("*")
        fault, _, argument = rest.partition(":")
        if fault not in FAULTS and not fault.isdigit():
            raise ValueError(f"{fault!r} is no fault; there are {', '.join(FAULTS)} and any status")
        steps.append(Step(fault, argument, int(times) if times else None, float(percent or 100)))
    return steps


class FaultSite(Site):
    """A site whose URLs have scripts.

    Keys of `scripts` are paths, `host/path` or `*`. Pages have an ETag and a Last-Modified and answer conditional
    requests as RFC 9110, section 13, has it: by ETag where one is sent, else by date.
    """

    def __init__(
        self, pages: dict[str, object], scripts: dict[str, str] | None = None, seed: int = 1
    ):
        super().__init__(pages)  # type: ignore[arg-type]
        self.scripts = {key: script(text) for key, text in (scripts or {}).items()}
        self.modified: dict[str, float] = {}
        self.struck: Counter[str] = Counter()
        """How often each fault was served."""
        self.port = 0
        self.closed_ports: set[int] = set()
        """Ports where every connection is reset, before a handshake."""
        self.busy: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()
        self._chance = random.Random(seed)

    def set_faults(self, scripts: dict[str, str]) -> None:
        """Replace the scripts and begin them anew."""
        with self._lock:
            self.scripts = {key: script(text) for key, text in scripts.items()}
            self._taken.clear()

    def step(self, host: str, path: str) -> Step:
        """Return the step that this request takes."""
        if "?hop=" in path:  # where a redirect leads goes on in the same way
            return Step("redirect-storm")
        if path.endswith("-there.html"):
            return Step("redirect-loop")
        with self._lock:
            bare = path.partition("?")[0]
            key = next((k for k in (f"{host}{bare}", bare, "*") if k in self.scripts), None)
            if key is None:
                return Step("ok")
            taken = self._taken[f"{host}{bare}"]
            self._taken[f"{host}{bare}"] += 1
            step = self._nth(self.scripts[key], taken)
            if step.percent < 100:
                step = self._drawn(self.scripts[key])
            if step.fault != "ok":
                self.struck[step.fault] += 1
            return step

    def _drawn(self, steps: list[Step]) -> Step:
        """Draw one of the steps that have a chance, or `ok`."""
        lot = self._chance.random() * 100
        for step in steps:
            lot -= step.percent if step.percent < 100 else 0
            if lot < 0:
                return step
        return Step("ok")

    @staticmethod
    def _nth(steps: list[Step], number: int) -> Step:
        for step in steps:
            if step.times is None or number < step.times:
                return step
            number -= step.times
        return steps[-1]

    def prepared(self, seen: Seen) -> Reply:
        """Return the healthy answer, with validators; a 304 where the client has it already."""
        reply = self.reply(seen)
        if reply.status != 200:
            return reply
        modified = self.modified.get(seen.path, MODIFIED)
        own = {"ETag": f'"{hashlib.sha256(reply.body).hexdigest()[:16]}"'}
        own["Last-Modified"] = formatdate(modified, usegmt=True)
        reply.headers = {**own, **reply.headers}
        if seen.headers.get("if-none-match"):
            held = {
                tag.strip().removeprefix("W/") for tag in seen.headers["if-none-match"].split(",")
            }
            fresh = reply.headers["ETag"] in held
        else:
            fresh = _not_modified_since(seen.headers.get("if-modified-since"), modified)
        return Reply(b"", 304, "", reply.headers) if fresh else reply


def _not_modified_since(header: str | None, modified: float) -> bool:
    try:
        return bool(header) and modified <= parsedate_to_datetime(header or "").timestamp()
    except (TypeError, ValueError):
        return False


@dataclass
class Exchange:
    """One request on its connection, and the healthy answer to it."""

    handler: BaseHTTPRequestHandler
    site: FaultSite
    seen: Seen
    reply: Reply
    argument: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.headers = dict(self.reply.headers)
        kind = content_type_of(self.seen.path, self.reply)
        if kind and self.reply.status != 304:
            self.headers.setdefault("Content-Type", kind)

    @property
    def body(self) -> bytes:
        """The body of the answer."""
        return bytes(self.reply.body) if self.seen.method != "HEAD" else b""

    @body.setter
    def body(self, value: bytes) -> None:
        self.reply = Reply(value, self.reply.status, self.reply.content_type, self.reply.headers)

    def healthy_again(self) -> None:
        """Have the whole page as answer, where the request was answered by 304."""
        if self.reply.status == 304:
            asked = Seen("GET", self.seen.path, 0, {})
            self.reply = self.site.prepared(asked)
            self.__post_init__()

    def head(
        self,
        status: int | str | None = None,
        *,
        length: int | str | None = -1,
        version: str = "1.1",
    ) -> None:
        """Write status line and headers; `length` -1 is the true one, None leaves it out."""
        status = self.reply.status if status is None else status
        self.seen.status = int(status) if str(status).isdigit() else 0
        lines = [f"HTTP/{version} {status} {'OK' if status == 200 else 'Said'}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if length is not None:
            lines.append(f"Content-Length: {len(self.body) if length == -1 else length}")
        self.raw(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.handler.wfile.write(data)

    def send(self, status: int | None = None, **options: object) -> None:
        """Write the answer."""
        self.head(status, **options)  # type: ignore[arg-type]
        self.raw(self.body)

    def close(self) -> None:
        """End the connection in an orderly way."""
        self.handler.close_connection = True

    def reset(self) -> None:
        """End the connection with a reset (RST)."""
        self.close()
        connection = self.handler.connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(connection.detach())


FAULTS: dict[str, Callable[[Exchange], None]] = {}
"""Name and what it does; its docstring is what `--list` says."""


def fault(name: str) -> Callable[[Callable[[Exchange], None]], Callable[[Exchange], None]]:
    """Register a fault."""

    def register(function: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
        FAULTS[name] = function
        return function

    return register


# --- as it is ---


@fault("ok")
def _ok(x: Exchange) -> None:
    """The page as it is."""
    x.send()


# --- time ---


@fault("delay")
def _delay(x: Exchange) -> None:
    """Waits so many seconds (2) before it answers."""
    time.sleep(float(x.argument or 2))
    x.send()


@fault("drip")
def _drip(x: Exchange) -> None:
    """Sends the body in 20 pieces over so many seconds (1)."""
    x.healthy_again()
    x.head()
    size = max(1, len(x.body) // 20)
    for start in range(0, len(x.body), size):
        x.raw(x.body[start : start + size])
        x.handler.wfile.flush()
        time.sleep(float(x.argument or 1) / 20)


@fault("stall")
def _stall(x: Exchange) -> None:
    """Sends half the body, then nothing for so many seconds (3), then hangs up."""
    x.healthy_again()
    x.head()
    x.raw(x.body[: len(x.body) // 2])
    time.sleep(float(x.argument or 3))
    x.close()


# --- the connection ---


@fault("reset")
def _reset(x: Exchange) -> None:
    """Resets the connection instead of an answer."""
    x.reset()


@fault("hangup")
def _hangup(x: Exchange) -> None:
    """Closes the connection instead of an answer."""
    x.close()


@fault("reset-midway")
def _reset_midway(x: Exchange) -> None:
    """Resets the connection after half the body."""
    x.healthy_again()
    x.head()
    x.raw(x.body[: len(x.body) // 2])
    x.handler.wfile.flush()
    time.sleep(0.05)
    x.reset()


@fault("crowd")
def _crowd(x: Exchange) -> None:
    """Answers so many requests (2) of this host at a time, each in 0.1 s, and resets what is more."""
    host = x.seen.headers.get("host", "")
    with x.site._lock:
        x.site.busy[host] += 1
        full = x.site.busy[host] > int(x.argument or 2)
    try:
        if full:
            x.reset()
        else:
            time.sleep(0.1)
            x.send()
    finally:
        with x.site._lock:
            x.site.busy[host] -= 1


# --- length and framing ---


@fault("truncated")
def _truncated(x: Exchange) -> None:
    """Sends half the body that Content-Length promises and hangs up."""
    x.healthy_again()
    x.head()
    x.raw(x.body[: len(x.body) // 2])
    x.close()


@fault("length-short")
def _length_short(x: Exchange) -> None:
    """Says a Content-Length of half the body: nobody can see that the rest is missing."""
    x.healthy_again()
    x.head(length=len(x.body) // 2)
    x.raw(x.body)
    x.close()


@fault("length-twice")
def _length_twice(x: Exchange) -> None:
    """Sends two Content-Length headers that differ."""
    x.healthy_again()
    x.headers["content-length"] = str(len(x.body) + 7)
    x.send()
    x.close()


@fault("length-garbage")
def _length_garbage(x: Exchange) -> None:
    """Sends a Content-Length that is no number."""
    x.healthy_again()
    x.send(length="many")
    x.close()


@fault("no-length")
def _no_length(x: Exchange) -> None:
    """Ends the body by closing the connection."""
    x.healthy_again()
    x.headers["Connection"] = "close"
    x.send(length=None)
    x.close()


@fault("no-length-cut")
def _no_length_cut(x: Exchange) -> None:
    """The same with half the body: nobody can see that the rest is missing."""
    x.healthy_again()
    x.headers["Connection"] = "close"
    x.head(length=None)
    x.raw(x.body[: len(x.body) // 2])
    x.close()


@fault("http10")
def _http10(x: Exchange) -> None:
    """Answers as HTTP/1.0, without length."""
    x.healthy_again()
    x.send(length=None, version="1.0")
    x.close()


@fault("http09")
def _http09(x: Exchange) -> None:
    """Sends the body without status line and headers."""
    x.healthy_again()
    x.raw(x.body)
    x.close()


def _chunks(body: bytes) -> Iterator[bytes]:
    size = max(1, len(body) // 4)
    for start in range(0, len(body), size):
        piece = body[start : start + size]
        yield b"%x\r\n%s\r\n" % (len(piece), piece)


@fault("chunked")
def _chunked(x: Exchange) -> None:
    """Sends the body in chunks."""
    x.healthy_again()
    x.headers["Transfer-Encoding"] = "chunked"
    x.head(length=None)
    x.raw(b"".join(_chunks(x.body)) + b"0\r\n\r\n")


@fault("chunked-cut")
def _chunked_cut(x: Exchange) -> None:
    """Hangs up between two chunks."""
    x.healthy_again()
    x.headers["Transfer-Encoding"] = "chunked"
    x.head(length=None)
    x.raw(b"".join(list(_chunks(x.body))[:2]))
    x.close()


@fault("chunked-bad")
def _chunked_bad(x: Exchange) -> None:
    """Sends a chunk whose length is no number."""
    x.healthy_again()
    x.headers["Transfer-Encoding"] = "chunked"
    x.head(length=None)
    x.raw(b"many\r\n" + x.body + b"\r\n0\r\n\r\n")
    x.close()


@fault("endless")
def _endless(x: Exchange) -> None:
    """Sends a body that never ends (64 MB at most)."""
    x.healthy_again()
    x.headers["Connection"] = "close"
    x.head(length=None)
    for _ in range(1024):
        x.raw(b"<p>more</p>\n" * 5461)
    x.close()


# --- status line and headers ---


@fault("status-bad")
def _status_bad(x: Exchange) -> None:
    """Sends a status line that is none."""
    x.raw(b"HTPP/1.1 two hundred\r\nContent-Length: 2\r\n\r\nhi")
    x.close()


@fault("header-long")
def _header_long(x: Exchange) -> None:
    """Sends a header of 200 KB."""
    x.headers["X-Long"] = "x" * 200_000
    x.send()
    x.close()


@fault("header-many")
def _header_many(x: Exchange) -> None:
    """Sends 300 headers."""
    x.headers.update({f"X-Header-{number}": "value" for number in range(300)})
    x.send()


@fault("header-bad")
def _header_bad(x: Exchange) -> None:
    """Sends a header line without a colon."""
    x.healthy_again()
    x.raw(b"HTTP/1.1 200 OK\r\nno colon here\r\nContent-Type: text/html; charset=utf-8\r\n")
    x.raw(b"Content-Length: %d\r\n\r\n" % len(x.body) + x.body)
    x.close()


@fault("early-hints")
def _early_hints(x: Exchange) -> None:
    """Sends 103 Early Hints before the answer."""
    x.raw(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
    x.send()


# --- statuses ---


def _status(x: Exchange, status: int) -> None:
    """Answer with a status and an error page; 429 and 503 say Retry-After as the argument has it."""
    if status in {204, 205, 304}:
        x.body = b""
        x.head(status, length=None if status != 205 else 0)
        return
    if 200 <= status < 300:
        x.healthy_again()
        x.send(status)
        return
    x.headers = {"Content-Type": "text/html"}
    if x.argument:
        x.headers["Retry-After"] = x.argument.replace("_", " ").replace(".", ":")
    x.body = f"<html><title>Error {status}</title><h1>Error {status}</h1></html>".encode()
    x.send(status)


@fault("empty")
def _empty(x: Exchange) -> None:
    """Answers 200 with nothing in it."""
    x.healthy_again()
    x.body = b""
    x.send()


@fault("blank")
def _blank(x: Exchange) -> None:
    """Answers 200 with white space."""
    x.healthy_again()
    x.body = b"\r\n\r\n   "
    x.send()


@fault("partial")
def _partial(x: Exchange) -> None:
    """Answers 206 with half the page, though no range was asked for."""
    x.healthy_again()
    x.headers["Content-Range"] = f"bytes 0-{len(x.body) // 2 - 1}/{len(x.body)}"
    x.body = x.body[: len(x.body) // 2]
    x.send(206)


# --- redirects ---


def _redirect(x: Exchange, location: str | None, status: int = 302) -> None:
    x.headers = {"Location": location} if location is not None else {}
    x.body = b""
    x.send(status)


@fault("redirect")
def _redirect_to(x: Exchange) -> None:
    """Redirects (302) to the URL of the argument."""
    _redirect(x, x.argument)


@fault("redirect-self")
def _redirect_self(x: Exchange) -> None:
    """Redirects to itself."""
    _redirect(x, x.seen.path)


@fault("redirect-loop")
def _redirect_loop(x: Exchange) -> None:
    """Redirects to and fro between the page and another address that does the same."""
    path = x.seen.path
    _redirect(
        x,
        path.removesuffix("-there.html") if path.endswith("-there.html") else f"{path}-there.html",
    )


@fault("redirect-storm")
def _redirect_storm(x: Exchange) -> None:
    """Redirects to a new address each time, without end."""
    _redirect(x, f"{x.seen.path.partition('?')[0]}?hop={random.randrange(1 << 30)}")


@fault("redirect-nowhere")
def _redirect_nowhere(x: Exchange) -> None:
    """Redirects without saying where to."""
    _redirect(x, None)


@fault("redirect-bad")
def _redirect_bad(x: Exchange) -> None:
    """Redirects to what is no URL."""
    _redirect(x, "http://[not-an-address/")


# --- encodings ---


def _labelled(x: Exchange, label: str, body: bytes) -> None:
    x.headers["Content-Encoding"] = label
    x.body = body
    x.send()


def _brotli(body: bytes) -> bytes:
    import brotli

    return bytes(brotli.compress(body))


def _zstd(body: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    return bytes(zstd.compress(body))


def _damaged(body: bytes) -> bytes:
    middle = len(body) // 2
    return (
        body[:middle]
        + bytes(255 - byte for byte in body[middle : middle + 16])
        + body[middle + 16 :]
    )


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda body: gzip.compress(body, mtime=0),
    "deflate": zlib.compress,
    "br": _brotli,
    "zstd": _zstd,
}
for _label, _coder in CODERS.items():

    def _whole(x: Exchange, label: str = _label, coder: Callable[[bytes], bytes] = _coder) -> None:
        x.healthy_again()
        _labelled(x, label, coder(x.body))

    def _lie(x: Exchange, label: str = _label) -> None:
        x.healthy_again()
        _labelled(x, label, x.body)

    def _cut(x: Exchange, label: str = _label, coder: Callable[[bytes], bytes] = _coder) -> None:
        x.healthy_again()
        coded = coder(x.body)
        _labelled(x, label, coded[: len(coded) * 2 // 3])

    def _bad(x: Exchange, label: str = _label, coder: Callable[[bytes], bytes] = _coder) -> None:
        x.healthy_again()
        _labelled(x, label, _damaged(coder(x.body)))

    _whole.__doc__ = f"Sends the body as {_label}."
    _lie.__doc__ = f"Says {_label} and sends the body as it is."
    _cut.__doc__ = f"Sends two thirds of a {_label} body, with the right length."
    _bad.__doc__ = f"Sends a {_label} body that is damaged in the middle."
    for _suffix, _function in (("", _whole), ("-lie", _lie), ("-cut", _cut), ("-bad", _bad)):
        FAULTS[f"{_label}{_suffix}"] = _function


@fault("encoding")
def _encoding(x: Exchange) -> None:
    """Says the Content-Encoding of the argument and sends the body as it is."""
    x.healthy_again()
    _labelled(x, x.argument, x.body)


@lru_cache(1)
def _bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(b" " * 1_000_000) for _ in range(40)) + packer.flush()


@fault("gzip-bomb")
def _gzip_bomb(x: Exchange) -> None:
    """Sends 40 KB of gzip that are 40 MB."""
    x.healthy_again()
    _labelled(x, "gzip", _bomb())


# --- types and charsets ---


@fault("type")
def _type(x: Exchange) -> None:
    """Says the Content-Type of the argument; none without one."""
    x.healthy_again()
    x.headers.pop("Content-Type", None)
    if x.argument:
        x.headers["Content-Type"] = x.argument
    x.send()


@fault("charset")
def _charset(x: Exchange) -> None:
    """Says the charset of the argument; the body is UTF-8."""
    x.healthy_again()
    x.headers["Content-Type"] = f"text/html; charset={x.argument}"
    x.send()


@fault("latin-1")
def _latin_1(x: Exchange) -> None:
    """Sends the body as Latin-1 and says the charset of the argument; none without one."""
    x.healthy_again()
    x.headers["Content-Type"] = "text/html" + (f"; charset={x.argument}" if x.argument else "")
    x.body = x.body.decode().encode("latin-1", "replace")
    x.send()


@fault("bom")
def _bom(x: Exchange) -> None:
    """Begins the body with a byte order mark."""
    x.healthy_again()
    x.body = b"\xef\xbb\xbf" + x.body
    x.send()


@fault("nul")
def _nul(x: Exchange) -> None:
    """Puts a NUL byte before the last tag."""
    x.healthy_again()
    place = x.body.rfind(b"<")
    x.body = x.body[:place] + b"\0" + x.body[place:]
    x.send()


# --- validators ---


def _validators(x: Exchange, **headers: str) -> None:
    x.healthy_again()
    x.headers = {k: v for k, v in x.headers.items() if k not in {"ETag", "Last-Modified"}}
    x.headers |= {name.replace("_", "-"): value for name, value in headers.items()}
    x.send()


@fault("etag")
def _etag(x: Exchange) -> None:
    """Sends the ETag of the argument, quoted or not, and no date."""
    _validators(x, ETag=x.argument)


@fault("etag-weak")
def _etag_weak(x: Exchange) -> None:
    """Sends a weak ETag."""
    x.headers["ETag"] = f"W/{x.headers.get('ETag', '')}"
    x.send()


@fault("etag-new")
def _etag_new(x: Exchange) -> None:
    """Sends another ETag with each answer."""
    _validators(x, ETag=f'"{random.randrange(1 << 40):x}"')


@fault("modified")
def _modified(x: Exchange) -> None:
    """Sends the Last-Modified of the argument (seconds from now, or any text) and no ETag."""
    text = x.argument.replace("_", " ")
    with contextlib.suppress(ValueError):
        text = formatdate(time.time() + float(text), usegmt=True)
    _validators(x, Last_Modified=text)


@fault("flip")
def _flip(x: Exchange) -> None:
    """Gives HTML and, every other time, something else: the argument."""
    x.healthy_again()
    x.site.busy[f"flip {x.seen.path}"] += 1
    if x.site.busy[f"flip {x.seen.path}"] % 2 == 0:
        x.headers["Content-Type"] = "text/markdown"
        x.body = f"# {x.argument}\n\n{x.argument}\n".encode()
    x.send()


# --- bodies of files that are no pages ---


@fault("cut")
def _cut_file(x: Exchange) -> None:
    """Sends half the body as if it were all of it."""
    x.healthy_again()
    x.body = x.body[: len(x.body) // 2]
    x.send()


@fault("garbled")
def _garbled(x: Exchange) -> None:
    """Breaks the markup in the middle of the body, then goes on."""
    x.healthy_again()
    middle = len(x.body) // 2
    x.body = x.body[:middle] + b"<<</&" + x.body[middle:]
    x.send()


@fault("maintenance")
def _maintenance(x: Exchange) -> None:
    """Answers 200 with an HTML page that says that the site is down."""
    x.headers = {"Content-Type": "text/html; charset=utf-8"}
    x.body = b"<html><title>Maintenance</title><body><h1>We will be back</h1></body></html>"
    x.send(200)


def _strike(x: Exchange, step: Step) -> None:
    x.argument = step.argument.replace("{base}", x.site.url)
    if step.fault.isdigit():
        _status(x, int(step.fault))
    else:
        FAULTS[step.fault](x)


@contextlib.contextmanager
def serving_faults(
    site: FaultSite, certificate: Path | None = None, port: int = 0
) -> Iterator[str]:
    """Serve `site` until the block ends; yields the address. A second server of one site keeps `site.url` as it is.

    Args:
        site: pages and scripts.
        certificate: PEM file with key for https.
        port: a free one by default.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30
        disable_nagle_algorithm = True

        def handle(self) -> None:
            if server.server_port not in site.closed_ports:
                super().handle()
                return
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())

        def log_message(self, *_args: object) -> None:
            pass

        def do_GET(self) -> None:
            headers = {key.lower(): value for key, value in self.headers.items()}
            seen = Seen(self.command, self.path, 0, headers)
            site.record(seen)
            step = site.step(headers.get("host", "").partition(":")[0], self.path)
            exchange = Exchange(self, site, seen, site.prepared(seen))
            with contextlib.suppress(OSError):
                _strike(exchange, step)

        do_HEAD = do_GET

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_args: object) -> None:
            pass  # a client that hung up, or does not like the certificate

    server = Server(("127.0.0.1", port), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    url = f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"
    site.url, site.port = site.url or url, site.port or server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Authority:
    """A certificate authority of one test; `path` is what `SSL_CERT_FILE` has to name."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.path = folder / "authority.pem"
        self._key, self._certificate = self._make("Test authority", None, days=(-2, 2))
        self.path.write_bytes(self._pem(self._certificate))

    def server(
        self, name: str, *names: str, days: tuple[int, int] = (-1, 1), trusted: bool = True
    ) -> Path:
        """Write the certificate and key of a server; `days` is from when until when it holds, from today."""
        key, certificate = self._make(name, (name, *names), days=days, trusted=trusted)
        from cryptography.hazmat.primitives import serialization as s

        path = self.folder / f"{name}.pem"
        plain = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
        path.write_bytes(plain + self._pem(certificate))
        return path

    @staticmethod
    def _pem(certificate: object) -> bytes:
        from cryptography.hazmat.primitives.serialization import Encoding

        return bytes(certificate.public_bytes(Encoding.PEM))  # type: ignore[attr-defined]

    def _make(
        self,
        common: str,
        names: tuple[str, ...] | None,
        *,
        days: tuple[int, int],
        trusted: bool = True,
    ) -> tuple[object, object]:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID

        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
        now = datetime.datetime.now(datetime.UTC)
        by_authority = names is not None and trusted
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._certificate.subject if by_authority else subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + datetime.timedelta(days=days[0]))
            .not_valid_after(now + datetime.timedelta(days=days[1]))
            .add_extension(x509.BasicConstraints(ca=names is None, path_length=None), critical=True)
        )
        if names is not None:
            alternatives = [_alternative(x509, name) for name in names]
            builder = builder.add_extension(
                x509.SubjectAlternativeName(alternatives), critical=False
            )
        return key, builder.sign(self._key if by_authority else key, hashes.SHA256())


def _alternative(x509: object, name: str) -> object:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))  # type: ignore[attr-defined]
    except ValueError:
        return x509.DNSName(name)  # type: ignore[attr-defined]


def _folder_pages(folder: Path) -> dict[str, object]:
    pages: dict[str, object] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            path = f"/{file.relative_to(folder).as_posix()}"
            pages[path] = file.read_bytes()
            if file.name == "index.html":
                pages[path.removesuffix("index.html")] = pages[path]
    return pages


def _made_pages(number: int) -> dict[str, object]:
    links = "".join(f"<a href='/p{n}.html'>page {n}</a> " for n in range(number))
    made = {f"/p{n}.html": f"<html><h1>Page {n}</h1><p>Text {n}.</p></html>" for n in range(number)}
    return {"/": f"<html><h1>Home</h1>{links}</html>", **made}


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("arguments", nargs="*", metavar="FOLDER | URL=SCRIPT")
    parser.add_argument(
        "--pages", type=int, default=20, help="so many made-up pages where no folder is given"
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="name the faults")
    options = parser.parse_args()
    if options.list:
        for name, function in FAULTS.items():
            print(f"{name:17} {' '.join((function.__doc__ or '').split())}")
        print("NUMBER            Answers with that status; 429:5 says Retry-After: 5.")
        return
    folders = [Path(text) for text in options.arguments if "=" not in text]
    pages = _folder_pages(folders[0]) if folders else _made_pages(options.pages)
    scripts = dict(text.split("=", 1) for text in options.arguments if "=" in text)
    site = FaultSite(pages, scripts, options.seed)
    with serving_faults(site, port=options.port) as url:
        print(f"{url}/  ({len(pages)} pages; Ctrl-C ends)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    print(f"faults served: {dict(site.struck)}")


if __name__ == "__main__":
    main()
