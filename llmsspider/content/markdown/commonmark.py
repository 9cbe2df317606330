"""The parser of CommonMark (pyromark); the languages of code blocks; characters that no reader
sees, and letters.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from pyromark import Markdown, Options

from llmsspider.errors import ConversionError
from llmsspider.items import Link, Page
from llmsspider.web.loading import shipped_table
from llmsspider.web.text import valid_text
from llmsspider.web.urls import forward_slashes

_PARSER = Markdown(options=Options.ENABLE_TABLES | Options.ENABLE_FOOTNOTES)
_PLAIN = re.compile(
    r"(?:https?://[\w.-]+(?::\d+)?(?=[/?#]|\Z))?(?!//)"
    r"[\w./?=&~+,;!$*'()-]*(?:#[\w./?=&:~+,;!$*'()-]*)?\Z",
    re.ASCII,
)
"""What encoding leaves as it is; nearly every link of documentation."""


def events(text: str) -> Iterator[Any]:
    """Yield what is in a text (`valid_text`): `{"Start": "Paragraph"}`, `{"Text": "a"}`,
    `"SoftBreak"`; raises `ConversionError`.
    """
    with _panics():
        yield from _PARSER.events(text, merge_text=True)


def events_with_range(text: str) -> Iterator[tuple[Any, Any]]:
    """Yield the events of a text, each with its place in the text in UTF-8; raises
    `ConversionError`.
    """
    with _panics():
        yield from _PARSER.events_with_range(text, merge_text=True)


_BY_ITS_TEXT = {"Autolink", "Email", "Shortcut", "Collapsed"}
"""The links whose text is also their target, or names it."""


def map_prose(text: str, change: Callable[[str], str]) -> str:
    r"""Return a text with its prose changed, piece by piece: code, HTML, addresses and link targets
    stay.

    >>> map_prose("an `apple`\n\n    an apple\n\n[an apple](an.html)", str.upper)
    'AN `apple`\n\n    an apple\n\n[AN APPLE](an.html)'
    """
    source = valid_text(text).encode()
    pieces = []
    done = 0
    for event, place in events_with_range(source.decode()):
        if not isinstance(event, dict) or place["start"] < done:
            continue
        start = event.get("Start")
        start = start if isinstance(start, dict) else {}
        link = start.get("Link") or start.get("Image") or {}
        if "CodeBlock" in start or link.get("link_type") in _BY_ITS_TEXT:
            pieces.append(source[done : place["end"]].decode())
            done = place["end"]
        elif "Text" in event:
            piece = source[place["start"] : place["end"]].decode()
            pieces += [source[done : place["start"]].decode(), change(piece)]
            done = place["end"]
    return "".join(pieces) + source[done:].decode()


def definitions(text: str) -> dict[str, Any]:
    """Return the definitions of references by label, each with `dest`, `title`, `span`, in the
    order of the text.
    """
    with _panics():
        found: dict[str, Any] = _PARSER.reference_definitions(text) if "]:" in text else {}
    return dict(sorted(found.items(), key=lambda item: item[1]["span"]["start"]))


@contextlib.contextmanager
def _panics() -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # what Rust makes of a bug of its own; no Exception
        if type(error).__name__ == "PanicException":
            raise ConversionError(f"the Markdown parser failed: {error}") from None
        raise


def encoded(destination: str) -> str:
    """Return a destination percent-encoded, its host in ASCII (markdown-it's `normalizeLink`); the
    backslashes of a Windows path are slashes.

    >>> encoded("guide/install.md#linux"), encoded("guide/größe.md")
    ('guide/install.md#linux', 'guide/gr%C3%B6%C3%9Fe.md')
    """
    if _PLAIN.match(destination):
        return destination
    from markdown_it.common.normalize_url import normalizeLink  # noqa: PLC0415

    return normalizeLink(forward_slashes(destination))


def heading_text(text: str) -> str:
    r"""Return the text of a heading as it is read: without marks, link targets, HTML, and the id it
    may end with.

    >>> heading_text(r"The [`run()`](/api.md) \_method\_ {#run .api}"), heading_text("C#")
    ('The run() _method_', 'C#')
    """
    before, mark, attributes = text.rstrip().rpartition("{")
    if (
        mark
        and attributes.endswith("}")
        and any(part[0] == "#" for part in attributes[:-1].split())
    ):
        text = before
    if not _UNMARKED.match(text):
        text = "".join(
            " " if event == "SoftBreak" else event.get("Text") or event.get("Code") or ""
            for event in events(f"# {valid_text(text)}")
            if isinstance(event, dict) or event == "SoftBreak"
        )
    return " ".join(text.split())


_UNMARKED = re.compile(r"[^\\`*_\[\]<>&]*\Z")
_BACKTICKS = re.compile(r"`{3,}")


def code_block(text: str, language: str = "") -> str:
    r"""Return a fenced code block; the fence is longer than any run of backticks in the text.

    >>> code_block("x", "py"), code_block("```\n````")
    ('```py\nx\n```', '`````\n```\n````\n`````')
    """
    fence = fence_for(text)
    return f"{fence}{language}\n{text}\n{fence}"


def fence_for(text: str) -> str:
    """Return the fence of a code block of this text: three backticks, or one more than any run of
    them in it.
    """
    return "```" if "```" not in text else "`" * (max(map(len, _BACKTICKS.findall(text))) + 1)


def with_line_feeds(text: str) -> str:
    r"""Return a text with every line end as `\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


# The languages of the code blocks in a Markdown text, one name for each.

MAX_LANGUAGES = 50
"""Languages of one text that are named."""

_FENCE = re.compile(
    r"((?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*+)["
    r" \t]*(`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})([^\n]*)"
)
"""A line that may begin or end a block, in lists and quotes too (CommonMark, 4.5): what stands
around the mark.
"""
_LANGUAGE = re.compile(r"(?:lang(?:uage)?-)?([^\W\d_][\w+#.-]{0,30}|[12]c)(?=[\s,:;{(\[=]|\Z)")
_BRACES = re.compile(r"\{\s*(\.?)([\w+#-]{1,40})[^{}]*\}\s*(.*)")
_DIRECTIVES = frozenset(
    {"code-block", "code", "code-cell", "sourcecode", "literalinclude", "prompt"}
)
_NONE = re.compile(
    "text|txt|plain|plaintext|plain-text|none|no-highlight|nohighlight|default|output|raw|code|null|undefined|auto|"
    "unknown|other"
)

