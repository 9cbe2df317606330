"""How faithful is the Markdown: pages whose true Markdown is known, scored per engine.

    python benchmarks/fidelity.py FOLDER [FOLDER …] [--engine NAME] [--worst N] [--json FILE]

FOLDER holds pairs: `page.html` beside `page.md`, `page.html.md`, or `dir/index.html` beside `dir/index.md` or
`dir.md`. Without a folder the pairs in tests/fixtures/fidelity are used.

Both Markdown texts are read by the same CommonMark + tables parser. Every score is an F1 over multisets
(harmonic mean of what is found and what is right), summed over the pages of a folder:

headings   (level, text)            cells   text of table cells        tokens  words of the whole text
code       exact text of blocks     items   text of list items
language   tag of the blocks found  links   URL without its form       (language and title are accuracies)
title      of the front matter, else the first heading of level 1, else the first heading

`signs` counts permalink signs, `nav` pages with links that stand only in the navigation of the HTML.
Peers are measured where they are installed; they are no requirement of the project.
"""

# ruff: noqa: PLC0415 (a peer is imported only where it is measured)

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from lxml import html as lxml_html
from markdown_it import MarkdownIt
from markdown_it.token import Token

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

METRICS = ("tokens", "headings", "code", "language", "cells", "items", "links", "title")
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
PARSER.validateLink = lambda url: True
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
TITLE = re.compile(r"^title:[ \t]*(\S.*)$", re.MULTILINE)
WORD = re.compile(r"\w+")
SIGNS = re.compile(r"[¶🔗\uf0c1]|\[#\]\(|\[\u200b\]\(")
HTML_LINK = re.compile(r"<a\s[^<>]*?href\s*=\s*[\"']([^\"']+)[\"']")
TAG = re.compile(r"<[^<>]*>")
NAVIGATION = (
    "//nav//a | //*[@role='navigation']//a | //*[contains(@class,'sidebar')]//a | //body/footer//a"
)


@dataclass
class Facts:
    """What one Markdown text holds."""

    tokens: Counter[str] = field(default_factory=Counter)
    headings: Counter[tuple[str, str]] = field(default_factory=Counter)
    code: Counter[str] = field(default_factory=Counter)
    language: dict[str, str] = field(default_factory=dict)
    cells: Counter[str] = field(default_factory=Counter)
    items: Counter[str] = field(default_factory=Counter)
    links: Counter[str] = field(default_factory=Counter)
    link_texts: set[str] = field(default_factory=set)
    title: str = ""
    signs: int = 0


def facts_of(markdown: str, url: str) -> Facts:
    """Parse `markdown`, a page at `url`, into its facts."""
    facts = Facts()
    front = FRONT_MATTER.match(markdown.replace("\r\n", "\n"))
    text = markdown.replace("\r\n", "\n")[front.end() if front else 0 :]
    tokens = PARSER.parse(text)
    stack: list[str] = []
    item_starts: list[bool] = []
    for index, token in enumerate(tokens):
        if token.type in {"fence", "code_block"}:
            code = token.content.rstrip("\n")
            facts.code[code] += 1
            facts.language[code] = token.info.strip().split(" ")[0].strip("{.}").lower()
            facts.tokens.update(WORD.findall(token.content))
        elif token.type == "html_block":
            read_html(token.content, url, facts)
        elif token.type == "inline":
            words = plain(token.children or [])
            facts.tokens.update(WORD.findall(words))
            facts.signs += (
                len(SIGNS.findall(token.content)) if tokens[index - 1].type == "heading_open" else 0
            )
            read_links(token.children or [], url, facts)
            kind = tokens[index - 1]
            if kind.type == "heading_open":
                facts.headings[kind.tag, squash(words)] += 1
            elif kind.type in {"td_open", "th_open"}:
                facts.cells[squash(words)] += bool(squash(words))
            elif item_starts and item_starts[-1]:
                facts.items[squash(words)] += 1
                item_starts[-1] = False
        if token.type == "list_item_open":
            item_starts.append(True)
        elif token.type == "list_item_close":
            item_starts.pop()
    del stack
    named = TITLE.search(front[0]) if front else None
    first = next(
        (text for level, text in facts.headings if level == "h1"),
        next(iter(facts.headings), ("", ""))[1],
    )
    facts.title = squash(named[1]).strip("\"'") if named else first
    return facts


