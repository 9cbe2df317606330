"""Nights of a site that lies: `python benchmarks/nights.py --nights 60`.

A small site is edited each day, and on most nights answers with something else than its pages: walls and logins with
status 200, empty shells, old lists, validators that never change. What the documents of the crawls say is compared with
what the site really was: each page carries a mark of its edition. Kinds of night are combined with `+`, or at random.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support"), str(HERE.parent)]

from crawling import crawl  # noqa: E402
from generated_site import WORDS, in_words  # noqa: E402
from site_server import Reply, Seen, Site, serving  # noqa: E402

from llmsspider.store import Store  # noqa: E402

FORMS = ("html", "markdown", "full")
"""What the site serves: HTML and a sitemap; HTML, `.md` and llms.txt; HTML, llms.txt and llms-full.txt."""

SIGN_IN = "<title>Sign in</title><form action='/login'><h1>Sign in</h1><input name=u><input type=password></form>"
DENIED = (
    "<title>{path}</title><h1>No entry</h1><p>You may not see {path}. Reference: 18.{number}</p>"
)
UPKEEP = "<title>Documentation</title><h1>Back soon</h1><p>We are working on this site, come again later.</p>"
SHELL = "<head><title>Docs</title><script src='/app.js'></script></head><body><div id='view'></div></body>"
SHOP = (
    "<title>Shop</title><h1>Shop</h1><p>Buy the book of it.</p><a href='/shop/offer.html'>Offer</a>"
)
OFFER = "<title>Offer</title><h1>Offer</h1><p>Today only, one book at the price of two.</p>"
MISSING = (
    "<title>Page not found</title><h1>Page not found</h1><p>There is nothing at this address.</p>"
)
CONSTANT = "Sat, 21 Nov 2020 22:00:00 GMT"


class LyingSite:
    """A site by page name and edition; `kinds` are what its nights may be like."""

    def __init__(self, kinds: tuple[str, ...], form: str, pages: int, seed: int):
        self.kinds, self.form = kinds, form
        self.chance = random.Random(seed)
        self.editions = {f"topic-{in_words(number)}": 1 for number in range(pages)}
        self.made = pages
        self.removed: set[str] = set()
        self.past: list[dict[str, int]] = []
        """The editions of the nights before, the last one last."""
        self.rewritten: Counter[tuple[str, int]] = Counter()
        """How often the words of a page were changed, by its name and edition."""
        self.site, self.other = Site({}), Site({})
        self.moved = False
        self.was_disturbed = False

    @property
    def base(self) -> str:
        """Where the pages are now."""
        return self.other.url if self.moved else self.site.url

    def day(self) -> None:
        """Change the site as a day of work would."""
        self.past.append(dict(self.editions))
        names = sorted(self.editions)
        for name in self.chance.sample(names, 3):
            edition = self.editions[name]
            self.editions[name] = edition + 1
            self.rewritten[name, edition + 1] = self.rewritten[name, edition] + (
                self.chance.random() < 0.2
            )
        gone = self.chance.choice(names)
        del self.editions[gone]
        self.removed.add(gone)
        self.editions[f"topic-{in_words(self.made)}"] = 1
        self.made += 1

    def text(self, name: str, edition: int) -> str:
        """Return a page as Markdown, with the mark of its edition in front and one at its end."""
        words = random.Random(f"{name} {self.rewritten[name, edition]}")
        prose = [" ".join(words.choices(WORDS, k=30)) + f" {name}." for _ in range(6)]
        own = f"{name} {self.rewritten[name, edition]} " * 8
        return (
            f"# {name}\n\nmark {name} {edition} begins\n\n{own}\n\n"
            + "\n\n".join(prose)
            + f"\n\nend {name} {edition}\n"
        )

    def html(self, name: str, edition: int) -> str:
        """Return a page as HTML."""
        title, *parts = self.text(name, edition).strip().split("\n\n")
        body = "".join(f"<p>{part}</p>" for part in parts)
        others = random.Random(name).sample(sorted(self.editions), 3)
        nav = "".join(f"<a href='/{other}.html'>{other}</a>" for other in others)
        return (
            f"<!doctype html><html><head><title>{name}</title></head><body><nav><a href='/'>Home</a>{nav}</nav>"
            f"<main><h1>{title[2:]}</h1>{body}</main></body></html>"
        )

    def serve(self, *, healthy: bool) -> str:
        """Write the pages of this night; return what is wrong with it."""
        before = self.past[-2:][0] if self.past else self.editions
        lag = before if "sitemap-lag" in self.kinds else self.editions
        pages: dict[str, Any] = {
            f"/{name}.html": self.html(name, n) for name, n in self.editions.items()
        }
        names = sorted(self.editions)
        links = "".join(
            f"<li><a href='/{name}.html'>{name}</a></li>" for name in names if len(name) % 2
        )
        pages["/"] = (
            f"<html><title>Home</title><main><h1>Home</h1><p>All about it.</p><ul>{links}</ul></main></html>"
        )
        entries = "".join(f"<url><loc>{{base}}/{name}.html</loc></url>" for name in sorted(lag))
        pages["/sitemap.xml"] = (
            f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</urlset>"
        )
        pages["/robots.txt"] = "User-agent: *\nAllow: /\nSitemap: {base}/sitemap.xml\n"
        if self.form != "html":
            ending = "md" if self.form == "markdown" else "html"
            listed = "".join(f"- [{name}]({{base}}/{name}.{ending})\n" for name in names)
            pages["/llms.txt"] = f"# Site\n\n> All about it.\n\n## Docs\n\n{listed}"
        if self.form == "markdown":
            pages |= {f"/{name}.md": self.text(name, n) for name, n in self.editions.items()}
        if self.form == "full":
            full = before if "full-lag" in self.kinds else self.editions
            pages["/llms-full.txt"] = "\n\n".join(
                self.text(name, n).replace("\n", f"\nSource: {{base}}/{name}.html\n", 1)
                for name, n in sorted(full.items())
            )
        self._shorten(pages, disturbed=not healthy)
        if "soft-404" in self.kinds:
            pages |= dict.fromkeys(
                (f"/{name}.html" for name in self.removed - set(self.editions)), MISSING
            )
            if self.form == "markdown":
                pages |= dict.fromkeys(
                    (f"/{name}.md" for name in self.removed - set(self.editions)), MISSING
                )
        self.was_disturbed = self.was_disturbed and not healthy
        said = "healthy" if healthy else self._disturb(pages, self.past[-1] if self.past else {})
        self._stamp(pages)
        self.other.pages = pages if self.moved else {}
        self.site.pages = pages
        if self.moved:
            self.site.pages = {}
            self.site.missing = lambda seen: Reply(
                "", 301, headers={"Location": self.other.url + seen.path}
            )
        return said

    def _shorten(self, pages: dict[str, Any], *, disturbed: bool) -> None:
        """Cut lists or the full text off for a night, or take it away."""
        if disturbed and "lists-cut" in self.kinds:
            for path in {"/sitemap.xml", "/llms.txt"} & set(pages):
                pages[path] = pages[path][
                    : self.chance.randrange(len(pages[path]) // 2, len(pages[path]))
                ]
        full = pages.get("/llms-full.txt")
        if disturbed and full is not None and "full-cut" in self.kinds:
            pages["/llms-full.txt"] = full[: self.chance.randrange(len(full) // 2, len(full))]
        if disturbed and full is not None and "full-down" in self.kinds:
            pages["/llms-full.txt"] = self.chance.choice(
                [Reply("", 503), Reply(SIGN_IN, content_type=HTML)]
            )

    def _disturb(self, pages: dict[str, Any], before: dict[str, int]) -> str:
        """Put something else in place of pages, as one of the kinds has it."""
        tonight = [kind for kind in self.kinds if kind in DISTURBANCES]
        if self.was_disturbed:
            tonight = [kind for kind in tonight if kind not in ONE_NIGHT]
        self.was_disturbed = bool(tonight)
        if not tonight:
            return ", ".join(kind for kind in self.kinds if kind not in DISTURBANCES) or "healthy"
        kind = self.chance.choice(tonight)
        share, made = DISTURBANCES[kind]
        candidates = ["/", *(f"/{name}" for name in sorted(self.editions))]
        if kind in ONLY_START:
            candidates = ["/"]
        # of one page alone nobody can say that it is none, where it was never seen
        if kind == "wall-few":
            candidates = ["/", *(f"/{name}" for name in sorted(self.editions) if name in before)]
        chosen = self.chance.sample(candidates, max(1, int(share * len(candidates))))
        wall = made(self.chance)
        for path in chosen:
            endings = ("md",) if kind in ONLY_MARKDOWN else ("html", "md")
            for key in {
                path if kind not in ONLY_MARKDOWN else "",
                *(f"{path}.{ending}" for ending in endings),
            }:
                if key in pages:
                    pages[key] = wall(key, pages[key])
        pages |= {
            "/login": SIGN_IN,
            "/upkeep-notice": UPKEEP,
            "/shop/": SHOP,
            "/shop/offer.html": OFFER,
        }
        return f"{kind} ({len(chosen)})"

    def _stamp(self, pages: dict[str, Any]) -> None:
        """Send validators that say nothing, where the site does; else an ETag of the body."""
        self.site.etags = self.other.etags = True
        header = (
            ("Last-Modified", CONSTANT) if "frozen-modified" in self.kinds else ("ETag", 'W/"1"')
        )
        if not {"frozen-modified", "frozen-etag"} & set(self.kinds):
            return
        self.site.etags = False
        for path, page in list(pages.items()):
            pages[path] = _frozen(page if isinstance(page, Reply) else Reply(page), *header)


def _frozen(reply: Reply, header: str, value: str) -> Callable[[Seen], Reply]:
    asked = {"Last-Modified": "if-modified-since", "ETag": "if-none-match"}[header]

    def answer(seen: Seen) -> Reply:
        if asked in seen.headers and reply.status == 200:
            return Reply("", 304, headers={header: value})
        return Reply(reply.body, reply.status, reply.content_type, {**reply.headers, header: value})

    return answer


Wall = Callable[[str, str], Reply]
HTML = "text/html; charset=utf-8"


def _walls(chance: random.Random) -> Wall:
    text = chance.choice([SIGN_IN, DENIED, UPKEEP])
    if text is not DENIED:
        return lambda _path, _page: Reply(text, content_type=HTML)
    return lambda path, _page: Reply(
        text.replace("{path}", path).replace("{number}", f"{random.Random(path).random():.6f}"),
        content_type=HTML,
    )


def _login(chance: random.Random) -> Wall:
    status = chance.choice([301, 302, 303, 307])
    return lambda path, _page: Reply("", status, HTML, {"Location": f"/login?next={path}"})


def _elsewhere(_chance: random.Random) -> Wall:
    return lambda _path, _page: Reply("", 302, HTML, {"Location": "/upkeep-notice"})


def _to_shop(chance: random.Random) -> Wall:
    status = chance.choice([302, 303, 307])
    return lambda _path, _page: Reply("", status, HTML, {"Location": "/shop/"})


def _forbidden(_chance: random.Random) -> Wall:
    return lambda _path, _page: Reply("<h1>403 Forbidden</h1>", 403, HTML)


def _refused(chance: random.Random) -> Wall:
    return chance.choice([_forbidden, _login])(chance)


def _broken(chance: random.Random) -> Wall:
    status = chance.choice([429, 500, 502, 503])
    return lambda _path, _page: Reply(
        "", status, HTML, {"Retry-After": "0"} if status == 429 else {}
    )


def _shells(_chance: random.Random) -> Wall:
    return lambda _path, _page: Reply(SHELL, content_type=HTML)


def _truncated(_chance: random.Random) -> Wall:
    return lambda _path, page: Reply(page[: len(page) // 2])


DISTURBANCES: dict[str, tuple[float, Callable[[random.Random], Wall]]] = {
    "wall-low": (0.15, _walls),
    "wall-high": (0.7, _walls),
    "login-redirect": (0.15, _login),
    "login-redirect-high": (0.7, _login),
    "redirect-to-one": (0.2, _elsewhere),
    "empty-shell": (0.03, _shells),
    "empty-shells": (0.15, _shells),
    "truncation": (0.1, _truncated),
    "wall-few": (0.05, _walls),
    "forbidden-low": (0.08, _forbidden),
    "forbidden-high": (0.7, _forbidden),
    "errors": (0.5, _broken),
    "markdown-refused": (0.2, _refused),
    "start-elsewhere": (1, _to_shop),
    "start-wall": (1, _walls),
}
"""What a night may be like: the share of pages, and what comes in their place."""

ONLY_START = frozenset({"start-elsewhere", "start-wall"})
FORMS_OF = {"markdown": ("markdown",), "full": ("full",)}
"""The forms in which a kind says something, by the first word of its name; others say it in all."""
ONE_NIGHT = frozenset({"truncation", "wall-few", "start-elsewhere", "empty-shell", "empty-shells"})
"""What is believed in the second run in a row: it does not last two nights here."""
ONLY_MARKDOWN = frozenset({"markdown-refused"})

TRAITS = (
    "soft-404",
    "frozen-modified",
    "frozen-etag",
    "sitemap-lag",
    "full-lag",
    "full-cut",
    "full-down",
    "lists-cut",
    "new-host",
)
"""What a site is like every night, or on disturbed ones: `full-cut`, `full-down`, `lists-cut`. `new-host`: after half
of the nights all pages redirect to another host."""

KINDS = (*DISTURBANCES, *TRAITS)


@dataclass
class FormCounts:
    """What the nights of one kind brought; delays are in nights."""

    nights: int = 0
    incomplete: int = 0
    false_deletions: list[str] = field(default_factory=list)
    false_changes: list[str] = field(default_factory=list)
    edit_delays: Counter[int] = field(default_factory=Counter)
    deletion_delays: Counter[int] = field(default_factory=Counter)
    missed_edits: list[str] = field(default_factory=list)
    missed_deletions: list[str] = field(default_factory=list)
    duplicates: int = 0
    disorder: int = 0
    other_forms: int = 0
    """Pages that came as `changed` with the text they had, in another form: full text that is back, or lags."""
    differs: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing false was said and nothing was missed for good."""
        wrong = (
            self.false_deletions,
            self.false_changes,
            self.missed_edits,
            self.missed_deletions,
            self.differs,
        )
        return not any(wrong) and not self.duplicates and not self.disorder


