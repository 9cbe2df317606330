"""The components that the settings of a Scrapy project name: those a crawl cannot do without, and
what is misspelt.
"""

import difflib
from collections.abc import Iterator
from functools import cache

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from llmsspider.errors import ArgumentsError
from llmsspider.web.loading import STORE_PIPELINE

NOT_OURS = (
    "the settings of this project are not in force: begin yours with `from llmsspider.settings"
    " import *`, or use scrapy.utils.project.get_project_settings() where scrapy.cfg names"
    " llmsspider.settings"
)

REQUIRED = {
    "SPIDER_MIDDLEWARES": {
        "llmsspider.spidermiddlewares.llms_txt_start.LlmsTxtStart": "nothing would be requested"
    },
    "DOWNLOADER_MIDDLEWARES": {
        "llmsspider.downloadermiddlewares.synthetic.SyntheticMiddleware": "no crawl would end"
    },
    "ITEM_PIPELINES": {
        STORE_PIPELINE: "nothing would be stored, and the next crawl would take every page for new",
        "llmsspider.pipelines.export.ExportPipeline": (
            "no document would be counted, so that every crawl would fail"
        ),
    },
    "EXTENSIONS": {
        "llmsspider.extensions.run_summary.RunSummary": "no run would be finished in the store"
    },
}
"""By setting, the classes (or one derived from them) that have to stand, and what would come of it
without them.
"""


STAND_INS = {
    "SCHEDULER": (
        "llmsspider.crawler.scheduler.BreadthFirstScheduler",
        (
            "max_depth may filter pages or miscount them, and more pages than max_pages may be"
            " requested"
        ),
    ),
    "DUPEFILTER_CLASS": (
        "llmsspider.crawler.scheduler.PageDupeFilter",
        "the spellings of a page's address are requested one by one",
    ),
    "DOWNLOADER": (
        "llmsspider.downloadermiddlewares.downloader.Downloader",
        (
            "requests do not wait for their turns: no Crawl-delay, no Retry-After, no limit for"
            " each host"
        ),
    ),
}
"""By setting, our class for it, and what is lost where neither it nor one derived from it is named.
"""


def lost_parts(settings: BaseSettings) -> list[str]:
    """Return one line for each part of a crawl that is not ours in these settings: what is lost by
    that.

    >>> from scrapy.settings import Settings
    >>> lost_parts(Settings({name: ours for name, (ours, _) in STAND_INS.items()}))
    []
    """
    lines = []
    for name, (ours, lost) in STAND_INS.items():
        path = settings[name]
        # every scheduler is a subclass of another, to Scrapy
        kinds = getattr(load_object(path), "__mro__", ())
        if load_object(ours) not in kinds:
            given = path if isinstance(path, str) else global_object_name(path)
            lines.append(f"setting {name}: {given} is not derived from {ours}: {lost}")
    return lines


SCRAPY_SETTINGS = [name for name in dir(default_settings) if name.isupper()]

ALIKE = 0.9
"""How alike two names have to be, of 1, for the one to be taken for the other misspelt."""


def misspelt(settings: BaseSettings) -> list[str]:
    """Return one line for each setting of the project or command line that looks like a misspelt
    one of Scrapy.

    >>> from scrapy.settings import Settings
    >>> misspelt(Settings({"CONCURENT_REQUESTS": 4, "SHOP_DOWNLOAD_DELAY": 1, "SHELVES": 3}))
    ['setting CONCURENT_REQUESTS is unknown and without effect; did you mean CONCURRENT_REQUESTS?']
    """
    project = SETTINGS_PRIORITIES["project"]
    given = sorted(str(name) for name in settings if (settings.getpriority(name) or 0) >= project)
    return [
        f"setting {name} is unknown and without effect; did you mean {meant}?"
        for name in given
        if (meant := _meant(name))
    ]


@cache
def _meant(name: str) -> str | None:
    """Return the setting of Scrapy that a name is a misspelling of; `Config` looks at our own
    names.
    """
    is_known = name in SCRAPY_SETTINGS or name.startswith("LLMS_")
    close = [] if is_known else difflib.get_close_matches(name, SCRAPY_SETTINGS, n=1, cutoff=ALIKE)
    return close[0] if close and not name.endswith(close[0]) else None


def open_settings(crawler: Crawler) -> BaseSettings:
    """Return the settings of a crawler; a copy in `scrapy shell`, which makes the spider when they
    are frozen.
    """
    if not crawler.settings.frozen:
        return crawler.settings
    settings = crawler.settings.copy()
    settings.frozen = False
    return settings


def check_components(settings: BaseSettings) -> None:
    """Check the components that settings, profile and command line name.

    Raises:
        ArgumentsError: one line for each that cannot be loaded, or whose `check_settings(settings)`
        raises one, else
            for each required one that was taken out.
    """
    problems = []
    for name in REQUIRED:
        for path in settings.get(name) or ():
            try:
                check = getattr(load_object(path), "check_settings", None)
                if check is not None:
                    check(settings)
            except ArgumentsError as error:
                problems.extend(error.problems)
            except Exception as error:  # whatever the user's module raises
                why = f"{type(error).__name__}: {error}"
                problems.append(f"setting {name}: {path!r} cannot be loaded ({why})")
    problems = problems or list(_missing(settings))
    if problems:
        raise ArgumentsError(problems)


def _missing(settings: BaseSettings) -> Iterator[str]:
    names = ("SPIDER_MIDDLEWARES", "DOWNLOADER_MIDDLEWARES", "EXTENSIONS")
    if not any(set(REQUIRED[name]) & set(settings.get(f"{name}_BASE") or ()) for name in names):
        yield NOT_OURS
        return
    for name, required in REQUIRED.items():
        enabled = settings.get_component_priority_dict_with_base(name)
        if all(path in enabled for path in required):
            continue
        found = [kind for path in enabled if isinstance(kind := load_object(path), type)]
        for path, why in required.items():
            if not any(issubclass(kind, load_object(path)) for kind in found):
                remedy = "Leave it, or name a class that is derived from it"
                yield f"setting {name}: {path} is taken out: {why}. {remedy}"