def read_html(block: str, url: str, facts: Facts) -> None:
    """Add the words, links and table cells of an HTML block."""
    facts.tokens.update(WORD.findall(TAG.sub(" ", block)))
    for found in HTML_LINK.findall(block):
        facts.links[page_form(urljoin(url, found))] += 1
    if "<td" in block or "<th" in block:
        for cell in lxml_html.fromstring(block).iter("td", "th"):
            text = squash(cell.text_content())
            facts.cells[text] += bool(text)


def plain(children: list[Token]) -> str:
    """Return the visible text of inline tokens."""
    parts = []
    for token in children:
        if token.type in {"text", "code_inline"}:
            parts.append(token.content)
        elif token.type in {"softbreak", "hardbreak"} or (
            token.type == "html_inline" and token.content.startswith("<br")
        ):
            parts.append(" ")
        elif token.type == "image":
            parts.append(token.content)
    return "".join(parts)


def squash(text: str) -> str:
    """Collapse white space; drop what emphasis and quotes a generator restyles."""
    return " ".join(
        text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"').split()
    ).strip()


def read_links(children: list[Token], url: str, facts: Facts) -> None:
    """Add the links of inline tokens: URL compared without `.md`/`.html`, index names and trailing slash."""
    for index, token in enumerate(children):
        if token.type == "html_inline":
            for target in HTML_LINK.findall(token.content):
                facts.links[page_form(urljoin(url, target))] += 1
        elif token.type == "link_open":
            target = str(token.attrGet("href") or "")
            if not target.startswith(("mailto:", "tel:")):
                facts.links[page_form(urljoin(url, target))] += 1
                end = next(
                    (at for at in range(index, len(children)) if children[at].type == "link_close"),
                    index,
                )
                facts.link_texts.add(squash(plain(children[index:end])))


def page_form(url: str) -> str:
    """Return a URL in a form that a page and its Markdown twin share."""
    parts = urlsplit(url)
    path = re.sub(r"(?:\.html)?\.mdx?$|\.html?$", "", unquote(parts.path))
    path = re.sub(r"/(?:index|README)$", "/", path).rstrip("/")
    return f"{parts.netloc.lower()}{path}?{parts.query}#{unquote(parts.fragment)}"


