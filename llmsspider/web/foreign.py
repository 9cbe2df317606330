"""The door for what a site sends beside its pages: robots.txt, tdmrep.json, llms files, search
indexes.

A file that is wrong costs itself and nothing more. A parser is called through `read`, which turns
whatever it raises into `UnreadableError`, the reason in one line; JSON comes through `json_value`
and robots.txt through `bounded_robots`, so that no parser gets more than a file of that kind holds.
"""

import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import orjson

from llmsspider.web.text import valid_text

MAX_JSON_BYTES = 32 * 1024 * 1024
"""Size of the largest JSON file that is read, in bytes."""
MAX_REASON = 200
"""Characters of a reason that are kept: messages of parsers quote their input."""

P = ParamSpec("P")
T = TypeVar("T")


class UnreadableError(ValueError):
    """A file of a site that says nothing; the message says why."""


def read(parse: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Return what a parser makes of what a site sent.

    Raises `UnreadableError`, whatever the parser raised: data nested too deep (`RecursionError`)
    and too large (`MemoryError`) as well.
    """
    try:
        return parse(*arguments, **options)
    except UnreadableError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnreadableError(valid_text(reason)[:MAX_REASON]) from error


def json_value(body: bytes | str) -> object:
    """Parse JSON, at most `MAX_JSON_BYTES` and about 1,000 levels; its text has no half characters.

    Raises `UnreadableError`.
    """
    if len(body) > MAX_JSON_BYTES:
        raise UnreadableError(f"larger than {MAX_JSON_BYTES // 1024 // 1024} MB")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise UnreadableError(f"it is no JSON ({error})"[:MAX_REASON]) from None


_NAMES_CRAWLER = re.compile(r"\s*user[- ]?agent\s*:?\s*([^#]*)", re.IGNORECASE)
_SITE_WIDE = re.compile(r"\s*(?:#|sitemap\b|host\b|$)", re.IGNORECASE)


def bounded_robots(text: str, agent: str) -> str:
    r"""Return a robots.txt in which each group names few crawlers: those that `agent`, a product
    token, may be matched by, and one other.

    Parsers give each rule of a group to each crawler that it names: so many times so many.

    >>> bounded_robots("User-agent: a\nUser-agent: b\nUser-agent: us\nDisallow: /x", "us")
    'User-agent: a\nUser-agent: us\nDisallow: /x'
    """
    kept: list[str] = []
    named: set[str] = set()
    in_head = False
    for line in text.splitlines():
        found = _NAMES_CRAWLER.match(line)
        if found is None:
            in_head = in_head and _SITE_WIDE.match(line) is not None
            kept.append(line)
            continue
        if not in_head:
            named.clear()
            in_head = True
        crawler = _matched_crawler(found[1], agent)
        if crawler not in named:
            named.add(crawler)
            kept.append(line)
    return "\n".join(kept)


def _matched_crawler(value: str, agent: str) -> str:
    """Return the crawler of a line that rules for `agent` may stand under, "" for any other."""
    crawler = value.partition("/")[0].strip().lower()
    is_ours = crawler == "*" or crawler.replace("*", "") in agent.lower()
    return crawler if is_ours else ""
