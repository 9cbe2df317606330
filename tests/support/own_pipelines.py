"""Item pipelines and other components of a user, for the tests that name them in settings."""

from __future__ import annotations

import asyncio
import re
import uuid

from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import DropItem

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


class Redact:
    """Takes e-mail addresses out of the text."""

    def process_item(self, item):
        item.content = EMAIL.sub("[redacted]", item.content)
        item.title = EMAIL.sub("[redacted]", item.title or "")
        return item


class Field:
    """Adds a field, after a wait."""

    async def process_item(self, item):
        await asyncio.sleep(0)
        ItemAdapter(item)["words"] = len(item.content.split())
        return item


class Short:
    """Drops short pages."""

    def process_item(self, item):
        if len(item.content) < 60:
            raise DropItem("shorter than 60 characters")
        return item


class Stamp:
    """Makes another text of a page each time, and would do so twice of the same."""

    def process_item(self, item):
        item.content += f"\nStamp {uuid.uuid4()}\n"
        item.seen = str(uuid.uuid4())
        return item


class Unruly:
    """Does to each page what its name says."""

    def process_item(self, item):
        if "raise" in item.url:
            raise KeyError("a word that is not there")
        if "swap" in item.url:
            return dict(ItemAdapter(item))
        if "empty" in item.url:
            item.content = " "
        if "links" in item.url:
            item.links = ["https://e.com/"]
        if "moved" in item.url:
            item.url = "https://public.example/moved"
        if item.change == "deleted":
            raise DropItem("no tombstones for me")
        return item


class Late:
    """Stands after the store."""

    def process_item(self, item):
        if "late" in item.url:
            item.content = "# Late\n"
        if "after" in item.url:
            raise DropItem("not for the feed")
        return item


class Handler(HTTP11DownloadHandler):
    """A download handler of an add-on."""

    async def download_request(self, request):
        self.crawler.stats.inc_value("addon/requests")
        return await super().download_request(request)


class Passing:
    """A middleware of an add-on."""

    def process_request(self, request):
        request.headers.setdefault("X-Addon", "1")


class Addon:
    """Does to the settings what add-ons for download services do: it changes dictionaries in place."""

    def update_settings(self, settings):
        before = settings.getwithbase("DOWNLOAD_HANDLERS")["http"]
        settings.set("ADDON_FALLBACK", before, "addon")
        settings["DOWNLOAD_HANDLERS"]["http"] = "own_pipelines.Handler"
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", Passing, 633)
        settings.set(
            "REQUEST_FINGERPRINTER_CLASS", "scrapy.utils.request.RequestFingerprinter", "addon"
        )


class LastFirst(BaseScheduler):
    """A scheduler: the last request first, and no length."""

    def __init__(self) -> None:
        self.waiting: list[Request] = []
        self.seen: set[str] = set()

    def has_pending_requests(self) -> bool:
        return bool(self.waiting)

    def enqueue_request(self, request: Request) -> bool:
        if not request.dont_filter and request.url in self.seen:
            return False
        self.seen.add(request.url)
        self.waiting.append(request)
        return True

    def next_request(self) -> Request | None:
        return self.waiting.pop() if self.waiting else None
