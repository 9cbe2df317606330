"""A site as Markdown with trafilatura: `python trafilatura_site.py URL FILE`.

Its `focused_crawler` returns addresses only, so each page is downloaded a second time for its text. It asks for one
page after the other; the wait between them is off. It takes no links to addresses in numbers, so the site goes by a
name that is resolved here. One JSON line a page.
"""

from __future__ import annotations

import copy
import json
import socket
import sys
from typing import Any, TextIO
from urllib.parse import urlsplit

from trafilatura import extract, fetch_url
from trafilatura.settings import DEFAULT_CONFIG
from trafilatura.spider import focused_crawler

NAME = "docs.example.com"


def resolve_here(name: str) -> None:
    """Let a name stand for 127.0.0.1 in this process."""
    ask = socket.getaddrinfo

    def answer(host: Any, *arguments: Any, **options: Any) -> Any:
        return ask("127.0.0.1" if host == name else host, *arguments, **options)

    socket.getaddrinfo = answer


def crawl(url: str, output: TextIO) -> None:
    """Crawl the host of `url`."""
    config = copy.deepcopy(DEFAULT_CONFIG)
    config["DEFAULT"]["SLEEP_TIME"] = "0"
    config["DEFAULT"]["SSRF_PROTECTION"] = "off"
    _, known = focused_crawler(
        url, max_seen_urls=1_000_000, max_known_urls=1_000_000, config=config
    )
    for page in known:
        body = fetch_url(page, config=config)
        text = body and extract(
            body,
            url=page,
            output_format="markdown",
            include_links=True,
            include_tables=True,
            include_formatting=True,
            config=config,
        )
        output.write(json.dumps({"url": page, "content": text}) + "\n")


if __name__ == "__main__":
    resolve_here(NAME)
    with open(sys.argv[2], "w", encoding="utf-8") as file:  # noqa: PTH123
        crawl(sys.argv[1].replace(str(urlsplit(sys.argv[1]).hostname), NAME), file)
