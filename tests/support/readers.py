"""Every function of the package that reads text from outside, found by its signature, and a way to call each."""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import io
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from patterns import modules

from llmsspider.changes.volatile import likest, word_counts
from llmsspider.content.extraction import titles
from llmsspider.content.extraction.framing import framed
from llmsspider.content.extraction.parsing import parse
from llmsspider.crawl.page_checks import has_end
from llmsspider.site.discovery import files
from llmsspider.site.discovery.model import FetchResult
from llmsspider.site.discovery.sitemaps import read as read_sitemap
from llmsspider.site.llmsfull import inspect as inspect_full
from llmsspider.site.llmsfull import split
from llmsspider.web import opt_out, outcomes
from llmsspider.web.media_types import classify
from llmsspider.web.politeness import retry_after_secs

URL = "https://docs.example.com/guide/"
OURS = (
    "api",
    "arguments",
    "browser",
    "checking",
    "cli",
    "commands",
    "config",
    "conversion.calls",
    "conversion.handlers",
    "conversion.workers",
    "crawl.jobs",
    "crawl.plan",
    "crawl.progress",
    "crawl.run",
    "digests",
    "discovery.model",
    "distributed",
    "download_errors",
    "extensions",
    "extensions.scrapy_cloud",
    "loading",
    "mcp",
    "output.exports",
    "output.feed_storage",
    "output.graph",
    "output.mirror",
    "output.status",
    "profiles",
    "report",
    "requests",
    "retrieval",
    "setting_types",
    "settings",
    "sources",
    "spiderrun",
    "spiders",
    "spiders.page",
    "store",
    "storecommand",
    "sync",
    "web.credentials",
)
"""Modules whose functions read what the user wrote, or what the readers below made."""
NOT_READERS = {
    "web.addresses.is_global": "takes an address that was read",
    "markdown.commonmark.events": "a generator: `markdown.scan`, `chunking` and `llmstxt` run it",
    "markdown.commonmark.events_with_range": "a generator: `markdown.scan` runs it",
    "markdown.commonmark.parser": "takes options",
    "openapi.description.example_of": "takes what was read",
    "crawl.records.page_record": "takes what was read",
    "crawl.page_links.joined": "`crawl.link_bases` runs it",
    "crawl.page_links.leaves": "`crawl.link_bases` runs it",
    "callbacks.reading.count_page": "takes a page that was read",
    "changes.atom.updated_feed": "lxml reads the feed that was written before",
    "changes.source.changes_since": "takes a store",
    "changes.source.since": "takes a store",
    "changes.webhook.payload": "takes changes",
    "crawl.full_text_lag.chosen": "takes addresses of files",
    "crawl.full_text_lag.hash_of_words": "takes counts",
    "crawl.outcome.delivered": "takes counts",
    "crawl.outcome.no_documents": "takes counts",
    "lint.findings.as_json": "takes findings",
    "lint.findings.github": "takes findings",
    "lint.findings.sarif": "takes findings",
    "lint.findings.text": "takes findings",
    "markdown.scan.cuts": "takes places",
    "openapi.render_parts": "takes a description that was read",
    "output.mirror_files.contents": "takes lines that were made",
    "output.mirror_files.front_matter": "takes a record",
    "output.mirror_files.page_text": "takes a record",
    "output.summary.by": "takes counts",
    "output.summary.console_lines": "takes a run",
    "output.summary.failure": "takes a run",
    "output.summary.log_lines": "takes a run",
    "output.summary.parts": "takes counts",
    "stats.count_scrapys": "takes a stats collector",
    "web.outcomes.remedied": "takes a kind of error",
    "crawl.deletions.plan_deletions": "takes hashes",
    "crawl.deletions.outage": "takes counts",
    "crawl.full_text_lag.are_alike": "takes counts",
    "llmsfull.boundaries.named_in": "takes front matter that was read",
    "llmsfull.split_rules.choose": "`llmsfull.inspect` runs it",
    "llmsfull.split.cut": "`llmsfull.split` runs it",
    "llmsfull.split.read_whole": "`llmsfull.split` runs it",
    "web.markdown_forms.twin": "takes a form that was learned",
    "web.opt_out.is_noindex": "takes directives that were read",
    "web.politeness.product_token": "takes a setting",
    "web.politeness.with_contact": "takes a setting",
    "web.scope.build_scope": "takes arguments",
    "web.scope.glob_matches": "the glob is the user's; wcmatch matches URLs of limited length",
    "web.scope.split_globs": "takes arguments",
    "web.decompression.decompress": "tests/unit/test_decompression.py counts its work by members",
}
"""Functions with text among their arguments that read none from outside by themselves."""


