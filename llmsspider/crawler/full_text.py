"""Pages of full-text files: their own text, and which files are believed. No Scrapy.

A file may be built by another job than the pages, two builds late, or say less than they do. Each
crawl requests a few of its pages and compares them (`content/judge.py`). The pages of a file that
is not believed are crawled, and it is used only for those that are not found.
"""

import hashlib
import html
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from urllib.parse import urlsplit

from llmsspider.content.conversion import ConversionPool
from llmsspider.content.judge import Compared
from llmsspider.content.links import Joiner, without_built_names
from llmsspider.crawler.addresses import Addresses
from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.known_pages import KnownPages
from llmsspider.crawler.report import Reporter
from llmsspider.crawler.second_requests import NIGHTLY, SAMPLES, FormSamples
from llmsspider.crawler.site import SiteKnowledge
from llmsspider.crawler.source_memory import SourceMemory
from llmsspider.crawler.uses import UsesRun
from llmsspider.errors import ConversionError
from llmsspider.items import Page
from llmsspider.site import llmsfull
from llmsspider.site.discovered import Discovery, Fetch, FullText
from llmsspider.site.llmsfull import FullPage, SplitReport
from llmsspider.site.llmsfull_marks import HEADING
from llmsspider.site.llmsfull_rules import normal_title
from llmsspider.web.urls import last_segment, loose_key, page_key


def own_text(text: str) -> str:
    r"""Return the text of a page without what generators put above it: its title, where it has that
    itself.

    >>> own_text("# Use\n\n\n## Use\n\nText.\n"), own_text("# Use\n\n## Users\n")
    ('# Use\n\nText.\n', '# Use\n\n## Users\n')
    """
    first, _, below = text.lstrip("\n").partition("\n")
    second, _, rest = below.lstrip("\n").partition("\n")
    titles = [HEADING.match(line) for line in (first, second)]
    is_repeated = (
        titles[0] and titles[1] and normal_title(titles[0][2]) == normal_title(titles[1][2]) != ""
    )
    return f"{first}\n\n{rest.lstrip(chr(10))}" if is_repeated else text


# --- which files are believed: a few of their pages are compared with those of the site ---

Compare = Callable[[str, Page], Awaitable[Compared | None]]
"""Compares the text of a page with its HTML as that is now; None where there is none."""

_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>|<!--[^<>]*-->")
_DESTINATION = re.compile(r"\]\([^()\s]*\)")
_WORD = re.compile(r"[^\W_]+")


MISNAMED_SAMPLES = 3
"""Maximum number of addresses of a file that are requested as they may be none."""


