"""A page beside the site's others: a title of its own, without what they all begin and end with. No Scrapy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmsspider.crawl.records import title_from_url
from llmsspider.items import content_hash

if TYPE_CHECKING:
    from llmsspider.crawl.run import Run
    from llmsspider.store import PageRecord


def compare_with_site(run: Run, record: PageRecord, *, is_start: bool) -> bool:
    """Compare a page of HTML with the site's others: its title, its chrome; return whether it is another now."""
    if record.origin not in {"html", "rendered"}:
        return False
    is_retitled = _retitle(run, record, is_start=is_start)
    return (not run.config.keep_shared and _take_off_chrome(run, record)) or is_retitled


def _retitle(run: Run, record: PageRecord, *, is_start: bool) -> bool:
    """Give a page a title of its own where the site's pages share one; return whether it is another."""
    titles, title = run.site.titles, record.title
    if not title:
        return False
    titles.see(title, record.content or "", start=is_start)
    titles.see_links(record.links)
    if not is_start:
        named = record.llms.title if record.llms else None
        linked, path = titles.linked(record.url), title_from_url(record.url)
        record.title = titles.own(title, record.content or "", named, linked, path)
    if record.title != title:
        run.count("titles/shared")
    return record.title != title


def _take_off_chrome(run: Run, record: PageRecord) -> bool:
    """Take off what most pages of the site begin or end with; return whether there was any."""
    site, whole = run.site, record.content or ""
    site.chrome.see(whole)
    content = site.chrome.without(whole)
    if content == whole or content_hash(whole) in site.soft404_hashes:
        return False
    run.count("chrome/shared")
    record.content, record.content_hash = content, None
    record.links = [link for link in record.links if f"({link.url}" in content or f"({link.url}" not in whole]
    return True
