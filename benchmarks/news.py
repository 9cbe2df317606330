"""Nights of a site whose edits are known: `python benchmarks/news.py [FOLDER] --nights 14`.

Each day a few pages are edited, added, deleted and moved; dates, build numbers and counters are others on every page,
in tables and code too. After each crawl, `scrapy diff`, the Atom feed and the webhook are held against what was done:
is each edit told, in its place, and nothing else? FOLDER is a built site, which is read and never written (`--base` is
where it lies on its host, `--origin` the address that its files name); without one a site is made up.
"""

from __future__ import annotations

import argparse
import html
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lxml import etree

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support"), str(HERE.parent)]

from crawling import command, crawl  # noqa: E402
from generated_site import WORDS, SiteWriter, in_words  # noqa: E402
from site_server import Reply, Seen, Site, serving  # noqa: E402

ATOM = "{http://www.w3.org/2005/Atom}"
SETTINGS = {
    "RETRY_TIMES": 0,
    "AUTOTHROTTLE_MAX_DELAY": 0.2,
    "DOWNLOAD_TIMEOUT": 20,
    "LLMS_ROBOTSTXT": None,
}
SENTENCE = re.compile(r"<p\b[^<>]*>([^<>&*_`\[\]\\]{30,})")
WORD = re.compile(r"\b[a-z]{6,}\b")
KINDS = (
    "word",
    "word",
    "code",
    "cell",
    "row",
    "paragraph",
    "cut",
    "new",
    "delete",
    "move",
    "redirect",
)
"""What a day's edits may be, as often as they are drawn."""
TEXT_FILES = {".html", ".md", ".txt", ".xml", ".json", ".mdx"}


@dataclass
class Edit:
    """One edit: what has to be told of which page, and a text that has to stand there (empty: none)."""

    kind: str
    path: str
    needle: str = ""
    moved_from: str = ""


@dataclass
class Page:
    """A page of the site: its files, its sentence in front of which nothing else stands, and what was put behind it."""

    path: str
    html_file: str
    twin: str | None
    sentence: str
    code: int = 10
    cell: int = 10
    rows: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    has_blocks: bool = False


class Files(Site):
    """A site of files by their path on the host, as its web server would answer."""

    def __init__(self, files: dict[str, bytes], base: str):
        super().__init__({})
        self.files, self.base = files, base
        self.redirects: dict[str, str] = {}
        self.etags = True

    def reply(self, seen: Seen) -> Reply:
        path = seen.path.partition("?")[0]
        if path in self.redirects:
            return Reply("", 301, headers={"Location": self.url + self.redirects[path]})
        for name in (path, f"{path.rstrip('/')}/index.html", f"{path}.html"):
            if name in self.files:
                return Reply(self.files[name], content_type=_type(name))
        return Reply("<h1>Not found</h1>", 404)


def _type(name: str) -> str | None:
    return None if name.endswith(tuple(TEXT_FILES)) else "application/octet-stream"