OFTEN = {"llmsspider.crawler.known_pages.FULL_CHECK_RUNS": 4}
"""Every page is fetched without validators once in four nights."""


class Consumer:
    """Follows the documents of the crawls, and compares them with the site."""

    def __init__(self, site: LyingSite, folder: Path, settings: dict[str, Any]):
        self.site, self.folder, self.settings = site, folder, settings
        self.source = folder.name.lower()  # a database may have the sources of many runs
        self.held: dict[str, dict[str, Any]] = {}
        self.replayed: dict[str, str] = {}
        self.number = 0
        self.tally = FormCounts()
        self._edited: dict[str, int] = {}
        self._gone: dict[str, int] = {}

    def night(self, number: int, said: str) -> None:
        """Crawl once and follow."""
        site, tally = self.site, self.tally
        (self.folder / "documents.jsonl").unlink(missing_ok=True)
        url = f"{site.site.url}/"
        outcome = crawl(
            url,
            self.folder,
            arguments={"source": self.source},
            settings=self.settings,
            constants=OFTEN,
        )
        rows = outcome.documents if outcome.exit_code in {0, 3} else []
        tally.nights += 1
        tally.incomplete += outcome.exit_code != 0
        tally.duplicates += len(rows) - len({row["url"] for row in rows})
        for row in rows:
            self._apply(row, f"night {number}, {said}: {row['url'].removeprefix(site.base)}")
        self._replay()
        self._count_delays(number)

    def _apply(self, row: dict[str, Any], where: str) -> None:
        name, old = self._name(row["url"]), self.held.get(row["url"])
        is_there = row["url"].startswith(f"{self.site.base}/") and (
            name in self.site.editions or not name
        )
        if row["change"] == "deleted":
            if is_there:
                self.tally.false_deletions.append(where)
            self.held.pop(row["url"], None)
            return
        if row["change"] != "unchanged" and not self._is_true(name, row["content"], old):
            again = old is not None and self._is_true(name, row["content"], None)
            if again and old is not None and row["origin"] != old["origin"]:
                self.tally.other_forms += 1
            else:
                self.tally.false_changes.append(f"{where} {row['change']}")
        self.held[row["url"]] = row

    def _name(self, url: str) -> str:
        return url.rpartition("/")[2].removesuffix(".html")

    def _is_true(self, name: str, content: str, old: dict[str, Any] | None) -> bool:
        """Say whether a text is one that the page had, whole, and newer than the one held."""
        if not name:
            return "All about it" in content
        edition = edition_of(name, content)
        if edition is None or f"end {name} {edition}" not in content:
            return False
        return old is None or edition > (edition_of(name, old["content"]) or 0)

    def _replay(self) -> None:
        url = self.settings.get("LLMS_STORE_URL")
        with Store.open(url, self.folder / "store", self.source) as store:
            for page in store.changes_since(self.number):
                self.tally.disorder += page.seq <= self.number
                self.number = page.seq
                self.replayed[page.record.url] = page.record.content_hash or ""
                if page.change == "deleted":
                    del self.replayed[page.record.url]

    def _count_delays(self, number: int) -> None:
        """Note since when a page is not what the site has, and how long that took."""
        editions = {
            name: edition_of(name, row["content"])
            for url, row in self.held.items()
            if url.startswith(f"{self.site.base}/") and (name := self._name(url))
        }
        late = {
            name for name, edition in self.site.editions.items() if editions.get(name) != edition
        }
        ghosts = {
            url
            for url in self.held
            if self._name(url) not in self.site.editions and self._name(url)
        } | {url for url in self.held if not url.startswith(f"{self.site.base}/")}
        for open_ones, now, delays in (
            (self._edited, late, self.tally.edit_delays),
            (self._gone, ghosts, self.tally.deletion_delays),
        ):
            for what in set(open_ones) - now:
                delays[number - open_ones.pop(what)] += 1
            for what in now - set(open_ones):
                open_ones[what] = number

    def finish(self) -> FormCounts:
        """Return the tally, with what is missed for good."""
        self.tally.missed_edits, self.tally.missed_deletions = (
            sorted(self._edited),
            sorted(self._gone),
        )
        hashes = {url: row["content_hash"] for url, row in self.held.items()}
        self.tally.differs = sorted(
            url
            for url in hashes.keys() | self.replayed.keys()
            if hashes.get(url) != self.replayed.get(url)
        )
        return self.tally


