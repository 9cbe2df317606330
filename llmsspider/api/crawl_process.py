"""What the process of a crawl is given: its environment, its store, its options."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from llmsspider.api.folders import inside
from llmsspider.content.formats import ContentHandler
from llmsspider.errors import ArgumentsError
from llmsspider.store import Store
from llmsspider.store.store import DEFAULT_CLASS
from llmsspider.web.loading import path_of


def stores_for(
    store: str | os.PathLike[str] | type[Store] | None,
    settings: Mapping[str, object] | None,
    temporary: str,
    handlers: Mapping[str, str | type[ContentHandler]] | None = None,
) -> dict[str, Any]:
    """Return the settings of a crawl whose pages are kept in `store`, or in the temporary folder.

    Raises:
        ArgumentsError: a class cannot be imported by its path.
    """
    # what the environment says of stores is not for calls that name theirs, or keep nothing
    here = {"LLMS_STORE_URL": "", "LLMS_STORE_CLASS": DEFAULT_CLASS, "LLMS_DATA_DIR": temporary}
    chosen: dict[str, Any] = {**here, **(settings or {})}
    try:
        if store is not None:
            name = "LLMS_STORE_CLASS" if isinstance(store, type) else "LLMS_DATA_DIR"
            chosen[name] = path_of(store) if isinstance(store, type) else inside(Path(store))
        if handlers:
            chosen["LLMS_CONTENT_HANDLERS"] = {kind: path_of(one) for kind, one in handlers.items()}
    except ImportError as error:
        raise ArgumentsError([str(error)]) from None
    chosen["LLMS_DATA_DIR"] = Path(str(chosen["LLMS_DATA_DIR"])).absolute()
    return chosen


def child() -> dict[str, str]:
    """Return the environment of a crawl's process: our settings, and the modules that this process
    finds.
    """
    paths = [
        str(Path(__file__).resolve().parents[2]),
        *(str(Path(path).absolute()) for path in sys.path),
    ]
    own = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": os.pathsep.join(paths)}
    return {**os.environ, **own}


CRAWL = [
    sys.executable,
    "-c",
    "from llmsspider.api.crawl_process import crawl_from_pipe; crawl_from_pipe()",
]
"""The command of a crawl in a process of its own; `options_for_pipe` is what its stdin is given."""


def options_for_pipe(
    arguments: Mapping[str, str], settings: Mapping[str, object], spider: str = "docs"
) -> bytes:
    """Return spider, arguments and settings of a crawl, for the stdin of its process.

    >>> options_for_pipe({"max_pages": "3"}, {"HOSTS": ["a", "b"]})
    b'["docs","-a","max_pages=3","-s","HOSTS=a,b"]'
    """
    given = [
        spider,
        *(part for pair in arguments.items() for part in ("-a", "=".join(map(str, pair)))),
    ]
    for name, setting in settings.items():
        text = orjson.dumps(setting).decode() if isinstance(setting, dict) else setting
        text = ",".join(map(str, text)) if isinstance(text, list | tuple) else text
        given += ["-s", f"{name}={text}"]
    return orjson.dumps(given)


def crawl_from_pipe() -> None:
    """Run `scrapy crawl` with the options that stand on stdin as JSON: everybody can read those of
    a process.
    """
    from scrapy.cmdline import execute  # noqa: PLC0415  # in the process of the crawl only

    execute(["scrapy", "crawl", *orjson.loads(sys.stdin.read())])
