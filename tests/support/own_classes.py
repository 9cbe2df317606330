"""Classes of a user, for the tests that name them in settings."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from zlib import crc32

from llmsspider.items import Link, Page, PageMeta
from llmsspider.site.providers import Source
from llmsspider.store import Store

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class Table:
    """Markdown as text, with a relative link."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        return (
            f"# Table\n\n{len(body)} bytes of {mime_type} in {encoding}, see [more](more.html).\n"
        )


class Whole:
    """A page with everything said."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
        link = Link("beyond", url.replace("book.pdf", "beyond.html"))
        return Page("# Whole\r\n\r\ntext", [link], [link.url], PageMeta(title="The whole book"))


class Raising:
    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        class Unpicklable(Exception):
            pass

        raise Unpicklable("cannot read this")


class Hanging:
    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        time.sleep(600)
        return "# Never"


class Dying:
    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        os._exit(7)


class Wrong:
    """Returns something else."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> bytes:
        return body


class NeedsArguments:
    def __init__(self, key: str):
        self.key = key

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        return self.key


class Noting(Store):
    """Writes down the address of each change."""

    def save_page(self, record, change):
        if change != "unchanged":
            with Path(os.environ["NOTED_CHANGES"]).open("a", encoding="utf-8") as file:
                file.write(f"{change} {record.url}\n")
        return super().save_page(record, change)


class Shouting:
    """A converter: the HTML that it is given, in capitals."""

    def convert(self, html: str) -> str:
        return html.upper()


class Failing:
    """A converter that fails on each page."""

    def convert(self, html: str) -> str:
        raise RecursionError


class TimeIsUp:
    """Ends a crawl as Scrapy's `CLOSESPIDER_TIMEOUT` does, at the request for the page that `TIME_IS_UP_AT` names."""

    def __init__(self, crawler: Crawler):
        from scrapy import signals  # not where a worker imports the handlers

        self.crawler, self.path = crawler, crawler.settings["TIME_IS_UP_AT"]
        crawler.signals.connect(self.sent, signals.request_reached_downloader)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> TimeIsUp:
        return cls(crawler)

    def sent(self, request: Request) -> None:
        if request.url.endswith(self.path):
            assert self.crawler.engine is not None
            closing = self.crawler.engine.close_spider_async(reason="closespider_timeout")
            self.closing = asyncio.ensure_future(closing)


class HashedWords:
    """An embedder without a model: each word counts in one of 64 places, by its hash."""

    model = "hashed words"
    asked: ClassVar[list[str]] = []
    """The texts that were asked for in this process."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text."""
        self.asked.extend(texts)
        made = []
        for text in texts:
            vector = [0.0] * 64
            for word in re.findall(r"\w+", text.casefold()):
                vector[crc32(word.encode()) % 64] += 1
            made.append(vector)
        return made


class Killed(HashedWords):
    """Its process is gone in the middle of a delivery, with no time for anything."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Vectors once."""
        if self.asked:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts)


class LocalWiki:
    """A provider of pages below /wiki/."""

    def sources(self, url: str) -> list[Source]:
        return [Source(f"{url}?raw", url)] if "/wiki/" in url else []

    def markdown(self, text: str) -> str:
        return text
