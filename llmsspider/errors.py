"""Every error of the project that a user can meet.

    LlmsspiderError
    ├── ArgumentsError      a spider argument or setting is wrong (exit code 2)
    ├── InvalidUrlError     text that is not an absolute http(s) URL
    ├── StoreError          the page store cannot be opened or is too new
    │   └── UnknownSourceError  no source of that name was crawled (exit code 2)
    ├── SearchError         the search index cannot be made or read, or no source has what was
    queried
    ├── CrawlError          the crawl of `crawl()`, `acrawl()`, `page()` obtained no page, or its
    process was killed
    │   └── ResolveError        that of `resolve()`
    ├── MirrorError         the Markdown tree cannot be kept in its folder
    ├── DiscoveryError      a file named by the user cannot be used as llms.txt
    ├── FetchError          a URL that is converted alone cannot be fetched
    ├── ConversionError     the conversion of one page failed (crash, time, memory)
    │   └── TooLargePageError   its Markdown is many times as long as the page
    ├── RenderingError      the browser failed to render one page
    └── BrowserUnavailableError  there is no browser to render pages with

A message is one line: what was wrong, and what to do.
"""

from __future__ import annotations

import shlex
from typing import Literal

# The program that was called, for the commands that messages name: `scrapy` in a project, or
# `llmsspider` anywhere.

_called = "scrapy"


def call(name: str) -> None:
    """Set the program that this process was started as."""
    global _called  # noqa: PLW0603  # a process has one command line
    _called = name


def called() -> str:
    """Return the name of the program."""
    return _called


def command(*words: str) -> str:
    """Return a command to type, quoted for a shell.

    >>> command("export", "my docs", "--since", "17")
    "scrapy export 'my docs' --since 17"
    """
    return shlex.join([_called, *words])


def crawl_command(url: str) -> str:
    """Return the command that crawls a site."""
    return command(*([url] if _called == "llmsspider" else ["crawl", "docs", "-a", f"url={url}"]))


ErrorKind = Literal[
    "not_found",
    "auth",
    "challenge",
    "rate_limited",
    "http",
    "network",
    "invalid_url",
    "blocked",
    "parse",
]
"""The kinds of page failure (docs/reference/documents.md, "Errors")."""

UNREAD_KINDS: frozenset[ErrorKind] = frozenset({"network", "challenge", "rate_limited"})
"""The kinds that say nothing about whether a page or file is there."""


class LlmsspiderError(Exception):
    """Base of every error of this project; `problems` has one line for each mistake."""

    def __init__(self, message: str, problems: list[str] | None = None):
        super().__init__(message)
        self.problems = problems or [message]


class ArgumentsError(LlmsspiderError):
    """One or more spider arguments or settings are wrong."""

    def __init__(self, problems: list[str]):
        super().__init__("; ".join(problems), problems)


class InvalidUrlError(LlmsspiderError):
    """The text is not an absolute http(s) URL."""


class StoreError(LlmsspiderError):
    """The page store cannot be opened, is damaged, or was written by a newer version."""


class UnknownSourceError(StoreError):
    """The store holds no source of the name given."""


class SearchError(LlmsspiderError):
    """The search index cannot be made or read, or the source, version or page does not exist."""


class CrawlError(LlmsspiderError):
    """A crawl that a program started obtained no page, or its process was killed; the message says
    why.
    """


class ResolveError(CrawlError):
    """`resolve()` obtained no page; the message says why."""


class MirrorError(LlmsspiderError):
    """The folder of the Markdown tree belongs to something else, or cannot be written."""


class DiscoveryError(LlmsspiderError):
    """A file named with `llms_txt=` cannot be used."""


class FetchError(LlmsspiderError):
    """A URL that is converted alone cannot be fetched."""


class ConversionError(LlmsspiderError):
    """The conversion of one page failed; the page's error kind is `parse`."""

    @classmethod
    def of(cls, error: Exception) -> ConversionError:
        """Return the error of a page whose conversion raised `error`."""
        if isinstance(error, ConversionError):
            return error
        if isinstance(error, MemoryError):
            return cls("the conversion ran out of memory")
        return cls(f"conversion failed: {type(error).__name__}: {error}")


class TooLargePageError(ConversionError):
    """The Markdown of a page is many times as long as the page itself; it is neither kept nor
    stored.
    """


class RenderingError(LlmsspiderError):
    """The browser failed to render one page; `kind` is the page's error kind."""

    def __init__(self, message: str, *, kind: ErrorKind):
        super().__init__(message)
        self.kind: ErrorKind = kind


class BrowserUnavailableError(LlmsspiderError):
    """No browser can be started, or it may not be used as it is configured."""