def _answer(body: bytes) -> FetchResult:
    answer = FetchResult(URL, URL, 200, {"content-type": "text/html"})
    answer.body = body
    return answer


def _root(text: str) -> Any:
    return parse(f"<title>{text[:20_000]}</title><h1>A</h1><h2>{text}</h2>".encode(), None)


SPECIAL: dict[str, Callable[[str], Any]] = {
    "discovery.files.classify_file": lambda text: files.classify_file(_answer(text.encode()), URL, main=True),
    "crawl.page_checks.has_end": lambda text: has_end(text.encode(), "html"),
    "extraction.framing.framed": lambda text: framed(text.split("\n\n"), {}, (), "---", "A"),
    "changes.volatile.likest": lambda text: likest(word_counts(text, URL), [(1, word_counts(text, URL))]),
    "web.outcomes.challenge_of": lambda text: outcomes.challenge_of(200, {}, f"<html>{text}".encode()),
    "discovery.files.page_url": lambda text: files.page_url(URL[:-1], _answer(text.encode())),
    "discovery.files.section_url": lambda text: files.section_url(URL[:-1], _answer(text.encode())),
    "discovery.files.describing_files": lambda text: files.describing_files(_answer(text.encode())),
    "extraction.titles.headline": lambda text: titles.headline(_root(text), text),
    "web.media_types.classify": lambda text: classify("text/html", text.encode(), False),
    "llmsfull.split.inspect": lambda text: inspect_full(io.BytesIO(text.encode()), URL),
    "llmsfull.split.split": lambda text: list(split(io.BytesIO(text.encode()), URL)),
    "web.opt_out.opt_out": lambda text: opt_out.opt_out(
        dict.fromkeys(map(str.lower, opt_out.OPT_OUT_HEADERS), (text,))
    ),
    "web.outcomes.kind_of_response": lambda text: outcomes.kind_of_response(
        200, {"content-type": text}, text.encode()
    ),
    "web.politeness.retry_after_secs": lambda text: retry_after_secs(text, None),  # type: ignore[arg-type]
    "discovery.sitemaps.read": lambda text: list(read_sitemap(io.BytesIO(text.encode()), URL)),
    "web.locales.directory_above": lambda text: None,
}
"""Functions that take more than texts, as they are called with one."""

PUMPS = (
    " ",
    "\n",
    "\t",
    "\r\n",
    "a",
    "0",
    "é",
    "\0",
    "\u200b",
    "\U000e0041",
    "\ufffd",
    "<",
    ">",
    "&",
    "&amp;",
    "<a ",
    "<a href=x>a</a>",
    "<p>",
    "</p>",
    "<b>",
    "<b>a</b>",
    "<div>",
    "<div hidden>",
    "<p style='opacity:0'>a",
    "<!--",
    "<!-- a -->\n",
    "<![CDATA[",
    "<![CDATA[a]]>",
    "<?xml ",
    "<title>",
    "<title",
    "<meta ",
    "<meta charset=",
    "<h1>a",
    "<h2>a</h2>",
    "<pre>",
    "<pre>a</pre>",
    "<code>",
    "<table>",
    "<tr><td>a",
    "<td>",
    "<th colspan=50>",
    "<ul><li>",
    "<dl><dt>a<dd>",
    "<blockquote>",
    "<details>",
    "<svg>",
    "<math>",
    "<span class=math>",
    "<img src=a>",
    "<url>",
    "<url><loc>https://a.example/b</loc></url>",
    "<br>",
    "<wbr>",
    "<div role=tablist>",
    "<div role=tabpanel>",
    "<a id=b>",
    "<sup><a href=#b>1</a></sup>",
    "<doc>\n",
    "<page url='a'>\n",
    "[",
    "]",
    "![",
    "[a](",
    "](",
    "[a](b)",
    "[a]: b\n",
    "[//]: # (a)\n",
    "[^a]",
    "`",
    "``",
    "```\n",
    "~~~\n",
    "*",
    "**a",
    "_a",
    "> ",
    "- ",
    "- a\n",
    "- [a](b): c\n",
    "1. ",
    "  - a\n",
    "# ",
    "# a\n",
    "## agent instructions\n",
    "a\n===\n",
    "---\n",
    "+++\n",
    "a: b\n",
    "a:\n ",
    "- - ",
    "a.",
    "a.b=1\n",
    "[[a]]\n",
    "{a: ",
    "&a [*a]\n",
    "|",
    "| a ",
    "|-",
    "| a |\n|---|\n",
    "\\",
    "\\(",
    "\\[",
    "$$",
    "$",
    "{#",
    "<AgentInstructions>",
    "User-agent: *\n",
    "Content-Signal: ai-input=no\n",
    "Sitemap: a\n",
    "a=",
    "=",
    "a=yes",
    ",",
    ", ",
    ";",
    "; ",
    ": ",
    "<a>; rel=b, ",
    "<a>;",
    '"',
    "'",
    '\\"',
    "https://a.example/",
    "https://",
    "http://[",
    "://",
    "//",
    "/",
    "../",
    "/a",
    "%",
    "%41",
    "?a=b&",
    "#",
    ".",
    "..",
    "-",
    "@",
    ":",
    "Source: https://a.example/b\n",
    "--- a.md ---\n",
    "File: a.md\n",
    "<|firecrawl-page-1-lllmstxt|>\n",
)
PREFIXES = ("", "<html><body><main><h1>A</h1>", "---\n", "# A\n\n", "<urlset>", "<!-- ", "<a href='")


