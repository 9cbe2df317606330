"""Sites whose pages are files at other addresses: those made with Docsify, and the repository that
is read; and pages whose routes a browser renders. No Scrapy.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from llmsspider.site.providers import Docsify, find_docsify
from llmsspider.site.repositories import Repository
from llmsspider.web.urls import identity, split_route

MAX_SITES = 50
"""Maximum number of Docsify sites, and of other pages with routes, that one crawl knows."""


class FileSites:
    """The sites of one crawl whose pages are files."""

    def __init__(self) -> None:
        self.repository: Repository | None = None
        self._docsify: list[Docsify] = []
        self._routed: set[str] = set()  # pages, by identity, whose routes are pages

    def learn_docsify(self, body: bytes, url: str, script: str = "") -> Docsify | None:
        """Return the Docsify site that an HTML page, or its `script`, configures, and remember it;
        None for others.
        """
        site = find_docsify(body, url, script) if b"docsify" in body else None
        if site is not None and not site.is_configured:
            site = next((other for other in self._docsify if other.page == site.page), site)
        if site is not None and site not in self._docsify and len(self._docsify) < MAX_SITES:
            self._docsify = [*(other for other in self._docsify if other.page != site.page), site]
        return site

    def learn_routes(self, url: str) -> None:
        """Remember that the routes of a page are pages: a browser rendered it, and it links to
        several of them.
        """
        if len(self._routed) < MAX_SITES:
            self._routed.add(identity(split_route(url)[0]))

    def docsify_of(self, url: str) -> Docsify | None:
        """Return the Docsify site that a URL is a route of, or the page; None for any other URL."""
        return next((site for site in self._docsify if site.has_page(url)), None)

    def repository_of(self, url: str) -> Repository | None:
        """Return the repository that a URL is a file of, as its host shows it; None for any other
        URL.
        """
        found = self.repository
        return found if found is not None and found.has_page(url) else None

    def of(self, url: str) -> Docsify | Repository | None:
        """Return the site that a URL is a page of; None for any other URL."""
        return self.docsify_of(url) or self.repository_of(url)

    def has_routes(self, url: str) -> bool:
        """Say whether the routes of a page are pages, else they are places on it."""
        return self.docsify_of(url) is not None or identity(split_route(url)[0]) in self._routed

    def page_of(self, url: str) -> str | None:
        """Return the page whose file a URL is, None for any other URL."""
        for site in self._docsify:
            if page := site.page_of(url):
                return page
        return self.repository.page_of(url) if self.repository is not None else None

    def remember(self, kept: Mapping[str, Any]) -> None:
        """Take over what an earlier run kept."""
        self._docsify = Docsify.from_list(kept.get("docsify"))
        self.repository = Repository.from_dict(kept.get("repository"))
        self._routed = {url for url in kept.get("routed", ()) if isinstance(url, str)}

    def keep(self) -> dict[str, Any]:
        """Return what the next run needs, by name."""
        return {
            "docsify": [asdict(site) for site in self._docsify],
            "routed": sorted(self._routed),
            "repository": self.repository and asdict(self.repository),
        }