class FullTextFiles(UsesRun):
    """Judges the full-text files of a site by a few of their pages."""

    addresses: Addresses
    bounds: Bounds
    known: KnownPages
    memory: SourceMemory
    report: Reporter
    site: SiteKnowledge
    workers: ConversionPool

    async def judge(self, compare: Compare, discovery: Discovery) -> None:
        """Compare a few pages of each full-text file with the site; say and count what is not
        believed, or again.
        """
        room = NIGHTLY
        for full_text in discovery.full_texts:
            if full_text.report is not None and full_text.is_usable:
                samples = self.site.judged.of("full text", full_text.url)
                is_new = not (samples.good or samples.worse)
                asked = self._asked(full_text.report.urls, samples, SAMPLES if is_new else room)
                room -= len(asked)
                held = self._held(full_text, full_text.report, asked)
                self._tell(full_text.url, samples, await self._compared(held, compare))

    def _asked(self, urls: Sequence[str], samples: FormSamples, most: int) -> list[str]:
        """Return the pages of a file to look at."""
        pages = [
            page for page in map(self.addresses.page_of, urls) if self._is_of_file(page, samples)
        ]
        before = self.memory.run_before() if samples.is_html else None
        edited = self.known.stored.changes_since(before.seq_before) if before is not None else ()
        # these show whether it comes in time
        first = [*samples.again, *(page.record.url for page in edited)]
        return chosen(pages, first, self.known.number, most)

    def _held(self, full_text: FullText, report: SplitReport, asked: list[str]) -> dict[str, str]:
        """Return the first text that a file holds of each page."""
        held: dict[str, str] = {}
        with full_text.answer.open() as body:
            for piece in llmsfull.cut(body, report) if asked else ():
                if isinstance(piece, FullPage) and piece.url:
                    url = self.addresses.page_of(piece.url)
                    if url in asked:
                        held.setdefault(url, piece.text)
        return held

    async def _compared(self, held: dict[str, str], compare: Compare) -> dict[str, Compared]:
        found: dict[str, Compared] = {}
        drafts = await self.workers.read_texts([*held.values()])
        for url, drafted in zip(held, drafts, strict=True):
            self.report.count("full-text/samples")
            if not isinstance(drafted, ConversionError):
                compared = await compare(url, drafted.page(Joiner(url).join))
                if compared is not None:  # what its links are relative to is not known yet
                    found[url] = compared._replace(lost=compared.lost - {"links"})
        return found

    def _tell(self, file: str, samples: FormSamples, found: dict[str, Compared]) -> None:
        """Take in what a file lacks; say and count what that changes."""
        was = bool(samples.is_html)
        samples.report_all(found)
        if samples.is_html is not was and (was or samples.is_html):
            self.report.count("full-text/lagging", samples.is_html is True)
            then = "its pages are crawled, and it stands in for those only that are not there"
            self.report.note(
                f"{file} {samples.evidence}: {'it is believed again' if was else then}"
            )

    async def misnamed(self, fetch: Fetch, discovery: Discovery) -> dict[str, str]:
        """Return the full-text files that name their pages by addresses which are not found, where
        the stored ones of the same names are, and why in words: their base is wrong.
        """
        found = {}
        for full_text in discovery.full_texts:
            urls = full_text.report.urls if full_text.report and full_text.is_usable else ()
            pairs = list(islice(self._renamed(urls), MISNAMED_SAMPLES))
            if pairs and await _all_misnamed(fetch, pairs):
                found[full_text.url] = f"{pairs[0][0]} is not found, {pairs[0][1]} is"
        return found

    def _renamed(self, urls: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield new addresses of a file, each with the stored one of the same name that it lacks."""
        held = {page_key(self.addresses.page_of(url)): url for url in urls}
        stored = {
            last_segment(state.url): state.url
            for key, state in self.known.states.items()
            if key not in held and not state.is_part
        }
        for key, url in held.items():
            before = stored.get(last_segment(url))
            if before is not None and self.known.state(key) is None:
                yield url, before

    def _is_of_file(self, url: str, samples: FormSamples) -> bool:
        """Say whether a page is taken from a file that holds it, or would be if the file were
        believed.
        """
        state = self.known.at(url)
        is_free = state is None or samples.is_html or state.origin == "llms-full"
        return is_free and self.bounds.refusal(url, listed=True) is None


async def _all_misnamed(fetch: Fetch, pairs: Sequence[tuple[str, str]]) -> bool:
    for url, stored in pairs:
        if (await fetch(url)).error != "not_found" or not (await fetch(stored)).ok:
            return False
    return True


def chosen(pages: Sequence[str], first: Sequence[str], number: int, most: int) -> list[str]:
    """Return so many pages to look at in the run of this number, of few pages one: `first` ones,
    then others in turn.

    >>> chosen(["a", "b", "c", "d"], [], 1, 2) != chosen(["a", "b", "c", "d"], [], 2, 2)
    True
    """
    paths = {url: urlsplit(url).path.encode("utf-8", "surrogatepass") for url in pages}
    order = sorted(paths, key=lambda url: hashlib.sha256(paths[url]).digest())
    turn = [order[(number * most + place) % len(order)] for place in range(most)] if order else []
    return list(dict.fromkeys([*(url for url in first if url in paths), *turn]))[
        : min(most, max(1, len(pages) // 4))
    ]


def title_words(markdown: str) -> str:
    r"""Return the words of the title that stands in a text, empty where none does.

    >>> title_words("# What's *new*?\n\nText.\n"), title_words("Text.\n")
    ('what s new', '')
    """
    title = next((line for line in own_text(markdown).split("\n") if line.startswith("# ")), "")
    return normal_title(_DESTINATION.sub("]", title))


_FENCED = re.compile(
    r"^[> \t]*+(`{3,}+|~{3,}+)([^\n]*+)\n(.*?)(?:^[> \t]*+\1[`~]*+[ \t]*+$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_NAMED = re.compile(r"""\b(?:title|label)=["']([^"'\n]*)["']""")
"""How code, tabs and cards are named in Markdown; a page shows it as text."""
_MARK = re.compile(r"^([> \t]*)(?::{3,}|[!?]{3}\+?|\[!(?=\w))[ \t]*[\w-]*\]?[+-]?", re.MULTILINE)
_LABEL = re.compile(
    r"^[> \t]*+[*_]{0,3}+(?:note|info|tip|hint|warning|caution|danger|important|attention)[*_]{0,3}+"
    r"(?::[*_]{0,3}+[ \t]|:?[*_]{0,3}+[ \t]*+$)",
    re.IGNORECASE | re.MULTILINE,
)
"""The label of an admonition: forms write it in words, as a mark, or not at all."""
_SIGN = re.compile(r"[^\W_]+|[^\w\s]")
_QUOTE = re.compile(r"^[> \t]+", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\[\]\n]*\]\((https?://[^()\s#?]+)")


def says_the_same(one: str, other: str, *, titles: bool = False, links: bool = False) -> bool:
    r"""Say whether two forms of a page say the same: the same words in the same order, though one
    may lack the title, or have a longer one or a heading in its place, and labels of admonitions.
    Signs of code count where both have as many blocks of it: a form may have lost them.

    Where forms are known to have the same, `titles` have to be equal, and `links` that are as many
    to lead to the same pages.

    >>> says_the_same("## Install\n\n> [!INFO]\n> Run it.\n", "# Install\n\n**Info**\n\nRun it.\n")
    True
    >>> says_the_same("# Install\n\nRun it.\n", "# Install\n\nRun it twice.\n")
    False
    """
    title, title_of_other = (title_words(text).split() for text in (one, other))
    if titles and title and title_of_other and title != title_of_other:
        return False
    if not (set(title) <= set(title_of_other) or set(title_of_other) <= set(title)):
        return False
    if links and _lead_elsewhere(one, other):
        return False
    signs = len(_FENCED.findall(one)) == len(_FENCED.findall(other))
    of_one, of_other = (
        [words_of(text, with_title=with_title, signs=signs) for with_title in (False, True)]
        for text in (one, other)
    )
    return any(words in of_other for words in of_one)


def _lead_elsewhere(one: str, other: str) -> bool:
    """Say whether the links of two texts are as many, and do not lead to the same pages."""
    links = [_LINK.findall(without_built_names(text)) for text in (one, other)]
    pages = [sorted(loose_key(url.removesuffix(".md")) for url in urls) for urls in links]
    return len(pages[0]) == len(pages[1]) and pages[0] != pages[1]


def words_of(markdown: str, *, with_title: bool = False, signs: bool = True) -> list[str]:
    r"""Return the words that a reader sees, whatever Markdown is around them, and with `signs`
    those of code; without the title unless it is wanted, and without the labels of admonitions.

    >>> words_of("# A\n\nSee [the *b*](/x) &amp; `c\\_d`.\n")
    ['see', 'the', 'b', 'c', 'd']
    >>> words_of("!!! note \"Mind\"\n\n```js title=\"a.js\"\nX = 1\n```\n")
    ['mind', 'a', 'js', 'X', '=', '1']
    """
    text = own_text(markdown)
    title = next((line for line in text.split("\n") if line.startswith("# ")), "")
    parts = _FENCED.split(text if with_title else text.replace(title, "", 1))
    words = _words(parts[0])
    for info, code, after in zip(parts[2::4], parts[3::4], parts[4::4], strict=True):
        words += _words(" ".join(_NAMED.findall(info)))
        words += _SIGN.findall(_QUOTE.sub("", code)) if signs else _words(code)
        words += _words(after)
    return words


def _words(text: str) -> list[str]:
    text = _LABEL.sub("", _MARK.sub(r"\1", text))
    text = _TAG.sub(lambda tag: f" {' '.join(_NAMED.findall(tag[0]))} ", text)
    text = html.unescape(_DESTINATION.sub("]", text))
    return [word.lower() for word in _WORD.findall(text)]