class Edited:
    """A site that is edited each day, and what has to be told of it."""

    def __init__(self, files: dict[str, bytes], base: str, seed: int):
        self.site = Files({}, base)
        self.base, self.chance = base, random.Random(seed)
        self.originals = {name: body.decode("utf-8", "replace") for name, body in files.items()}
        self.texts = dict(self.originals)
        self.pages = self._pages()
        self.home = next(
            page for page in self.pages.values() if page.path in {f"{base}/", f"{base}/index.html"}
        )
        for number, page in enumerate(self.pages.values()):
            page.has_blocks = number % 2 == 0
        self.made = 0

    def _pages(self) -> dict[str, Page]:
        found = {}
        for name, text in sorted(self.texts.items()):
            if not name.endswith(".html") or "404" in name or 'http-equiv="refresh"' in text:
                continue
            twin = next((t for t in (f"{name}.md", f"{name[:-5]}.md") if t in self.texts), None)
            sentence = self._sentence(text, self.texts.get(twin) if twin else None)
            if sentence:
                path = name.removesuffix("index.html") if name.endswith("/index.html") else name
                found[path] = Page(path, name, twin, sentence)
        return found

    @staticmethod
    def _sentence(text: str, twin: str | None) -> str | None:
        """A sentence at the beginning of a paragraph that stands once in a page and in its twin."""
        for match in SENTENCE.finditer(text[text.find("<h1") :]):
            line = match[1].split("\n")[0]
            is_one = text.count(line) == 1 and (twin is None or twin.count(line) == 1)
            if is_one and len(line) > 30 and WORD.search(line):
                return line
        return None

    def day(self, number: int) -> list[Edit]:
        """Do a day of work; returns what was done."""
        edits: list[Edit] = []
        free = [page for page in self.pages.values() if page is not self.home]
        self.chance.shuffle(free)
        for kind in self.chance.sample(KINDS, 4):
            with_blocks = kind in {"code", "cell", "row"}
            cuttable = kind == "cut"
            page = next(
                (
                    p
                    for p in free
                    if (not with_blocks or p.has_blocks) and (not cuttable or p.paragraphs)
                ),
                None,
            )
            if page is not None:
                free.remove(page)
                edits += getattr(self, f"_{kind}")(page, number)
        return edits

    def _word(self, page: Page, number: int) -> list[Edit]:
        word = self.chance.choice(WORD.findall(page.sentence))
        new = f"quixotic{in_words(number).replace('-', '')}"
        sentence = re.sub(rf"\b{word}\b", new, page.sentence, count=1)
        for name in filter(None, (page.html_file, page.twin)):
            self.texts[name] = self.texts[name].replace(page.sentence, sentence)
        page.sentence = sentence
        return [Edit("changed", page.path, new)]

    def _code(self, page: Page, number: int) -> list[Edit]:
        page.code += 1
        return [Edit("changed", page.path, f"wait={page.code}")]

    def _cell(self, page: Page, number: int) -> list[Edit]:
        page.cell += 1
        return [Edit("changed", page.path, f"| {page.cell} |")]

    def _row(self, page: Page, number: int) -> list[Edit]:
        page.rows.append(f"option-{in_words(number)}")
        return [Edit("changed", page.path, page.rows[-1])]

    def _paragraph(self, page: Page, number: int) -> list[Edit]:
        page.paragraphs.append(
            f"On day {in_words(number)} somebody wrote this paragraph about the {page.path} page."
        )
        return [Edit("changed", page.path, page.paragraphs[-1][:30])]

    def _cut(self, page: Page, number: int) -> list[Edit]:
        return [Edit("changed", page.path, page.paragraphs.pop()[:30])]

    def _new(self, page: Page, number: int) -> list[Edit]:
        self.made += 1
        name = f"{self.base}/brand-{in_words(self.made)}.html"
        words = " ".join(self.chance.choices(WORDS, k=60))
        sentence = f"The page brand {in_words(self.made)} holds what nobody had written before, and {words}."
        self.texts[name] = _page(f"Brand {in_words(self.made)}", f"<p>{sentence}</p>")
        self.pages[name] = Page(name, name, None, sentence)
        return [Edit("new", name), *self._link(f"brand {in_words(self.made)}", name)]

    def _delete(self, page: Page, number: int) -> list[Edit]:
        for name in filter(None, (page.html_file, page.twin)):
            del self.texts[name]
        del self.pages[page.path]
        unlinked = [link for link in self.home.links if link[1] == page.path]
        self.home.links = [link for link in self.home.links if link[1] != page.path]
        return [
            Edit("deleted", page.path),
            *(Edit("changed", self.home.path, link[0]) for link in unlinked),
        ]

    def _move(self, page: Page, number: int, *, redirects: bool = False) -> list[Edit]:
        old, new = page.path, f"{page.html_file[:-5]}-{in_words(number)}.html"
        if page.html_file.endswith("/index.html"):
            new = f"{page.html_file[: -len('index.html')]}moved-{in_words(number)}.html"
        if page.twin:  # a twin of the form of the others
            twin = f"{new}.md" if page.twin.endswith(".html.md") else f"{new[:-5]}.md"
            self.texts[twin] = self.texts.pop(page.twin)
            if redirects:
                self.site.redirects[page.twin] = twin
            page.twin = twin
        self.texts[new] = re.sub(r'<link rel="canonical"[^>]*>', "", self.texts.pop(page.html_file))
        if redirects:
            self.site.redirects[page.html_file] = self.site.redirects[old] = new
        del self.pages[old]
        page.path = page.html_file = new
        self.pages[new] = page
        told = [
            Edit("changed", self.home.path, text) for text, path in self.home.links if path == old
        ]
        self.home.links = [link for link in self.home.links if link[1] != old]
        told += self._link(f"moved {in_words(number)}", new)
        return [Edit("moved", new, moved_from=old), *told]

    def _redirect(self, page: Page, number: int) -> list[Edit]:
        return self._move(page, number, redirects=True)

    def _link(self, text: str, path: str) -> list[Edit]:
        self.home.links.append((text, path))
        return [Edit("changed", self.home.path, text)]

    def serve(self, night: int) -> None:
        """Write the files of a night: texts, what was put behind their sentences, and what changes every night."""
        files = {}
        for page in self.pages.values():
            for name in filter(None, (page.html_file, page.twin)):
                is_html = name == page.html_file
                files[name] = self._with_blocks(self.texts[name], page, night, is_html=is_html)
        others = {name: text for name, text in self.texts.items() if name not in files}
        here = self.site.url
        self.site.files = {
            name: text.replace("{base}", here).encode("utf-8", "surrogatepass")
            for name, text in {**others, **files}.items()
        }

    def _with_blocks(self, text: str, page: Page, night: int, *, is_html: bool) -> str:
        blocks = "\n\n".join(
            self._html_blocks(page, night) if is_html else self._markdown_blocks(page, night)
        )
        position = text.find(page.sentence) + len(page.sentence)
        end = re.compile(r"</p>" if is_html else r"\n(?=\s*\n)|\Z").search(text, position)
        assert end, page.path
        return f"{text[: end.end()]}\n\n{blocks}\n\n{text[end.end() :]}"

    @staticmethod
    def _noise(night: int) -> dict[str, Any]:
        return {
            "date": f"2026-11-{night + 1:02}",
            "build": 4711 + 13 * night,
            "stars": f"1,{200 + 7 * night}",
        }

    def _table(self, page: Page, night: int) -> list[list[str]]:
        noise = self._noise(night)
        rows = [["Key", "Value", "Last change"], ["timeout", str(page.cell), noise["date"]]]
        rows += [
            ["build", str(noise["build"]), noise["date"]],
            ["stars", noise["stars"], noise["date"]],
        ]
        return rows + [[row, "1", noise["date"]] for row in page.rows]

    def _code_lines(self, page: Page, night: int) -> list[str]:
        noise = self._noise(night)
        return [
            f"# generated {noise['date']} by build {noise['build']}",
            f'run("{page.cell and "x"}", wait={page.code})',
        ]

    def _html_blocks(self, page: Page, night: int) -> list[str]:
        parts = [f"<p>{text}</p>" for text in page.paragraphs]
        parts += [
            f"<ul>{''.join(f'<li><a href={chr(34)}{p}{chr(34)}>{t}</a></li>' for t, p in page.links)}</ul>"
        ]
        if page.has_blocks:
            code = html.escape("\n".join(self._code_lines(page, night)), quote=False)
            head, *rows = self._table(page, night)
            cells = "".join(
                f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows
            )
            titles = "".join(f"<th>{cell}</th>" for cell in head)
            parts.append(f'<pre><code class="language-python">{code}\n</code></pre>')
            parts.append(f"<table><thead><tr>{titles}</tr></thead><tbody>{cells}</tbody></table>")
        return [*parts, f"<p>Last updated on {self._noise(night)['date']}</p>"]

    def _markdown_blocks(self, page: Page, night: int) -> list[str]:
        parts = list(page.paragraphs)
        if page.links:
            parts.append("\n".join(f"- [{text}]({path})" for text, path in page.links))
        if page.has_blocks:
            head, *rows = self._table(page, night)
            lines = [head, ["---"] * 3, *rows]
            parts.append("```python\n" + "\n".join(self._code_lines(page, night)) + "\n```")
            parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
        return [*parts, f"Last updated on {self._noise(night)['date']}"]


