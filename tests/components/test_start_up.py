"""What a crawl loads before its first request: nothing that most crawls do not need."""

from __future__ import annotations

import subprocess
import sys

UNWANTED = (
    "aiohttp",
    "markdown_it",
    "yaml",
    "jinja2",
    "rich",
    "llmsspider.extraction",
    "playwright",
    "pyarrow",
    "boto3",
    "tldextract",
    "llmsspider.changes.render",
    "llmsspider.lint",
    "llmsspider.retrieval.index",
    "llmsspider.sync",
    "sqlalchemy.dialects.postgresql",
)


def loaded_by(code: str) -> list[str]:
    shown = f"import sys\n{code}\nprint([name for name in {UNWANTED!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True, timeout=60
    )
    return [name for name in UNWANTED if repr(name) in done.stdout]


def test_a_crawl_loads_only_what_every_crawl_needs():
    code = (
        "from scrapy.utils.misc import walk_modules\n"
        "from llmsspider import settings\n"
        "commands = walk_modules(settings.COMMANDS_MODULE)  # as `scrapy crawl` does\n"
        "assert len(commands) > 10\n"
        "from llmsspider.spiders import docs"
    )
    assert loaded_by(code) == []


def test_scrapys_remote_control_and_cookies_are_not_loaded():
    code = (
        "from scrapy.utils.project import get_project_settings\n"
        "from scrapy.utils.conf import build_component_list\n"
        "settings = get_project_settings()\n"
        "names = 'EXTENSIONS', 'DOWNLOADER_MIDDLEWARES'\n"
        "found = [build_component_list(settings.get_component_priority_dict_with_base(name)) for name in names]\n"
        "assert not any('RemoteControl' in path for path in map(str, found[0])), found"
    )
    assert not {"aiohttp", "tldextract"} & set(loaded_by(code))


def test_hosts_that_share_no_last_labels_are_told_apart_without_the_public_suffix_list():
    code = "from llmsspider.web.hosts import same_site\nassert not same_site('https://docs.site.com/', 'https://site.org/')"
    assert "tldextract" not in loaded_by(code)
