"""DotScrapy persistence of Scrapy Cloud: the page stores of the last job, before anything reads them.

The extension loads `.scrapy` when it is made, which is after the spider: too late, since what a source is comes from
its store. So the `crawl` command lets it load once before; its own load then finds nothing to do. It uploads at
`engine_stopped`, when the run has closed its store.
"""

from __future__ import annotations

import os
import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.signalmanager import SignalManager
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

EXTENSION = "scrapy_dotpersistence.DotScrapyPersistence"


def enabled(settings: BaseSettings) -> bool:
    """Say whether the extension is configured and works in this process."""
    wanted = settings.getbool("DOTSCRAPY_ENABLED") or settings.get("DOTSCRAPYPERSISTENCE_ENABLED")
    if not wanted or "SCRAPY_JOB" not in os.environ:
        return False  # to look further loads every extension of Scrapy
    return settings.get_component_priority_dict_with_base("EXTENSIONS").get(EXTENSION) is not None


def load(settings: BaseSettings) -> str | None:
    """Fetch `.scrapy` as the last job left it; returns what went wrong, in one line, or None.

    A job that went on without would put an empty store in the place of the stored one when it ends.
    """
    if not enabled(settings):
        return None
    problems: list[str] = []

    def call(extension: Any, command: list[str]) -> None:
        done = subprocess.run(  # noqa: S603  # the extension's own command
            command, env=extension._env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode != 0:
            problems.append(" ".join(done.stdout.decode(errors="replace").split())[-500:])

    loader: Any = type("Loader", (load_object(EXTENSION),), {"_call": call})
    try:
        loader.from_crawler(SimpleNamespace(settings=settings, signals=SignalManager()))
    except (NotConfigured, OSError) as error:
        problems.append(str(error) or "it is not configured")
    if problems:
        return f"DotScrapy persistence could not load the page stores of the last job: {problems[0]}"
    return None