def _page(title: str, body: str) -> str:
    return (
        f"<!doctype html><html lang='en'><head><title>{title}</title></head><body><nav><a href='/'>Home</a></nav>"
        f"<main><h1>{title}</h1>{body}</main></body></html>"
    )


def made_up(seed: int) -> dict[str, bytes]:
    """A site of 60 pages without Markdown."""
    pages = SiteWriter(60, seed).site()
    return {
        (f"{path}index.html" if path.endswith("/") else path): body for path, body in pages.items()
    }


def read(folder: Path, base: str, origins: list[str]) -> dict[str, bytes]:
    """Read a built site; its own address becomes `{base}`."""
    found = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix in TEXT_FILES:
            text = file.read_bytes()
            for origin in origins:
                text = text.replace(origin.encode(), b"{base}")
            found[f"{base}/{file.relative_to(folder).as_posix()}"] = text
    return found


class Nights:
    """Crawls after each day of work and compares what is told."""

    def __init__(self, edited: Edited, folder: Path, hook: Site):
        self.edited, self.folder, self.hook = edited, folder, hook
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    def night(self, number: int) -> None:
        """One day of work and the crawl after it."""
        edits = self.edited.day(number) if number else []
        self.edited.serve(number)
        self.hook.clear()
        feed = self.folder / "changes.atom"
        settings = {
            **SETTINGS,
            "LLMS_CHANGES_FEED": feed,
            "LLMS_WEBHOOK_URL": f"{self.hook.url}/hook",
        }
        del settings["LLMS_ROBOTSTXT"]
        start = f"{self.edited.site.url}{self.edited.home.path}"
        outcome = crawl(
            start, self.folder, arguments={"source": "news"}, settings=settings, timeout=900
        )
        if outcome.exit_code:
            self.faults.append(
                f"night {number}: exit code {outcome.exit_code}: {outcome.log[-600:]}"
            )
        if number:
            before = len(self.faults)
            self._compare(number, edits, self._diff(), self._feed(feed))
            told = (
                "as it was done"
                if len(self.faults) == before
                else "\n  ".join(["NOT:", *self.faults[before:]])
            )
            print(
                f"night {number}: {', '.join(f'{e.kind} {e.path} {e.needle}'.strip() for e in edits)}: {told}",
                flush=True,
            )

    def _diff(self) -> dict[str, Any]:
        store = f"LLMS_DATA_DIR={self.folder / 'store'}"
        done = command(
            "diff", "news", "--format", "json", "-s", store, cwd=self.folder, timeout=300
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def _feed(self, path: Path) -> set[tuple[str, str]]:
        """The newest entries."""
        entries = etree.parse(path).getroot().findall(f"{ATOM}entry")
        newest = entries[0].findtext(f"{ATOM}updated") if entries else None
        return {
            (
                entry.find(f"{ATOM}category").get("term"),
                self._short(entry.find(f"{ATOM}link").get("href")),
            )
            for entry in entries
            if entry.findtext(f"{ATOM}updated") == newest
        }

    def _short(self, url: str) -> str:
        path = url.removeprefix(self.edited.site.url)
        return re.sub(r"(index)?(\.html)?(\.md)?$", "", path).rstrip("/")

    def _compare(
        self, number: int, edits: list[Edit], diff: dict[str, Any], feed: set[tuple[str, str]]
    ) -> None:
        expected = {(edit.kind, self._short(edit.path)) for edit in edits}
        pages = {(page["change"], self._short(page["url"])): page for page in diff["pages"]}
        bodies = [json.loads(seen.body) for seen in self.hook.requests if seen.path == "/hook"]
        hook = {
            (page["change"], self._short(page["url"])) for body in bodies for page in body["pages"]
        }
        for name, told in (
            ("diff", set(pages)),
            ("feed", feed if expected else set()),
            ("webhook", hook),
        ):
            self.counts[f"{name}: edits told"] += len(expected & told)
            self.faults += [
                f"night {number}: {name} lacks {what}" for what in sorted(expected - told)
            ]
            self.faults += [
                f"night {number}: {name} tells {what} too" for what in sorted(told - expected)
            ]
        self.counts["edits"] += len(expected)
        self.counts["pages folded"] += diff["noise"]["pages"]
        for key, page in pages.items():
            if key in expected:
                self._compare_page(
                    number, [e for e in edits if (e.kind, self._short(e.path)) == key], page
                )

    def _compare_page(self, number: int, edits: list[Edit], page: dict[str, Any]) -> None:
        hunks = page["hunks"]
        texts = ["\n".join([*hunk["lines"], hunk["before"], hunk["after"]]) for hunk in hunks]
        for edit in edits:
            self.counts["places told"] += bool(edit.needle) and any(
                edit.needle in text for text in texts
            )
            if edit.needle and not any(edit.needle in text for text in texts):
                self.faults.append(
                    f"night {number}: {edit.needle!r} is not told of {edit.path}: {texts}"
                )
            if edit.moved_from and self._short(page["moved_from"] or "") != self._short(
                edit.moved_from
            ):
                self.faults.append(
                    f"night {number}: {edit.path} was {edit.moved_from}, told {page['moved_from']}"
                )
        if len(hunks) > len(edits):
            extra = [
                text
                for text in texts
                if not any(edit.needle and edit.needle in text for edit in edits)
            ]
            if extra:
                self.faults.append(f"night {number}: told of {page['url']} too: {extra}")


def main() -> None:
    """Run and print; exit code 1 where anything was not told, or told and not done."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--base", default="", help="path of the site on its host, such as /docs")
    parser.add_argument("--origin", action="append", default=[], help="address that its files name")
    parser.add_argument("--nights", type=int, default=14)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    files = (
        read(options.folder, options.base, options.origin)
        if options.folder
        else made_up(options.seed)
    )
    folder = Path(tempfile.mkdtemp(prefix="news-"))
    edited = Edited(files, options.base, options.seed)
    print(f"{len(files)} files, {len(edited.pages)} pages that may be edited")
    try:
        with serving(edited.site), serving(Site({"/hook": "ok"})) as hook:
            nights = Nights(edited, folder, hook)
            for number in range(options.nights + 1):
                nights.night(number)
    finally:
        shutil.rmtree(folder)
    print(dict(nights.counts), f"faults {len(nights.faults)}", sep="\n")
    raise SystemExit(bool(nights.faults))


if __name__ == "__main__":
    main()
