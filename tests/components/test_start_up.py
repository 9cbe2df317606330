"""What a crawl loads before its first request: nothing that most crawls do not need."""

from __future__ import annotations

import subprocess
import sys

from forked import HANGS_SECS

UNWANTED = (
    "aiohttp",
    "markdown_it",
    "yaml",
    "jinja2",
    "rich",
    "llmsspider.content.extraction",
    "playwright",
    "pyarrow",
    "boto3",
    "tldextract",
    "llmsspider.diff.render",
    "llmsspider.lint",
    "llmsspider.answers.index",
    "llmsspider.sync.nightly",
    "sqlalchemy.dialects.postgresql",
)
START_UP = """
import sys
from itertools import chain
from scrapy.utils.conf import build_component_list
from scrapy.utils.project import get_project_settings
from scrapy.utils.misc import load_object, walk_modules
from llmsspider import settings
from llmsspider.spiders import docs
from llmsspider.web.addresses import same_site

assert len(walk_modules(settings.COMMANDS_MODULE)) > 10, "as `scrapy crawl` does"
chosen = get_project_settings()
names = "EXTENSIONS", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES"
components = [build_component_list(chosen.get_component_priority_dict_with_base(name)) for name in names]
for path in chain(*components):
    load_object(path)
assert not any("RemoteControl" in path for path in map(str, components[0])), components
assert not same_site("https://docs.site.com/", "https://site.org/"), "told apart without the public suffix list"
print(*sys.modules)
"""


def test_a_crawl_loads_only_what_every_crawl_needs():
    done = subprocess.run(
        [sys.executable, "-c", START_UP],
        capture_output=True,
        text=True,
        check=True,
        timeout=HANGS_SECS,
    )
    loaded = set(done.stdout.split())
    assert "llmsspider.spiders.docs" in loaded
    assert not loaded & set(UNWANTED)