@dataclass
class Score:
    """Sums over pages."""

    hit: Counter[str] = field(default_factory=Counter)
    got: Counter[str] = field(default_factory=Counter)
    want: Counter[str] = field(default_factory=Counter)
    pages: int = 0
    signs: int = 0
    nav: int = 0
    seconds: float = 0.0
    failed: int = 0

    def add(self, truth: Facts, ours: Facts) -> None:
        """Add one page."""
        self.pages += 1
        for name in ("tokens", "headings", "code", "cells", "items", "links"):
            want, got = getattr(truth, name), getattr(ours, name)
            self.hit[name] += (want & got).total()
            self.got[name] += got.total()
            self.want[name] += want.total()
        for code in truth.code.keys() & ours.code.keys():
            if truth.language[code]:
                self.want["language"] += 1
                self.got["language"] += 1
                self.hit["language"] += same_language(truth.language[code], ours.language[code])
        if truth.title:
            self.want["title"] += 1
            self.got["title"] += 1
            self.hit["title"] += truth.title.casefold() == ours.title.casefold()
        self.signs += max(0, ours.signs - truth.signs)

    def merge(self, other: Score) -> None:
        """Add the sums of another score."""
        self.hit += other.hit
        self.got += other.got
        self.want += other.want
        for name in ("pages", "signs", "nav", "seconds", "failed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def f1(self, name: str) -> float | None:
        """Return the F1 of a metric, or None where the truth has none of it and neither has the engine."""
        total = self.got[name] + self.want[name]
        return 2 * self.hit[name] / total if self.want[name] else (None if not total else 0.0)


SAME = {
    "py": "python",
    "python3": "python",
    "pycon": "python",
    "js": "javascript",
    "ts": "typescript",
    "sh": "bash",
    "shell": "bash",
    "console": "bash",
    "yml": "yaml",
    "rs": "rust",
    "c++": "cpp",
    "golang": "go",
    "md": "markdown",
    "docker": "dockerfile",
}


def same_language(one: str, other: str) -> bool:
    """Compare two language tags; `rust,ignore` is rust."""
    one, other = (re.split(r"[,{:\s]", tag)[0] for tag in (one, other))
    return SAME.get(one, one) == SAME.get(other, other)


Engine = Callable[[bytes, str], str]


def engines() -> dict[str, Engine]:
    """Return the engines that can be imported, ours first."""
    found: dict[str, Engine] = {}
    for name, factory in FACTORIES.items():
        try:
            found[name] = factory()
        except ImportError:
            continue
    return found


def _ours(converter: str) -> Callable[[], Engine]:
    def factory() -> Engine:
        from llmsspider.content.extraction import convert

        return lambda body, url: convert(body, url, "utf-8", converter).markdown

    return factory


def _trafilatura() -> Engine:
    import trafilatura

    return lambda body, url: (
        trafilatura.extract(
            body.decode("utf-8", "replace"),
            url=url,
            output_format="markdown",
            include_links=True,
            include_tables=True,
            include_images=True,
            include_formatting=True,
            favor_recall=True,
        )
        or ""
    )


def _readability() -> Engine:
    from markdownify import markdownify
    from readability import Document

    return lambda body, url: markdownify(
        Document(body.decode("utf-8", "replace"), url=url).summary(), heading_style="ATX"
    )


def _html2text() -> Engine:
    import html2text

    def run(body: bytes, url: str) -> str:
        handler = html2text.HTML2Text(baseurl=url, bodywidth=0)
        return str(handler.handle(body.decode("utf-8", "replace")))

    return run


def _markitdown() -> Engine:
    import io

    from markitdown import MarkItDown, StreamInfo

    converter = MarkItDown()
    info = StreamInfo(mimetype="text/html", extension=".html", charset="utf-8")
    return lambda body, url: (
        converter.convert_stream(io.BytesIO(body), stream_info=info).text_content
    )


def _crawl4ai() -> Engine:
    from crawl4ai.content_filter_strategy import PruningContentFilter
    from crawl4ai.markdown_generation_strategy import DefaultMarkdownGenerator

    generator = DefaultMarkdownGenerator(
        content_filter=PruningContentFilter(), options={"body_width": 0}
    )

    def run(body: bytes, url: str) -> str:
        result = generator.generate_markdown(
            body.decode("utf-8", "replace"), base_url=url, citations=False
        )
        return str(result.fit_markdown or result.raw_markdown)

    return run


FACTORIES: dict[str, Callable[[], Engine]] = {
    "llmsspider": _ours("native"),
    "llmsspider markdownify": _ours("markdownify"),
    "trafilatura": _trafilatura,
    "readability + markdownify": _readability,
    "html2text": _html2text,
    "markitdown": _markitdown,
    "crawl4ai": _crawl4ai,
}


def pairs_in(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield `(html, markdown)` files of a folder of pairs or a built site with twins."""
    for page in sorted(folder.rglob("*.html")):
        for twin in (
            page.with_suffix(".md"),
            page.with_name(page.name + ".md"),
            page.parent.with_suffix(".md"),
        ):
            if twin.is_file() and not (
                twin == page.parent.with_suffix(".md") and page.name != "index.html"
            ):
                yield page, twin
                break


CANONICAL = re.compile(rb"<link[^>]+rel=[\"']?canonical[\"']?[^>]*href=[\"']?([^\"'\s>]+)")


def url_of(page: Path, folder: Path, body: bytes, base: str = "https://example.com") -> str:
    """Return the page's canonical URL, else one below `base` with its path."""
    found = CANONICAL.search(body)
    return found.group(1).decode() if found else f"{base}/{page.relative_to(folder)}"


def navigation_texts(body: bytes) -> set[str]:
    """Return the link texts that stand in navigation elements of the page."""
    root = lxml_html.document_fromstring(body)
    return {squash(link.text_content()) for link in root.xpath(NAVIGATION)} - {""}


def measure(
    folder: Path, engine: Engine, base: str, worst: list[tuple[float, str]] | None = None
) -> Score:
    """Score one engine over the pairs of one folder."""
    total = Score()
    for page, twin in pairs_in(folder):
        body, truth_text = page.read_bytes(), twin.read_text("utf-8")
        url = url_of(page, folder, body, base)
        started = time.process_time()
        try:
            output = engine(body, url)
        except Exception as error:  # a peer's crash is its score
            output = ""
            total.failed += 1
            sys.stderr.write(f"{page}: {error!r}\n")
        total.seconds += time.process_time() - started
        truth, ours = facts_of(truth_text, url), facts_of(output, url)
        score = Score()
        score.add(truth, ours)
        leaked = (ours.link_texts - truth.link_texts) & navigation_texts(body)
        score.nav = int(len(leaked - set(truth.tokens)) >= 3)
        total.merge(score)
        if worst is not None:
            for name in METRICS:
                value = score.f1(name)
                if value is not None and value < 0.98:
                    worst.append((value, f"{name:9} {value:.3f} {page.relative_to(folder)}"))
    return total


def table(results: dict[str, Score]) -> str:
    """Return the results of one folder as a Markdown table."""
    lines = [
        "| engine | " + " | ".join(METRICS) + " | signs | nav | pages/CPU s |",
        "|" + " --- |" * (len(METRICS) + 4),
    ]
    for name, score in results.items():
        cells = [
            "–" if (value := score.f1(metric)) is None else f"{value:.3f}" for metric in METRICS
        ]
        rate = score.pages / score.seconds if score.seconds else 0
        lines.append(
            f"| {name} | " + " | ".join(cells) + f" | {score.signs} | {score.nav} | {rate:.0f} |"
        )
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; see the module's docstring."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folders", nargs="*", type=Path, default=[HERE.parent / "tests" / "fixtures" / "fidelity"]
    )
    parser.add_argument("--engine", action="append", help="only this engine (may be repeated)")
    parser.add_argument(
        "--base",
        default="https://example.com",
        help="where the site lies, for pages without canonical URL",
    )
    parser.add_argument(
        "--worst", type=int, default=0, help="list the N worst pages of the first engine"
    )
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    options = parser.parse_args(argv)
    chosen = {
        name: engine
        for name, engine in engines().items()
        if not options.engine or name in options.engine
    }
    figures: dict[str, dict[str, dict[str, float | None]]] = {}
    for folder in options.folders:
        worst: list[tuple[float, str]] = []
        results = {
            name: measure(folder, engine, options.base.rstrip("/"), worst if index == 0 else None)
            for index, (name, engine) in enumerate(chosen.items())
        }
        count = next(iter(results.values())).pages
        print(f"\n### {folder.name} ({count} pairs)\n\n{table(results)}", flush=True)
        for _, line in sorted(worst)[: options.worst]:
            print("   ", line)
        figures[folder.name] = {
            name: {m: score.f1(m) for m in METRICS} for name, score in results.items()
        }
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
