"""Item pipelines of a user, for the tests that name them in settings."""

from __future__ import annotations

import asyncio
import re

from itemadapter import ItemAdapter
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
