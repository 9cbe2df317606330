"""Two weeks of nightly crawls of a site that changes and fails: `python benchmarks/two_weeks.py`.

A site of 1,000 pages in the shape of a real documentation site is crawled night after night. Before each night pages
are edited, added, renamed and removed; in some nights pages, files or the whole site are out of order. A consumer
that knows nothing but numbers follows the changes: `scrapy export SOURCE --since N`, replayed into a dictionary. On
the last day, when everything is in order, it has to hold what a fresh crawl of the site gives. A second consumer reads
the feed of the nights (`emit=changes`) and has to agree. Nothing may be deleted that the site has.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support"), str(HERE.parent)]

from crawling import Outcome, command, crawl  # noqa: E402
from fault_server import FaultSite, serving_faults  # noqa: E402
from generated_site import SiteWriter  # noqa: E402

MODIFIED = 1_700_000_000
DAY = 86_400


class ChangingSite:
    """Pages by section; each night some are edited, added, renamed or removed. Seeded."""

    def __init__(self, pages: int, seed: int):
        self.chance = random.Random(seed)
        self.writer = SiteWriter(pages, seed)
        self.editions: dict[str, int] = dict.fromkeys(
            (f"{section}/{page}" for section, names in self.writer.tree.items() for page in names),
            1,
        )
        self.made = 0
        self.bodies: dict[str, bytes] = {}
        self.site = FaultSite({})
        self.render(0)

    def night(self, number: int) -> dict[str, int]:
        """Change the site as a day of work would; return how many pages went which way."""
        names = sorted(self.editions)
        edits = self.chance.sample(names, max(1, len(names) // 40))
        for name in edits:
            self.editions[name] += 1
        gone = self.chance.sample(names, max(1, len(names) // 200))
        for name in gone:
            del self.editions[name]
        renamed = self.chance.sample(sorted(self.editions), max(1, len(names) // 250))
        for name in renamed:
            self.editions[self._new_name(name)] = self.editions.pop(name)
        added = [
            self._new_name(self.chance.choice(names)) for _ in range(max(1, len(names) // 120))
        ]
        self.editions |= dict.fromkeys(added, 1)
        self.render(number)
        return {
            "edited": len(edits),
            "removed": len(gone),
            "renamed": len(renamed),
            "added": len(added),
        }

    def _new_name(self, like: str) -> str:
        self.made += 1
        return f"{like.partition('/')[0]}/made-{self.made}"

    def render(self, number: int) -> None:
        """Write the pages, the table of contents and the sitemap; a page that did not change keeps its bytes."""
        pages: dict[str, Any] = {}
        for name, edition in self.editions.items():
            path = f"/{name}.html"
            body = self._body(name, edition)
            if self.bodies.get(path) != body:
                self.bodies[path] = body
                self.site.modified[path] = MODIFIED + number * DAY
            pages[path] = body
        for path in set(self.bodies) - set(pages):
            del self.bodies[path]
        sections: dict[str, list[str]] = {}
        for name in sorted(self.editions):
            sections.setdefault(name.partition("/")[0], []).append(name)
        for (
            section,
            names,
        ) in sections.items():  # half of the pages are linked, the rest only in the sitemap
            links = "".join(f"<li><a href='/{name}.html'>{name}</a></li>" for name in names[::2])
            pages[f"/{section}/index.html"] = _page(section, f"<ul>{links}</ul>")
        links = "".join(
            f"<li><a href='/{section}/index.html'>{section}</a></li>" for section in sections
        )
        pages["/"] = _page("Home", f"<p>Welcome to the documentation.</p><ul>{links}</ul>")
        for path in ("/", *(f"/{section}/index.html" for section in sections)):
            self.site.modified[path] = MODIFIED + number * DAY
        entries = "".join(
            f"<url><loc>{{base}}/{name}.html</loc></url>\n" for name in sorted(self.editions)
        )
        pages["/sitemap.xml"] = (
            f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</urlset>"
        )
        pages["/robots.txt"] = "User-agent: *\nAllow: /\nSitemap: {base}/sitemap.xml\n"
        self.site.pages = pages

    def _body(self, name: str, edition: int) -> bytes:
        section, _, page = name.partition("/")
        writer = SiteWriter(1, seed=hash_of(f"{name} {edition}"))
        writer.tree = {section: [page]}
        return _page(
            f"{section} {page}",
            f"<p>Edition {edition} of {page}.</p>" + writer.section(section, "Use", edition, "../"),
        )


def _page(title: str, body: str) -> bytes:
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title} - Example</title></head>"
        f"<body><nav><a href='/'>Home</a></nav><main><h1>{title}</h1>{body}</main></body></html>"
    ).encode()


def hash_of(text: str) -> int:
    """Return the same number for the same text, in every process."""
    return int.from_bytes(text.encode(), "big") % 1_000_003


OUTAGES: list[tuple[str, dict[str, str]]] = [
    ("in order", {}),
    ("every 50th request fails", {"*": "500%2"}),
    ("in order", {}),
    ("the whole site answers 503", {"*": "503:0"}),
    ("the whole site answers 503, second night", {"*": "503:0"}),
    ("connections are reset at times", {"*": "reset%3"}),
    ("the sitemap breaks off", {"/sitemap.xml": "cut"}),
    ("the sitemap is down", {"/sitemap.xml": "500"}),
    ("the sitemap is down, second night", {"/sitemap.xml": "500"}),
    ("robots.txt is down", {"/robots.txt": "500"}),
    ("bodies break off at times", {"*": "truncated%3"}),
    ("one section answers 500", {"section": "500"}),
    ("gzip breaks off at times", {"*": "gzip-cut%5"}),
    ("in order", {}),
]
"""What a night is like; the last night is always in order."""


@dataclass
class Night:
    """What one night brought."""

    number: int
    outage: str
    work: dict[str, int]
    exit_code: int
    changes: Counter[str]
    errors: int
    false_deletions: int
    behind: int
    secs: float


@dataclass
class Result:
    """What the weeks brought."""

    nights: list[Night] = field(default_factory=list)
    pages: int = 0
    replayed: int = 0
    differs: list[str] = field(default_factory=list)
    feed_differs: list[str] = field(default_factory=list)
    duplicates: int = 0
    sequence_gaps: int = 0
    struck: Counter[str] = field(default_factory=Counter)

    @property
    def good(self) -> bool:
        """Whether every promise held."""
        wrong = self.differs or self.feed_differs or self.duplicates or self.sequence_gaps
        return not wrong and not any(night.false_deletions for night in self.nights)


class Weeks:
    """Runs the nights in a folder."""

    def __init__(self, site: ChangingSite, folder: Path, settings: dict[str, Any]):
        self.site = site
        self.folder = folder
        self.settings = {
            "RETRY_TIMES": 1,
            "AUTOTHROTTLE_MAX_DELAY": 0.2,
            "DOWNLOAD_TIMEOUT": 20,
            **settings,
        }
        self.replayed: dict[str, dict[str, Any]] = {}
        self.followed: dict[str, dict[str, Any]] = {}
        self.number = 0
        self.result = Result()

    def night(
        self, number: int, outage: str, scripts: dict[str, str], work: dict[str, int]
    ) -> None:
        """Crawl once and have both consumers follow."""
        site = self.site.site
        site.set_faults(self._scripts(scripts))
        began = time.monotonic()
        arguments = {"source": "weeks", "emit": "changes"}
        outcome = crawl(
            f"{site.url}/", self.folder, arguments=arguments, settings=self.settings, timeout=3000
        )
        secs = time.monotonic() - began
        rows = outcome.documents if outcome.exit_code == 0 else []
        self._follow(rows)
        replayed = self._replay()
        living = {
            f"{site.url}{path}"
            for path, page in site.pages.items()
            if path.endswith(("html", "/")) and page
        }
        lost = {row["url"] for row in [*rows, *replayed] if row["change"] == "deleted"} & living
        behind = self.site.editions.keys() - {
            url.removeprefix(f"{site.url}/").removesuffix(".html") for url in self.replayed
        }
        counted = Counter(row["change"] for row in replayed)
        errors = sum(
            value for key, value in _stats(outcome).items() if key.startswith("llms/errors/")
        )
        self.result.nights.append(
            Night(
                number,
                outage,
                work,
                outcome.exit_code,
                counted,
                errors,
                len(lost),
                len(behind),
                secs,
            )
        )
        (self.folder / "documents.jsonl").unlink(missing_ok=True)

    def _scripts(self, scripts: dict[str, str]) -> dict[str, str]:
        if "section" not in scripts:
            return scripts
        section = min(self.site.editions).partition("/")[0]
        return {
            f"/{name}.html": scripts["section"]
            for name in self.site.editions
            if name.startswith(f"{section}/")
        }

    def _follow(self, rows: list[dict[str, Any]]) -> None:
        self.result.duplicates += len(rows) - len({row["url"] for row in rows})
        for row in sorted(rows, key=lambda row: row["seq"]):
            _apply(self.followed, row)

    def _replay(self) -> list[dict[str, Any]]:
        """Read what changed after the last number, as a user would, and apply it."""
        store = f"LLMS_DATA_DIR={self.folder / 'store'}"
        done = command(
            "export",
            "weeks",
            "--since",
            str(self.number),
            "-s",
            store,
            cwd=self.folder,
            timeout=600,
        )
        assert done.exit_code == 0, done.log
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        for row in sorted(rows, key=lambda row: row["seq"]):
            self.result.sequence_gaps += row["seq"] <= self.number
            self.number = row["seq"]
            _apply(self.replayed, row)
        return rows

    def finish(self) -> Result:
        """Compare both consumers with a fresh crawl."""
        fresh_folder = self.folder / "fresh"
        fresh_folder.mkdir()
        url, arguments = f"{self.site.site.url}/", {"source": "weeks"}
        outcome = crawl(
            url, fresh_folder, arguments=arguments, settings=self.settings, timeout=3000
        )
        fresh = {row["url"]: row for row in outcome.documents}
        self.result.pages, self.result.replayed = len(fresh), len(self.replayed)
        self.result.differs = differences(self.replayed, fresh)
        self.result.feed_differs = differences(self.followed, fresh)
        self.result.struck = self.site.site.struck
        return self.result


def _apply(held: dict[str, dict[str, Any]], row: dict[str, Any]) -> None:
    if row["change"] == "deleted":
        held.pop(row["url"], None)
    else:
        held[row["url"]] = row


def differences(held: dict[str, dict[str, Any]], fresh: dict[str, dict[str, Any]]) -> list[str]:
    """Return the URLs that one side has not, or whose text, title or links differ."""
    same = ("content", "content_hash", "title", "links", "id")
    return sorted(
        url
        for url in held.keys() | fresh.keys()
        if url not in held
        or url not in fresh
        or any(held[url][key] != fresh[url][key] for key in same)
    )


def _stats(outcome: Outcome) -> dict[str, Any]:
    return outcome.stats if "Dumping Scrapy stats" in outcome.log else {}


def run(
    pages: int, nights: int, seed: int, folder: Path, *, settings: dict[str, Any] | None = None
) -> Result:
    """Simulate so many nights; the outages are spread over them."""
    site = ChangingSite(pages, seed)
    with serving_faults(site.site):
        weeks = Weeks(site, folder, settings or {})
        for number in range(nights):
            work = site.night(number) if number else {}
            last = number == nights - 1
            outage, scripts = (
                OUTAGES[-1] if last else OUTAGES[number * (len(OUTAGES) - 1) // max(1, nights - 1)]
            )
            weeks.night(number, outage, scripts, work)
            print(_line(weeks.result.nights[-1]), flush=True)
        site.site.set_faults({})
        return weeks.finish()


def _line(night: Night) -> str:
    work = ", ".join(f"{number} {kind}" for kind, number in night.work.items()) or "first crawl"
    changes = (
        ", ".join(f"{kind} {number}" for kind, number in sorted(night.changes.items())) or "none"
    )
    return (
        f"| {night.number} | {night.outage} | {work} | {changes} | {night.errors} | {night.behind} | "
        f"{night.false_deletions} | {night.exit_code} | {night.secs:.0f} s |"
    )


def main() -> None:
    """Run and print; exit code 1 when a promise did not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--nights", type=int, default=14)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="two-weeks-"))
    print(
        "| night | the site | work of the day | changes replayed | errors | not there yet | false deletions "
        "| exit | time |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    try:
        result = run(options.pages, options.nights, options.seed, folder)
    finally:
        shutil.rmtree(folder)
    print(f"\nfaults served: {dict(result.struck)}")
    print(
        f"fresh crawl {result.pages} documents, replayed consumer {result.replayed}: {len(result.differs)} differ"
    )
    print(f"feed consumer: {len(result.feed_differs)} differ; duplicates {result.duplicates}")
    print(result.differs[:5], result.feed_differs[:5])
    raise SystemExit(not result.good)


if __name__ == "__main__":
    main()