@dataclass(frozen=True)
class Reader:
    """A function of one text."""

    name: str
    call: Callable[[str], Any]


def readers() -> Iterator[Reader]:
    """Yield each reader, once for each of its texts.

    One that takes text, and of which it is known neither how to call it nor that it reads nothing, says so when called.
    """
    for module_name in modules():
        short = module_name.removeprefix("llmsspider.")
        if short in OURS or short.startswith(tuple(f"{name}." for name in OURS)):
            continue
        module = importlib.import_module(module_name)
        for name, function in sorted(vars(module).items()):
            is_own = inspect.isfunction(function) and function.__module__ == module_name
            if name.startswith("_") or not is_own or inspect.iscoroutinefunction(function):
                continue
            yield from _ways(f"{short}.{name}", function)


def _ways(name: str, function: Callable[..., Any]) -> Iterator[Reader]:
    if name in SPECIAL:
        yield Reader(name, SPECIAL[name])
        return
    needed = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
    ]
    kinds = [str(parameter.annotation) for parameter in needed]
    if name in NOT_READERS or not any(
        "str" in kind or "bytes" in kind or "BinaryIO" in kind for kind in kinds
    ):
        return
    if any("_Element" in kind or "Walk" in kind for kind in kinds):
        return  # parts of `extraction.convert`
    if unknown := [kind for kind in kinds if kind not in _FILLERS]:
        yield Reader(
            name, partial(_unknown, f"{name}: say how to call it ({unknown}), or that it reads nothing")
        )
        return
    for index, parameter in enumerate(needed):
        if "str" in kinds[index] or "bytes" in kinds[index]:
            yield Reader(f"{name}({parameter.name})", partial(_call, function, needed, index))


def _unknown(why: str, _text: str) -> Any:
    raise LookupError(why)


def unknown() -> list[str]:
    """Return what has to be said here of functions of which it is not known whether they read text."""
    calls = (reader.call for reader in readers())
    return [call.args[0] for call in calls if isinstance(call, partial) and call.func is _unknown]


def stale() -> list[str]:
    """Return the names that stand here and that no function of the package has."""
    found = {
        f"{module_name.removeprefix('llmsspider.')}.{name}"
        for module_name in modules()
        for name in vars(importlib.import_module(module_name))
    }
    return sorted({*NOT_READERS, *SPECIAL} - found)


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


def _call(function: Callable[..., Any], needed: list[inspect.Parameter], pumped: int, text: str) -> Any:
    values = {}
    for index, parameter in enumerate(needed):
        is_url = any(word in parameter.name for word in ("url", "base", "asked", "page", "twin", "tree"))
        value = URL if is_url else "a"
        if index == pumped:
            value = URL + text if is_url else text
        if "encoding" in parameter.name or "charset" in parameter.name:
            value = "utf-8"
        values[parameter.name] = _FILLERS[str(parameter.annotation)](value)
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


def cpu_secs(call: Callable[[], Any]) -> float:
    """Return the CPU time of a call."""
    began = time.process_time()
    with contextlib.suppress(Exception):
        call()
    return time.process_time() - began


def pumped(prefix: str, pump: str, length: int) -> str:
    """Return a text of about that many characters."""
    return prefix + pump * (length // len(pump) + 1)
