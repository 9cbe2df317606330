"""A month of nights of 1,000 pages: `python benchmarks/quiet_month.py`.

A site of MkDocs is deployed on some nights with a few edited pages, and crawled each night, once with `LLMS_REVISIT` as
it is by default and once with `always`. Requests are counted by the server; minutes are what they take at five requests
a second. From one night on the index is silent about the pages that are edited then (`--lie`). `--shapes` crawls a site that
never changes in place of that, once for each shape of witness.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support"), str(HERE.parent)]

from crawling import crawl  # noqa: E402
from generated_site import in_words  # noqa: E402
from site_server import Site, serving  # noqa: E402

RATE = 5.0
"""Requests a second, as to public hosts."""


class Month:
    """A site by page number and edition, with its index; `etags` are of the "content", the "deploy", or "none"."""

    def __init__(self, pages: int, etags: str):
        self.site, self.pages, self.deploys = Site({}), pages, 0
        self.site.etags = etags == "content"
        self.hidden: set[int] = set()
        """The pages whose edits the index does not show."""
        self.by_deploy = etags == "deploy"
        self.editions, self.named = dict.fromkeys(range(pages), 1), dict.fromkeys(range(pages), 1)

    def text(self, number: int, edition: int) -> str:
        return (
            f"Topic {in_words(number)} is as edition {in_words(edition)} says. "
            + "It has more to say. " * 40
        )

    def deploy(self, edited: list[int], *, silent: bool = False) -> None:
        self.deploys += 1
        for number in edited:
            self.editions[number] += 1
        self.hidden |= {*edited} if silent else set()
        self.named |= {
            number: self.editions[number] for number in self.editions.keys() - self.hidden
        }
        head = '<script src="/search/main.js"></script>'
        build = f"<!-- deploy {self.deploys} -->" if self.by_deploy else ""
        pages, docs = self.site.pages, []
        for number, edition in self.editions.items():
            around = {number + 1, number + 7, number * 3} & self.editions.keys()
            links = "".join(f'<a href="/p{n}/">{in_words(n)}</a> ' for n in around)
            body = f"<h1>Topic {in_words(number)}</h1><p>{self.text(number, edition)}</p><p>{links}</p>"
            page = f"<html><head><title>Topic {in_words(number)}</title>{head}</head><body><main>{body}</main>"
            pages[f"/p{number}/"] = f"{page}{build}</body></html>"
            said = f"{self.text(number, self.named[number])} {' '.join(map(in_words, around))}"
            docs.append(
                {"location": f"p{number}/", "title": f"Topic {in_words(number)}", "text": said}
            )
        pages["/"] = str(pages["/p0/"]).replace("<h1>", "<h1>All: ")
        pages["/search/search_index.json"] = json.dumps({"config": {}, "docs": docs})


def month(
    folder: Path, options: argparse.Namespace, revisit: str, deploys: float
) -> list[dict[str, Any]]:
    """Crawl each night; return a row for each: deployed and edited pages, requests, minutes, pages told."""
    chance, made = random.Random(options.seed), Month(options.pages, options.etags)
    rows: list[dict[str, Any]] = []
    with serving(made.site):
        for night in range(options.nights):
            is_deploy = night == 0 or chance.random() < deploys
            edited = (
                chance.sample(range(1, options.pages), chance.randint(1, 4))
                if night and is_deploy
                else []
            )
            lie = night == options.lie
            if is_deploy or lie:
                made.deploy(edited or ([7] if lie else []), silent=lie)
            made.site.clear()
            outcome = crawl(
                f"{made.site.url}/", folder, settings={"LLMS_REVISIT": revisit}, timeout=900
            )
            told = sorted(one["url"] for one in outcome.documents if one["change"] == "changed")
            requests = len(made.site.requests)
            row: dict[str, Any] = {
                "night": night,
                "edited": len(edited) or int(lie),
                "requests": requests,
            }
            rows.append(row | {"minutes": round(requests / RATE / 60, 2), "told": len(told)})
            print(revisit, json.dumps(rows[-1]), flush=True)
    return rows


def said(number: int) -> str:
    """Return the words of a page as it is first, its links among them."""
    text = f"Topic {in_words(number)} is as edition one says. It has more to say."
    return f"{text} {' '.join(in_words(n) for n in (number + 1, number + 7, number * 3))}"


def lastmod(pages: list[int]) -> str:
    dates = "".join(
        f"<url><loc>BASE/p{n}/</loc><lastmod>2026-01-{n % 28 + 1:02}T10:00:00Z</lastmod></url>"
        for n in pages
    )
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{dates}</urlset>'


def one_lastmod(pages: list[int]) -> str:
    return re.sub(r"2026-01-\d+", "2026-01-01", lastmod(pages))


def index_of_sphinx(pages: list[int]) -> str:
    words: dict[str, list[int]] = {}
    for number in pages:
        for word in sorted(set(said(number).lower().split())):
            words.setdefault(word, []).append(number)
    return f"Search.setIndex({json.dumps({'docnames': [f'p{n}' for n in pages], 'terms': words})})"


def inventory(pages: list[int]) -> bytes:
    lines = "\n".join(f"p{n} std:doc -1 p{n}/ Topic {in_words(n)}" for n in pages)
    return b"# Sphinx inventory version 2\n# Project: p\n# Version: 1\n# zlib\n" + zlib.compress(
        lines.encode()
    )


SHAPES: dict[str, tuple[str, str, Callable[[list[int]], str | bytes]]] = {
    "index of Sphinx": ('<script src="/_static/doctools.js"></script>', "/searchindex.js", index_of_sphinx),
    "objects.inv": ('<link href="/_static/pygments.css">', "/objects.inv", inventory),
    "hashes of VitePress": (
        '<link href="/assets/chunks/theme.Ab1.js">',
        "/hashmap.json",
        lambda pages: json.dumps({f"p{n}_index.md": f"x{n}" for n in pages}),
    ),
    "entry of Pagefind": (
        '<link href="/pagefind/pagefind-ui.css">',
        "/pagefind/pagefind-entry.json",
        lambda pages: json.dumps({"version": "1", "languages": {"en": {"hash": f"en_{len(pages)}"}}}),
    ),
    "data of Nextra": (
        '<div class="nextra-toc"></div><script src="/_next/static/chunks/main.js"></script>',
        "/_next/static/chunks/nextra-data-en-US.json",
        lambda pages: json.dumps(
            {f"/p{n}/": {"title": f"Topic {in_words(n)}", "data": {"": said(n)}} for n in pages}
        ),
    ),
    "build of Docusaurus": ('<script src="/assets/js/runtime~main.1a2b3c4d.js"></script>', "/x", lambda _: ""),
    "two indexes of Docusaurus": (
        '<script src="/search-index-docs.json"></script><script src="/search-index-api.json"></script>',
        "/search-index-docs.json",
        lambda pages: json.dumps(
            [{"documents": [{"i": n, "t": said(n), "u": f"/p{n}/"} for n in pages if n % 2]}]
        ),
    ),
    "commit in a meta element": ('<meta name="commit" content="1a2b3c4d5e">', "/x", lambda _: ""),
    "lastmod of a sitemap": ("", "/sitemap.xml", lastmod),
    "lastmod that pages say too": ('<meta name="modified" content="2026-01-01T10:00:00Z">', "/sitemap.xml", one_lastmod),
    "nothing": ("", "/x", lambda _: ""),
}  # fmt: skip
"""What the pages have in their head, and the path and text of the file that they are set up with."""


def never_changing(folder: Path, options: argparse.Namespace, shape: str) -> list[int]:
    """Crawl a site that never changes each night; return the requests of each."""
    head, path, text = SHAPES[shape]
    made = Month(options.pages, options.etags)
    made.deploy([])
    del made.site.pages["/search/search_index.json"]
    numbers = list(range(options.pages))
    with serving(made.site):
        for at, page in made.site.pages.items():
            made.site.pages[at] = str(page).replace('<script src="/search/main.js"></script>', head)
        body = text(numbers)
        made.site.pages[path] = (
            body.replace("BASE", made.site.url) if isinstance(body, str) else body
        )
        if shape.startswith("two"):
            even = [{"i": n, "t": said(n), "u": f"/p{n}/"} for n in numbers if not n % 2]
            made.site.pages["/search-index-api.json"] = json.dumps([{"documents": even}])
        requests = []
        for _ in range(options.nights):
            made.site.clear()
            crawl(f"{made.site.url}/", folder, timeout=900)
            requests.append(len(made.site.requests))
    return requests


def main() -> None:
    """Run both months, or that of each shape, and print what they cost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument(
        "--deploys", type=float, default=0.3, help="the share of nights with a deploy"
    )
    parser.add_argument("--etags", choices=("content", "deploy", "none"), default="content")
    parser.add_argument(
        "--lie", type=int, default=-1, help="the night on which the index says nothing of an edit"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--shapes", action="store_true", help="a site that never changes, by witness"
    )
    options = parser.parse_args()
    for shape in SHAPES if options.shapes else ():
        with tempfile.TemporaryDirectory() as folder:
            print(shape, never_changing(Path(folder), options, shape), flush=True)
    months = [(revisit, options.deploys) for revisit in ("proven", "always")]
    for revisit, deploys in () if options.shapes else [*months, ("proven", 0.0)]:
        with tempfile.TemporaryDirectory() as folder:
            rows = month(Path(folder), options, revisit, deploys)
        total = {name: sum(row[name] for row in rows) for name in ("requests", "edited", "told")}
        quiet = [row["requests"] for row in rows[8:] if not row["edited"]]
        busy = [row["requests"] - row["edited"] for row in rows[8:] if row["edited"]]
        summary = total | {"minutes": round(total["requests"] / RATE / 60)}
        summary |= {
            "most on a quiet night": max(quiet, default=0),
            "most beside edits": max(busy, default=0),
        }
        print(revisit, f"{deploys:.0%} deploys", json.dumps(summary), flush=True)


if __name__ == "__main__":
    main()