def edition_of(name: str, content: str | None) -> int | None:
    """Return the edition that a text is marked with, None where it is no text of this page."""
    words = (content or "").partition(f"mark {name} ")[2].split(" ", 1)
    return int(words[0]) if words[0].isdigit() else None


def simulate(
    kinds: tuple[str, ...],
    form: str,
    nights: int,
    seed: int,
    folder: Path,
    *,
    pages: int = 24,
    settle: int = 3,
    settings: dict[str, Any] | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> FormCounts:
    """Crawl a site for so many nights, and for `settle` more in which it is in order and nobody edits it."""
    site = LyingSite(kinds, form, pages, seed)
    given = {"RETRY_TIMES": 0, "AUTOTHROTTLE_MAX_DELAY": 0, **(settings or {})}
    with _served(site):
        consumer = Consumer(site, folder, given)
        for number in range(nights + settle):
            if 0 < number < nights:
                site.day()
            if "new-host" in kinds and number == nights // 2:
                site.moved = True
            disturbed = 0 < number < nights and site.chance.random() < 0.7
            said = site.serve(healthy=not disturbed)
            consumer.night(number, said)
            say(f"night {number}: {said}")
            if number >= nights:
                site.past = [dict(site.editions)] * 2
        return consumer.finish()


@contextlib.contextmanager
def _served(site: LyingSite) -> Iterator[None]:
    with serving(site.site), serving(site.other):
        yield


def line_of(kinds: tuple[str, ...], tally: FormCounts) -> str:
    """Return the row of a table."""
    delays = [
        f"{max(counted, default=0)} ({sum(value for nights, value in counted.items() if nights > 0)})"
        for counted in (tally.edit_delays, tally.deletion_delays)
    ]
    figures = (
        tally.nights,
        tally.incomplete,
        len(tally.false_deletions),
        len(tally.false_changes),
        f"{len(tally.missed_edits)}",
        delays[0],
        f"{len(tally.missed_deletions)}",
        delays[1],
        tally.duplicates,
        tally.disorder + len(tally.differs),
        tally.other_forms,
    )
    return f"| {' + '.join(kinds) or 'in order'} | {' | '.join(map(str, figures))} |"


def main() -> None:
    """Run and print; exit code 1 when a promise did not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--nights", type=int, default=60, help="nights of each kind, spread over the forms"
    )
    parser.add_argument(
        "--kinds", nargs="*", default=KINDS, help="kinds, combined with +; or: random"
    )
    parser.add_argument("--forms", nargs="*", default=FORMS)
    parser.add_argument("--pages", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store-url", help="PostgreSQL")
    parser.add_argument("--secs", type=float, default=1e9, help="begin nothing new after so long")
    options = parser.parse_args()
    print(
        "| kind | nights | not complete | false deletions | false changes | edits missed | nights late at most (edits) "
        "| deletions missed | nights late at most (deletions) | duplicates | out of order | form only |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    good, began, details = True, time.monotonic(), []
    chance = random.Random(options.seed)
    for kind in options.kinds:
        total = FormCounts()
        kinds: tuple[str, ...] = tuple(kind.split("+"))
        forms = [
            form for form in options.forms if form in FORMS_OF.get(kind.partition("-")[0], FORMS)
        ]
        for number, form in enumerate(forms):
            if time.monotonic() - began > options.secs:
                break
            if kind == "random":
                kinds = tuple(chance.sample(KINDS, 3))
            folder = Path(tempfile.mkdtemp(prefix="nights-"))
            try:
                tally = simulate(
                    kinds,
                    form,
                    options.nights // len(forms) - 3,
                    options.seed * 100 + number,
                    folder,
                    pages=options.pages,
                    settings={"LLMS_STORE_URL": options.store_url} if options.store_url else None,
                )
            finally:
                shutil.rmtree(folder)
            good = good and tally.good
            details.append({"kinds": kinds, "form": form, **_wrong(tally)})
            if not tally.good:
                print(json.dumps(details[-1]), file=sys.stderr, flush=True)
            _add(total, tally)
        print(line_of((kind,), total), flush=True)
    print()
    for detail in details:
        if len(detail) > 2:
            print(json.dumps(detail))
    raise SystemExit(not good)


def _wrong(tally: FormCounts) -> dict[str, Any]:
    names = ("false_deletions", "false_changes", "missed_edits", "missed_deletions", "differs")
    return {name: values[:4] for name in names if (values := getattr(tally, name))}


def _add(total: FormCounts, tally: FormCounts) -> None:
    for name in vars(total):
        setattr(total, name, getattr(total, name) + getattr(tally, name))


if __name__ == "__main__":
    main()
