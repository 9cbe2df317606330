"""Crawl sites whose answers are mutated: `python benchmarks/mutated_sites.py --answers 20000`.

Each crawl is the real spider in one process (conversion included) against a local server: robots.txt, llms.txt,
llms-full.txt, a hundred sitemaps and some hundred pages, all mutated (bytes flipped, cut, doubled, spliced, pumped), most
with headers that are mutated or wrong too (type, encoding, compression). Among them stand good pages, each of which has
to come with its text. A watchdog reads the CPU time of the crawling thread, and of what it leaves to threads, for each
step of the event loop; no step may take more than `--limit` seconds of CPU, whatever else the machine does.

Seeds are the project's own fixtures and generated pages; `--seeds FOLDER` adds other files (.html, .md, .txt, .xml).
The same `--seed` and seeds give the same answers. Exit code 1 when a good page was missing, a step was too long, or a
crawl logged a traceback.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import json
import logging
import os
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protego import Protego

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "support"), str(ROOT)]

from forked import fork  # noqa: E402
from generated_site import SiteWriter, in_words  # noqa: E402

KINDS = {"html": 0.55, "markdown": 0.35, "llms": 0.05, "sitemap": 0.03, "robots": 0.02}
"""Parts of the pages; the files that are asked for by their names are of their own kind."""
SITEMAPS = 40
GOOD = 20
HUNG_SECS = 60.0
"""CPU seconds of one step after which the crawl is ended."""
MAX_PUMPED = 200_000
MAX_BODY = 1_500_000
CRAWL_SECS = 1_800

TYPES = {
    "html": "text/html; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
    "llms": "text/plain; charset=utf-8",
    "full": "text/plain; charset=utf-8",
    "sitemap": "application/xml",
    "robots": "text/plain",
}
WRONG_TYPES = (
    "", "text/html", "text/html; charset=utf-16", "text/html; charset=utf-7", "text/plain", "text/markdown", "text/html; charset=",
    "application/xhtml+xml", "application/xml; charset=iso-8859-1", "application/json", "application/octet-stream", "image/png", "x",
    "text/markdown; charset=shift_jis; variant=CommonMark", "multipart/mixed; boundary=a", ";;;;charset=====", "text/plain; charset=big5",
)  # fmt: skip
WRONG_ENCODINGS = (
    "gzip",
    "deflate",
    "br",
    "zstd",
    "identity",
    "gzip, gzip",
    "zstd, br",
    "x-gzip",
    "compress",
    ",,,",
    "gzip;q=1",
)
HEADERS = (
    (
        "Link",
        '</a.md>; rel="alternate"; type="text/markdown", </llms.txt>; rel=describedby; title*=UTF-8\'\'a%20b',
    ),
    ("Link", "<https://docs.example.com:port/x>; rel=canonical"),
    ("X-Robots-Tag", "otherbot: noindex, nofollow, unavailable_after: 25 Jun 2010 15:00:00 PST"),
    ("Content-Usage", "train-ai=y"),
    ("Content-Signal", "search=yes, ai-train=yes"),
    ("ETag", 'W/"0123456789abcdef"'),
    ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("Content-Language", "en, de-AT"),
    ("Content-Disposition", "inline; filename*=UTF-8''page%20one.md"),
    ("Vary", "Accept, Accept-Encoding"),
    ("Cache-Control", "max-age=600, stale-while-revalidate=30"),
    ("Set-Cookie", "a=b; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT"),
    ("Content-Location", "/page.md"),
    ("Refresh", "3600; url=/never"),
)
PUMPED = (
    b" ", b"\n", b"\n\n", b"\t", b"<", b">", b"</", b"<a ", b"<a href=", b"<p>", b"<div>", b"<!--", b"<!-- a -->\n", b"<![CDATA[", b"&", b"&#",
    b"<table>", b"<td>", b"<th colspan=50>", b"<tr><td>", b"<li>", b"<ul><li>", b"<dl><dt>", b"<title>", b"<b>", b"<i><b>", b"<pre>",
    b"<h1>", b"`", b"```\n", b"~~~", b"*", b"**a", b"_", b"[", b"![", b"](", b"[a](", b"[a]: b\n", b"> ", b">", b"- ", b"  - a\n", b"1. ",
    b"# ", b"#", b"|", b"|-", b"| a |\n", b"---\n", b"+++\n", b"a.a", b"a: ", b"{{", b"{%", b"\\", b"\\(", b"$$", b"$", b":::", b"\x00",
    b"\xff", b"\xc3", b"\xe2\x80\x8b", b"\xf3\xa0\x81\x81", b"\xef\xbb\xbf", b"Source: /a\n", b"# a\n", b"## a\n- [a](b)\n", b"User-agent: *\n",
    b"Sitemap: /a\n", b"<url><loc>", b"<url>", b"<sitemap>", b"0", b".0", b"a", b"A", b"aB", b"-", b"=", b"\"", b"'", b"/", b"%20", b"; ", b",",
)  # fmt: skip
"""Runs that parsers trip over, each pumped up to `MAX_PUMPED` bytes."""


@dataclass
class Answer:
    """One answer, made from `seed`."""

    body: bytes
    headers: list[tuple[str, str]] = field(default_factory=list)


Seeds = dict[str, list[bytes]]


def project_seeds() -> Seeds:
    """Return bodies by kind: fixtures of the tests, generated pages, and files written for this."""
    pages = [
        f"- [{in_words(n)}](/mutated-{in_words(n)}.html): about {in_words(n)}, [more](x.md)"
        for n in range(60)
    ]
    llms = (
        "# Widget\n\n> A widget.\n\nText.\n\n## Docs\n\n"
        + "\n".join(pages)
        + "\n\n## Optional\n\n- [b](/b.md)\n"
    )
    full = "".join(
        f"# {in_words(n)}\nSource: /mutated-{in_words(n)}.html\n\nText of it.\n\n## Part\n\n- a\n\n---\n\n"
        for n in range(40)
    )
    urls = "".join(
        f"<url><loc>https://docs.example.com/mutated-{in_words(n)}.html</loc><lastmod>2026-01-02</lastmod>"
        f'<xhtml:link rel="alternate" hreflang="de" href="/de/{n}"/></url>\n'
        for n in range(50)
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    index = "".join(f"<sitemap><loc>/inner-{in_words(n)}.xml</loc></sitemap>" for n in range(5))
    feed = "".join(
        f"<item><title>a</title><link>/mutated-{in_words(n)}.html</link></item>" for n in range(20)
    )
    front = "---\ntitle: A\ntags: [a, b]\n---\n\n", '+++\ntitle = "A"\n[extra]\na.b = 1\n+++\n\n'
    markdown = [path.read_bytes() for path in sorted((ROOT / "tests" / "fixtures").rglob("*.md"))]
    return {
        "html": [
            path.read_bytes() for path in sorted((ROOT / "tests" / "fixtures").rglob("*.html"))
        ]
        + [body for _, body in SiteWriter(20).pages()],
        "markdown": markdown + [text.encode() + body for text in front for body in markdown[::3]],
        "llms": [llms.encode(), llms.replace("- [", "* [").replace("\n", "\r\n").encode()],
        "full": [full.encode(), full.replace("Source: ", "URL: ").encode()],
        "sitemap": [
            f"{head}<urlset {space}>\n{urls}</urlset>".encode(),
            f"{head}<sitemapindex {space}>{index}</sitemapindex>".encode(),
            f"{head}<rss version='2.0'><channel>{feed}</channel></rss>".encode(),
            "\n".join(
                f"https://docs.example.com/mutated-{in_words(n)}.html" for n in range(50)
            ).encode(),
            gzip.compress(f"{head}<urlset {space}>\n{urls}</urlset>".encode(), mtime=0),
        ],
        "robots": [
            b"User-agent: *\nDisallow: /private/\nAllow: /\nContent-Signal: search=yes, ai-train=yes\n\nSitemap: {base}/sitemap.xml\n",
            b"# a\n\nUser-agent: otherbot\nDisallow: /\n\nUser-agent: *\nDisallow: /*?q=$\nSitemap: {base}/sitemap.xml\n",
        ],
    }


def add_folder(seeds: Seeds, folder: Path) -> None:
    """Add the files of a folder to the seeds, by their names."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or not 0 < path.stat().st_size <= MAX_BODY:
            continue
        name = path.name.lower()
        kind = {".html": "html", ".htm": "html", ".md": "markdown", ".xml": "sitemap"}.get(
            path.suffix.lower()
        )
        if name.endswith(".txt"):
            kind = "full" if "full" in name else "llms" if "llms" in name else "markdown"
        if kind:
            seeds[kind].append(path.read_bytes())