_NAMES = shipped_table("llmsspider.content.markdown", "code_languages")
_ONE_NAME = {word: name for name, words in _NAMES.items() for word in (name, *words.split())}


def normalised(word: str) -> str:
    """Return the one name of a language, '' for a word that names none; a word that is not known is
    its own name.

    >>> normalised("sh"), normalised("JS"), normalised("text"), normalised("brainfuck")
    ('shell', 'javascript', '', 'brainfuck')
    """
    name = word.lower()
    name = _ONE_NAME.get(name) or _ONE_NAME.get(name.replace("_", "-"), name)
    return "" if _NONE.fullmatch(name) else name


def code_languages(markdown: str) -> list[str]:
    r"""Return the languages of the fenced code blocks of a text, each once under one name, in the
    order of the text.

    >>> code_languages("```sh\nls\n```\n\n> ~~~ {.js .wide}\n> 1\n> ~~~\n\n```bash\nls\n```\n")
    ['shell', 'javascript']
    """
    return list(_languages(markdown))


@lru_cache(4)  # a page is asked when its item is made and again when it is stored
def _languages(markdown: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    fence = ""
    for before, mark, info in _fences(markdown):
        if fence:
            if mark.startswith(fence) and not info and not before.strip("> \t"):
                fence = ""
            continue
        fence = mark
        if info and (name := normalised(_word_of(info))):
            found[name] = None
            if len(found) == MAX_LANGUAGES:
                break
    return tuple(found)


def _fences(markdown: str) -> Iterator[tuple[str, str, str]]:
    """Yield the lines that may begin or end a block: what stands before the mark, the mark, what
    stands behind it.
    """
    backticks = markdown.find("```")
    tildes = markdown.find("~~~")
    while places := [place for place in (backticks, tildes) if place >= 0]:
        place = min(places)
        line = _FENCE.match(markdown, markdown.rfind("\n", 0, place) + 1)
        if line is not None:
            yield line[1], line[2], line[3].strip()
        end = markdown.find("\n", place)
        end = len(markdown) if end < 0 else end
        backticks = markdown.find("```", end) if 0 <= backticks < end else backticks
        tildes = markdown.find("~~~", end) if 0 <= tildes < end else tildes


@lru_cache(1024)
def _word_of(info: str) -> str:
    """Return the word of an info string that names the language: of CommonMark, Pandoc, knitr or
    MyST.
    """
    braces = _BRACES.match(info)
    if braces is None:
        word = _LANGUAGE.match(info)
        return word[1].rstrip(".") if word else ""
    dot, name, rest = braces.groups()
    if dot or name.lower() in _ONE_NAME:
        return str(name)
    return _word_of(rest) if name in _DIRECTIVES and not rest.startswith("{") else ""


# Characters that no reader sees and a model does: Unicode tags, runs of zero-width characters.

_TAG = "\U000e0000-\U000e007f"
_ZERO_WIDTH = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_VARIATION = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_MAYBE = re.compile(f"[{_TAG}]|[{_ZERO_WIDTH}][{_ZERO_WIDTH}]|[{_VARIATION}][{_VARIATION}]")
_INVISIBLE = re.compile(
    # the flags of England, Scotland, Wales, Texas stay
    f"(?<=\U0001f3f4)[{_TAG}]{{2,7}}(?=[^{_TAG}]|\\Z)"
    f"|([{_TAG}]+|[{_ZERO_WIDTH}]{{2,}}|[{_VARIATION}]{{2,}})"
)
_ANY = re.compile(f"[{_TAG}{_ZERO_WIDTH}{_VARIATION}]")
_ASCII = bytes(range(128))
_FLAG_END = "\U000e007f"


def without_invisible(text: str) -> tuple[str, int]:
    r"""Return a Markdown text without invisible runs outside code, and how many there were.

    Single joiners, direction marks, soft hyphens and variation selectors stay: scripts and emoji
    need them.

    >>> without_invisible("a\U000e0041\U000e0042b `\u200b\u200b` \u200b\u200c")
    ('ab `\u200b\u200b` ', 2)
    """
    if text.isascii():
        return text, 0
    # to look only at what is not ASCII takes a twentieth of the time of a search in all of the text
    others = (
        text.encode(errors="surrogatepass").translate(None, _ASCII).decode(errors="surrogatepass")
    )
    if not _ANY.search(others) or not _MAYBE.search(text):
        return text, 0
    text = valid_text(text)
    source = text.encode()
    pieces: list[str] = []
    position = removed = 0
    code = [
        (span["start"], span["end"])
        for event, span in events_with_range(text)
        if isinstance(event, dict) and ("Code" in event or "CodeBlock" in event.get("Start", ""))
    ]
    for start, end in [*code, (len(source), len(source))]:
        if start < position:
            continue
        cleaned, count = cleaned_line(source[position:start].decode())
        pieces += cleaned, source[start:end].decode()
        position = end
        removed = removed + count
    return "".join(pieces), removed


def take_invisible(page: Page) -> None:
    """Take the invisible runs out of a page's Markdown, title, description and link texts; count
    those in Markdown.
    """
    text, removed = without_invisible(page.markdown)
    if removed:  # a first or last line may have been nothing else
        text = text.strip("\n") + "\n"
    page.markdown = text if text.strip() else ""
    page.hidden += removed
    meta = page.meta
    meta.title = meta.title and cleaned_line(meta.title)[0]
    meta.description = meta.description and cleaned_line(meta.description)[0]
    page.links = [
        one if one.text.isascii() else Link(cleaned_line(one.text)[0], one.url)
        for one in page.links
    ]


def cleaned_line(text: str) -> tuple[str, int]:
    """Return a text that holds no code without invisible runs, and how many there were."""
    removed = 0

    def replace(found: re.Match[str]) -> str:
        nonlocal removed
        if found[1] is None and found[0].endswith(_FLAG_END):
            return found[0]
        removed += 1
        return ""

    return (text, 0) if text.isascii() else (_INVISIBLE.sub(replace, text), removed)


_NO_ALNUM = bytes(code for code in range(128) if not chr(code).isalnum())
_NO_ALPHA = bytes(code for code in range(128) if not chr(code).isalpha())
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def letters_of(text: str, *, with_digits: bool = True) -> int:
    r"""Return how many letters, and digits, are in a text.

    >>> letters_of("an_ä, 安²\ud800!"), letters_of("a1 ä2", with_digits=False)
    (5, 2)
    """
    others, counts = (_NO_ALNUM, str.isalnum) if with_digits else (_NO_ALPHA, str.isalpha)
    found = len(text.encode("ascii", "ignore").translate(None, others))
    return found if text.isascii() else found + sum(map(counts, _BEYOND_ASCII.findall(text)))
