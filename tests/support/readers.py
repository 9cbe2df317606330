"""Every function of the package that reads text from outside, found by its signature, and a way to call each."""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from patterns import modules

from llmsspider.content.extraction import titles
from llmsspider.content.extraction.parsing import parse, read_source
from llmsspider.crawler.pages import has_end
from llmsspider.diff.compare import most_similar, word_counts
from llmsspider.downloadermiddlewares.host_pace import retry_after_secs
from llmsspider.site import discovery
from llmsspider.site.discovered import FetchResult
from llmsspider.site.llmsfull import cut
from llmsspider.site.llmsfull import inspect as inspect_full
from llmsspider.site.sitemaps import read as read_sitemap
from llmsspider.web import outcomes
from llmsspider.web.page_forms import classify
from llmsspider.web.rights import HEADERS, of_llms_txt, of_page, of_robots, of_tdmrep

URL = "https://docs.example.com/guide/"
ROOMS = ("answers", "content", "crawl", "diff", "lint", "site", "web")
"""Rooms of the package that read text from outside."""
NOT_READERS = (
    "answers.mcp",
    "content.conversion.",
    "content.extraction.parsing.words_of",
    "crawl.distributed.",
    "crawl.plan.",
    "crawl.requests.",
    "web.urls.",
    "web.loading.",
    "web.credentials.product_token",
    "web.credentials.check_contact",
    "web.scope.",
    "web.trees.",
)
"""What these begin with reads what the user wrote, or is counted by tests of its own (`test_decompression.py`)."""


def cut_full(source: io.BytesIO) -> int:
    """Cut a full-text file."""
    report = inspect_full(source, URL)
    return sum(1 for _ in cut(source, report)) if report.rule else 0


def _answer(body: bytes) -> FetchResult:
    answer = FetchResult(URL, URL, 200, {"content-type": "text/html"})
    answer.body = body
    return answer


def _root(text: str) -> Any:
    html = f"<title>{text[:20_000]}</title><h1>A</h1><h2>{text}</h2>"
    return parse(read_source(html.encode(), None))


SPECIAL: dict[str, Callable[[str], Any]] = {
    "site.discovery.classify_file": lambda text: discovery.classify_file(
        _answer(text.encode()), URL, main=True
    ),
    "crawl.bot_walls.has_end": lambda text: has_end(text.encode(), "html"),
    "diff.compare.most_similar": lambda text: most_similar(
        word_counts(text, URL), [(1, word_counts(text, URL))]
    ),
    "web.outcomes.challenge_of": lambda text: outcomes.challenge_of(
        200, {}, f"<html>{text}".encode()
    ),
    "site.discovery.describing_files": lambda text: discovery.describing_files(
        _answer(text.encode())
    ),
    "content.extraction.titles.headline": lambda text: titles.headline(_root(text), text),
    "web.page_forms.classify": lambda text: classify("text/html", text.encode(), False),
    "site.llmsfull.inspect": lambda text: inspect_full(io.BytesIO(text.encode()), URL),
    "site.llmsfull.cut": lambda text: cut_full(io.BytesIO(text.encode())),
    "web.rights.of_page": lambda text: of_page(dict.fromkeys(map(str.lower, HEADERS), (text,))),
    "web.rights.of_tdmrep": lambda text: of_tdmrep(text.encode()),
    "web.rights.of_robots": lambda text: of_robots(text, "llmsspider", URL),
    "web.rights.of_llms_txt": lambda text: of_llms_txt(text, URL),
    "web.outcomes.kind_of_response": lambda text: outcomes.kind_of_response(
        200, {"content-type": text}, text.encode()
    ),
    "downloadermiddlewares.host_pace.retry_after_secs": lambda text: retry_after_secs(text, None),  # type: ignore[arg-type]
    "site.sitemaps.read": lambda text: list(read_sitemap(io.BytesIO(text.encode()), URL)),
}
"""Functions that take more than texts, as they are called with one."""