def flipped(chance: random.Random, body: bytes, _: Seeds) -> bytes:
    """Flip bits of some bytes."""
    found = bytearray(body)
    for _number in range(chance.choice((1, 3, 30, 300))):
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


def cut(chance: random.Random, body: bytes, _: Seeds) -> bytes:
    """Keep the beginning, or leave a part out."""
    begin, end = sorted(chance.randrange(len(body)) for _number in range(2))
    return body[:begin] if chance.random() < 0.5 else body[:begin] + body[end:]


def doubled(chance: random.Random, body: bytes, _: Seeds) -> bytes:
    """Repeat a part some times."""
    begin = chance.randrange(len(body))
    part = body[begin : begin + chance.choice((3, 30, 300, 3_000))]
    times = min(chance.choice((2, 10, 100, 10_000)), MAX_PUMPED // max(len(part), 1))
    return body[:begin] + part * times + body[begin:]


def spliced(chance: random.Random, body: bytes, seeds: Seeds) -> bytes:
    """Put a part of another answer of any kind in, or end with it."""
    other = chance.choice(seeds[chance.choice([kind for kind in seeds if kind != "robots"])])
    begin, place = chance.randrange(len(other)), chance.randrange(len(body))
    part = other[begin : begin + chance.choice((10, 100, 1_000, len(other)))]
    return body[:place] + part + (body[place:] if chance.random() < 0.7 else b"")


def pumped(chance: random.Random, body: bytes, _: Seeds) -> bytes:
    """Put a long run of something small in."""
    pump, place = chance.choice(PUMPED), chance.choice((0, chance.randrange(len(body))))
    if chance.random() < 0.3:
        pump += chance.choice(PUMPED)
    length = chance.choice((100, 2_000, 20_000, MAX_PUMPED)) if chance.random() < 0.5 else 2_000
    return body[:place] + pump * (length // len(pump)) + body[place:]


MUTATIONS: tuple[Callable[[random.Random, bytes, Seeds], bytes], ...] = (
    flipped,
    cut,
    doubled,
    spliced,
    pumped,
)


def mutated(chance: random.Random, kind: str, seeds: Seeds) -> bytes:
    """Return a body of a kind with one to three mutations."""
    body = chance.choice(seeds[kind])
    for _ in range(chance.choice((1, 1, 2, 3))):
        body = chance.choice(MUTATIONS)(chance, body or b" ", seeds)[:MAX_BODY]
    return body


def as_header(value: bytes) -> str:
    """Return what can stand in a header without ending it."""
    return value.translate(None, b"\r\n\0")[:12_000].decode("latin-1")


def answer(chance: random.Random, kind: str, seeds: Seeds) -> Answer:
    """Return a mutated body under headers of which some are mutated or wrong."""
    found = Answer(mutated(chance, kind, seeds))
    content_type = TYPES[kind]
    if chance.random() < 0.2:
        content_type = chance.choice(WRONG_TYPES)
    elif chance.random() < 0.05:
        content_type = as_header(flipped(chance, content_type.encode(), seeds))
    if chance.random() < 0.2:
        packed = chance.choice(
            (lambda body: gzip.compress(body, 1, mtime=0), lambda body: zlib.compress(body, 1))
        )
        body = packed(found.body)
        found.body = flipped(chance, body, seeds) if chance.random() < 0.3 else body
        name = "gzip" if body[:2] == b"\x1f\x8b" else "deflate"
        found.headers.append(("Content-Encoding", name))
    elif chance.random() < 0.05:
        found.headers.append(("Content-Encoding", chance.choice(WRONG_ENCODINGS)))
    for name, value in chance.sample(HEADERS, chance.choice((0, 1, 2, 4))):
        raw = value.encode()
        if chance.random() < 0.7:
            raw = chance.choice((flipped, cut, doubled, pumped))(chance, raw, seeds)
        found.headers.append((name, as_header(raw)))
    if content_type:
        found.headers.append(("Content-Type", content_type))
    return found


class MutatedSite:
    """One site: what stands at each path, mutated but for the start page and the good pages."""

    def __init__(self, number: int, seed: int, pages: int, seeds: Seeds):
        self.number, self.seed, self.pages, self.seeds = number, seed, pages, seeds
        self.base = ""
        self.served: Counter[str] = Counter()
        names = [f"/mutated-{in_words(n)}.html" for n in range(pages)]
        self.good = {
            f"/good-{in_words(n)}.html": f"Sentence {number} {n} of a good page."
            for n in range(GOOD)
        }
        every = [*names, *self.good]
        random.Random(seed).shuffle(every)
        self.links = "".join(f'<li><a href="{path}">{path[1:-5]}</a></li>' for path in every)
        self.sitemaps = "".join(
            f"<sitemap><loc>{{base}}/sitemap-{in_words(n)}.xml</loc></sitemap>"
            for n in range(SITEMAPS)
        )

    def get(self, path: str) -> tuple[str, Answer]:
        """Return the status line's end and the answer for a path."""
        html = [("Content-Type", "text/html; charset=utf-8")]
        if path == "/":
            text = f"<main><h1>Start</h1><p>All pages of site {self.number}.</p><ul>{self.links}</ul></main>"
            return "200 OK", Answer(text.encode(), html)
        if path in self.good:
            title = path[1:-5].replace("-", " ")
            text = f"<title>{title}</title><main><h1>{title}</h1><p>{self.good[path]}</p></main>"
            return "200 OK", Answer(text.encode(), html)
        if path == "/sitemap.xml":
            text = f"<sitemapindex>{self.sitemaps}</sitemapindex>".replace("{base}", self.base)
            return "200 OK", Answer(text.encode(), [("Content-Type", "application/xml")])
        kind = self.kind_of(path)
        if kind is None:
            return "404 Not Found", Answer(b"<h1>Not found</h1>", html)
        chance = random.Random(f"{self.seed} {self.number} {path}")
        if kind == "page":
            kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
        self.served[kind] += 1
        found = answer(chance, kind, self.seeds)
        found.body = found.body.replace(b"{base}", self.base.encode())
        return "200 OK", found

    def kind_of(self, path: str) -> str | None:
        """Say what is served at a path; None is for nothing."""
        named = {"/robots.txt": "robots", "/llms.txt": "llms", "/llms-full.txt": "full"}
        if path in named:
            return named[path]
        if path.startswith(("/sitemap-", "/inner-")):
            return "sitemap"
        return "page" if path.startswith("/mutated-") and path.endswith(".html") else None


@contextlib.contextmanager
def serving(site: MutatedSite) -> Iterator[str]:
    """Serve a site from a thread on a free port of 127.0.0.1; yields its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                status, found = site.get(head.split(b" ", 2)[1].decode("latin-1"))
                lines = [
                    f"HTTP/1.1 {status}",
                    *(f"{name}: {value}" for name, value in found.headers),
                ]
                lines += [f"Content-Length: {len(found.body)}", "", ""]
                writer.write("\r\n".join(lines).encode("latin-1") + found.body)
                await writer.drain()
        writer.close()

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    server = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(serve, "127.0.0.1", 0), loop
    ).result()
    site.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield site.base
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)


class Watchdog:
    """Measures the CPU seconds of each step of the event loop and of each call left to a thread."""

    def __init__(self, limit_secs: float):
        self.limit_secs = limit_secs
        self.longest = 0.0
        self.long_steps: list[dict[str, Any]] = []
        self._began: float | None = None
        self._seen: list[str] = []
        self._main = threading.main_thread().ident
        self._clock = time.pthread_getcpuclockid(self._main)

    def watch(self) -> None:
        """Wrap what runs the steps, and look on from a thread."""
        run, to_thread = asyncio.events.Handle._run, asyncio.to_thread

        def step(handle: asyncio.Handle) -> None:
            began = self._began = time.thread_time()
            try:
                run(handle)
            finally:
                self._began = None
                self.note(time.thread_time() - began, "step")

        def measured(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
            began = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                self.note(
                    time.thread_time() - began,
                    f"thread {getattr(function, '__qualname__', function)}",
                )

        asyncio.events.Handle._run = step  # type: ignore[method-assign]
        asyncio.to_thread = lambda function, *a, **k: to_thread(measured, function, *a, **k)  # type: ignore[assignment]
        threading.Thread(target=self._look_on, daemon=True).start()

    def note(self, secs: float, what: str) -> None:
        """Keep the longest, and each that was too long."""
        self.longest = max(self.longest, secs)
        if secs > self.limit_secs / 4:
            self.long_steps.append({"secs": round(secs, 2), "what": what, "seen": self._seen})
        self._seen = []

    def _look_on(self) -> None:
        while True:
            time.sleep(0.1)
            began = self._began
            if began is None:
                continue
            secs = time.clock_gettime(self._clock) - began
            frame = sys._current_frames().get(self._main or 0)
            if secs > self.limit_secs / 4 and frame is not None and len(self._seen) < 3:
                self._seen.append(_where(frame))
            if secs > HUNG_SECS:
                Path("hung.json").write_text(json.dumps({"secs": secs, "seen": self._seen}))
                os._exit(9)


def _where(frame: Any) -> str:
    """Tell the innermost calls, and the URL at hand."""
    calls = [
        f"{Path(call.filename).name}:{call.lineno} {call.name}"
        for call in traceback.extract_stack(frame)[-6:]
    ]
    while frame is not None:
        for value in frame.f_locals.values():
            url = value if isinstance(value, str) else getattr(value, "url", "")
            if isinstance(url, str) and url.startswith("http://127.0.0.1") and len(url) < 300:
                return f"{url}: {' < '.join(reversed(calls))}"
        frame = frame.f_back
    return " < ".join(reversed(calls))


class _Problems(logging.Handler):
    """Keeps what is logged with a traceback, or as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        last = traceback.format_exception(record.exc_info[1])[-4:] if record.exc_info else []
        self.found.append(f"{record.getMessage()[:300]} {''.join(last)[-1500:]}")


def crawl(url: str, limit_secs: float) -> None:
    """Crawl in this process; what came goes to `result.json` in its folder."""
    watchdog, problems = Watchdog(limit_secs), _Problems()
    watchdog.watch()
    from scrapy.crawler import CrawlerProcess  # noqa: PLC0415  # once its steps are watched
    from scrapy.utils.project import get_project_settings  # noqa: PLC0415

    settings = get_project_settings()
    settings.update(
        {
            "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
            "LLMS_DATA_DIR": "store",
            "LLMS_CONVERT_WORKERS": 0,
            "AUTOTHROTTLE_MAX_DELAY": 0.1,
            "LLMS_STATUS_PORT": "off",
            "RETRY_TIMES": 1,
            "AUTOTHROTTLE_ENABLED": False,
            "FEEDS": {"documents.jsonl": {"format": "jsonlines"}},
            "LOG_FILE": "log.txt",
        },
        priority="cmdline",
    )
    process = CrawlerProcess(settings)
    logging.getLogger().addHandler(problems)
    crawler = process.create_crawler("docs")
    process.crawl(crawler, url=url, allow="/,/mutated-*,/good-*", max_pages="0", render="never")
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats else {}
    usage = resource.getrusage(resource.RUSAGE_SELF)
    result = {
        "longest": watchdog.longest,
        "long_steps": watchdog.long_steps,
        "problems": problems.found,
        "cpu": usage.ru_utime + usage.ru_stime,
        "mb": usage.ru_maxrss // 1024,
        "stats": {
            key: value for key, value in stats.items() if isinstance(value, (int, float, str))
        },
    }
    Path("result.json").write_text(json.dumps(result))


def refused_by_robots(folder_url: str, site: MutatedSite) -> bool:
    """Say whether the site's mutated robots.txt refuses the good pages to us, read as its headers say."""
    _, found = site.get("/robots.txt")
    site.served["robots"] -= 1
    body = found.body
    if any(name == "Content-Encoding" for name, _ in found.headers):
        with contextlib.suppress(OSError, EOFError, zlib.error):
            body = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else zlib.decompress(body)
    rules = Protego.parse(body.decode("utf-8", "replace"))
    return not all(rules.can_fetch(folder_url + path, "llmsspider") for path in ["/", *site.good])


def main() -> None:
    """Crawl site after site until so many mutated answers were served."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--answers", type=int, default=20_000, help="mutated answers at least")
    parser.add_argument("--pages", type=int, default=400, help="mutated pages of a site")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--seeds", type=Path, action="append", default=[], help="folder of more answers to mutate"
    )
    parser.add_argument("--limit", type=float, default=2.0, help="CPU seconds of one step")
    parser.add_argument(
        "--minutes", type=float, default=0.0, help="end before the next site then; 0 is no limit"
    )
    options = parser.parse_args()
    seeds = project_seeds()
    for folder in options.seeds:
        add_folder(seeds, folder)
    seeds = {kind: [body for body in bodies if body] for kind, bodies in seeds.items()}
    print({kind: len(bodies) for kind, bodies in seeds.items()}, flush=True)
    served: Counter[str] = Counter()
    failed, number, longest, cpu, most_mb, refused, began = 0, 0, 0.0, 0.0, 0, 0, time.monotonic()
    while (
        served.total() < options.answers and not 0 < options.minutes * 60 < time.monotonic() - began
    ):
        site = MutatedSite(number, options.seed, options.pages, seeds)
        folder = Path(tempfile.mkdtemp(prefix="mutated-sites-"))
        with serving(site) as url:
            environment = {
                **os.environ,
                "SCRAPY_SETTINGS_MODULE": "llmsspider.settings",
                "PYTHONPATH": os.pathsep.join((str(ROOT), str(HERE))),
            }
            process = fork(
                _crawl,
                url,
                options.limit,
                cwd=folder,
                stdout=folder / "out",
                stderr=folder / "err",
                env=environment,
            )
            code = process.wait(CRAWL_SECS)
            told = _judge(site, url, folder, code, options.limit)
        refused += "robots" in told
        served.update(site.served)
        path = folder / "result.json"
        if path.exists():
            result = json.loads(path.read_text())
            longest, cpu = max(longest, result["longest"]), cpu + result["cpu"]
            most_mb = max(most_mb, result["mb"])
            for step in result["long_steps"]:
                print(
                    f"  {step['secs']} s {step['what']}: {' | '.join(step['seen'])[:900]}",
                    flush=True,
                )
        for line in told.get("failed", []):
            print(f"  FAILED site {number}: {line}", flush=True)
        failed += bool(told.get("failed"))
        secs = time.monotonic() - began
        print(
            f"site {number}: {served.total():,} answers, {secs:.0f} s, longest step {longest:.2f} s of CPU",
            flush=True,
        )
        if not told.get("failed"):
            shutil.rmtree(folder)
        number += 1
    print(
        f"{served.total():,} mutated answers {dict(served)} of {number} sites, {cpu:.0f} s of CPU "
        f"({cpu / max(served.total(), 1) * 1000:.1f} ms an answer), longest step {longest:.2f} s, at most {most_mb} MB; "
        f"{refused} sites refused by their mutated robots.txt; {failed} sites with failures"
    )
    raise SystemExit(bool(failed))


def _crawl(url: str, limit_secs: float) -> None:
    crawl(url, limit_secs)


def _judge(
    site: MutatedSite, url: str, folder: Path, code: int, limit_secs: float
) -> dict[str, list[str]]:
    """Return what failed, and whether robots.txt refused."""
    path = folder / "result.json"
    if not path.exists():
        hung = folder / "hung.json"
        said = hung.read_text() if hung.exists() else (folder / "err").read_text()[-1500:]
        return {"failed": [f"ended with {code} in {folder}: {said}"]}
    result = json.loads(path.read_text())
    told: dict[str, list[str]] = {}
    failed = [
        f"{step['secs']} s of CPU in one {step['what']}: {step['seen']}"
        for step in result["long_steps"]
        if step["secs"] > limit_secs
    ]
    if refused_by_robots(url, site):
        told["robots"] = ["refused"]
    else:
        feed = folder / "documents.jsonl"
        lines = feed.read_bytes().splitlines() if feed.exists() else []
        came = {document["url"]: document["content"] or "" for document in map(json.loads, lines)}
        missing = [page for page, text in site.good.items() if text not in came.get(url + page, "")]
        if missing:
            failed.append(f"{len(missing)} good pages are missing, {missing[:3]}; {folder}")
    failed += [f"logged: {problem}" for problem in result["problems"] if "Traceback" in problem][:5]
    if failed:
        told["failed"] = failed
    return told


if __name__ == "__main__":
    main()
