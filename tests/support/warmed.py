"""Imported last by the process that others are forked from: what every crawl does once is done, and found by them."""

import gc
import tempfile
from functools import cache
from pathlib import Path

import stores
from scrapy import cmdline
from scrapy.settings import Settings
from scrapy.utils import versions

from llmsspider import settings
from llmsspider.config.components import misspelt
from llmsspider.content import conversion
from llmsspider.store import SourceRecord, open_store


def _use_a_store() -> None:
    """Let SQLAlchemy compile what a crawl asks of its store."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(None, Path(folder), stores.NAME) as store,
    ):
        store.upsert_source(SourceRecord(stores.NAME, stores.SITE))
        page = stores.full_record()
        for change in ("new", "changed"):
            store.begin_run("crawl", {})
            store.remember({"titles": []})
            store.save_page(page, change)
            store.touch_page(page)
            store.flush()
            store.heartbeat({})
            list(store.unreached())
            store.finish_run("finished", complete=True, why=None, counts={})
        store.page_states()
        store.aliases()
        store.moved_from()
        store.memory()
        store.load_page(page.key)
        list(store.iter_pages())
        list(store.changes_since(0))


_command_classes = cache(lambda module: tuple(_classes_of(module)))
_classes_of = cmdline._iter_command_classes
cmdline._iter_command_classes = lambda module: iter(_command_classes(module))
for _module in ("scrapy.commands", "llmsspider.commands"):
    _command_classes(_module)
cmdline.entry_points = cache(cmdline.entry_points)  # nobody installs a package meanwhile
cmdline.entry_points(group="scrapy.commands")
versions._version = cache(versions._version)
versions.get_versions()
given = Settings()
given.setmodule(settings)
misspelt(given)
_use_a_store()
conversion.prepare()
gc.set_threshold(700, 10, 10)
gc.freeze()