PUMPS = (
    " ", "\n", "\t", "\r\n", "a", "0", "é", "\0", "\u200b", "\U000e0041", "\ufffd", "<", ">", "&", "&amp;",
    "<a ", "<a href=x>a</a>", "<p>", "</p>", "<b>", "<b>a</b>", "<div>", "<div hidden>",
    "<p style='opacity:0'>a", "<!--", "<!-- a -->\n", "<![CDATA[", "<![CDATA[a]]>", "<?xml ", "<title>",
    "<title", "<meta ", "<meta charset=", "<h1>a", "<h2>a</h2>", "<pre>", "<pre>a</pre>", "<code>",
    "<table>", "<tr><td>a", "<td>", "<th colspan=50>", "<ul><li>", "<dl><dt>a<dd>", "<blockquote>",
    "<details>", "<svg>", "<math>", "<span class=math>", "<img src=a>", "<url>",
    "<url><loc>https://a.example/b</loc></url>", "<br>", "<wbr>", "<div role=tablist>",
    "<div role=tabpanel>", "<a id=b>", "<sup><a href=#b>1</a></sup>", "<doc>\n", "<page url='a'>\n", "[",
    "]", "![", "[a](", "](", "[a](b)", "[a]: b\n", "[//]: # (a)\n", "[^a]", "`", "``", "```\n", "~~~\n",
    "*", "**a", "_a", "> ", "- ", "- a\n", "- [a](b): c\n", "1. ", "  - a\n", "# ", "# a\n",
    "## agent instructions\n", "a\n===\n", "---\n", "+++\n", "a: b\n", "a:\n ", "- - ", "a.", "a.b=1\n",
    "[[a]]\n", "{a: ", "&a [*a]\n", "|", "| a ", "|-", "| a |\n|---|\n", "\\", "\\(", "\\[", "$$", "$",
    "{#", "<AgentInstructions>", "User-agent: *\n", "Content-Signal: ai-input=no\n", "Sitemap: a\n", "a=",
    "=", "a=yes", ",", ", ", ";", "; ", ": ", "<a>; rel=b, ", "<a>;", '"', "'", '\\"', "https://a.example/",
    "https://", "http://[", "://", "//", "/", "../", "/a", "%", "%41", "?a=b&", "#", ".", "..", "-", "@",
    ":", "Source: https://a.example/b\n", "--- a.md ---\n", "File: a.md\n",
    "<|firecrawl-page-1-lllmstxt|>\n",
)  # fmt: skip
PREFIXES = (
    "",
    "<html><body><main><h1>A</h1>",
    "---\n",
    "# A\n\n",
    "<urlset>",
    "<!-- ",
    "<a href='",
)


@dataclass(frozen=True)
class Reader:
    """A function of one text."""

    name: str
    call: Callable[[str], Any]


def readers() -> Iterator[Reader]:
    """Yield each public function that takes texts, once for each of them; and those of `SPECIAL`."""
    for module_name in modules():
        short = module_name.removeprefix("llmsspider.")
        if short.partition(".")[0] not in ROOMS:
            continue
        module = importlib.import_module(module_name)
        for name, function in sorted(vars(module).items()):
            is_own = inspect.isfunction(function) and function.__module__ == module_name
            full = f"{short}.{name}"
            if name.startswith("_") or not is_own or inspect.iscoroutinefunction(function):
                continue
            if full in SPECIAL:
                yield Reader(full, SPECIAL[full])
            elif not full.startswith(NOT_READERS):
                yield from _ways(full, function)


def _ways(name: str, function: Callable[..., Any]) -> Iterator[Reader]:
    """Yield the function once for each of its texts, if all that it needs is text."""
    parameters = inspect.signature(function).parameters.values()
    needed = [parameter for parameter in parameters if parameter.default is parameter.empty]
    kinds = [_kind(parameter) for parameter in needed]
    if not _FILLERS.keys() >= set(kinds):
        return
    for index, parameter in enumerate(needed):
        if "str" in kinds[index] or "bytes" in kinds[index]:
            yield Reader(f"{name}({parameter.name})", partial(_call, function, needed, index))


def _kind(parameter: inspect.Parameter) -> str:
    """Return the annotation as it is written, whether Python has evaluated it or not."""
    kind = parameter.annotation
    written = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    return written.replace("collections.abc.", "")


_FILLERS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "str | None": str,
    "bytes": lambda text: text.encode("utf-8", "replace"),
    "str | bytes": str,
    "bytes | str": str,
    "Iterable[str]": lambda text: [text],
    "bool": lambda text: False,
    "int": lambda text: 2_000,
    "Iterable[tuple[str, str]]": lambda text: [(text, text)],
    "Mapping[str, str]": lambda text: {text: text},
}


def _call(
    function: Callable[..., Any], needed: list[inspect.Parameter], pumped: int, text: str
) -> Any:
    values = {}
    for index, parameter in enumerate(needed):
        is_url = any(
            word in parameter.name for word in ("url", "base", "asked", "page", "twin", "tree")
        )
        value = URL if is_url else "a"
        if index == pumped:
            value = URL + text if is_url else text
        if "encoding" in parameter.name or "charset" in parameter.name:
            value = "utf-8"
        values[parameter.name] = _FILLERS[_kind(parameter)](value)
    with contextlib.suppress(ValueError, LookupError):
        found = function(**values)
        if inspect.isgenerator(found):
            list(found)


def lines_run(call: Callable[[], Any], limit: int) -> int:
    """Return how many lines of Python a call runs, those of libraries included; stops at the limit."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        if count > limit:
            raise _LimitError
        return trace

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # what is called for garbage of other tests is no line of this one
    sys.settrace(trace)
    try:
        call()
    except _LimitError:
        pass
    except Exception:  # what a reader raises is the business of its own tests
        return count
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return count


class _LimitError(BaseException):
    pass


def pumped(prefix: str, pump: str, length: int) -> str:
    """Return a text of about that many characters."""
    return prefix + pump * (length // len(pump) + 1)
