"""One page as a file: front matter, and the text with its links relative where they lead into the tree."""

from __future__ import annotations

from collections.abc import Callable

from llmsspider.markdown.scan import scan
from llmsspider.mirrornames import link_path
from llmsspider.store import PageRecord


def front_matter(record: PageRecord, source: str, *, fetched_at: str) -> str:
    """The YAML head of a file: url, title, source, hash, fetched_at and, for a listed page, section.

    `hash` is the `content_hash` of the document, whose links are absolute.
    """
    values: dict[str, str | None] = {
        "url": record.url,
        "title": record.title,
        "source": source,
        "hash": record.content_hash,
        "fetched_at": fetched_at,
    }
    if record.llms is not None and record.llms.section:
        values["section"] = record.llms.section
    import yaml  # noqa: PLC0415  # every crawl imports this module, few write a tree

    given = {name: value for name, value in values.items() if value is not None}
    return f"---\n{yaml.safe_dump(given, allow_unicode=True, sort_keys=False, width=10_000)}---\n\n"


def page_text(record: PageRecord, file: str, leads_to: Callable[[str], str | None] | None) -> str:
    """The text of a page; links that `leads_to` knows become relative to `file`. None leaves all as they are."""
    content = record.content or ""
    if leads_to is None or not any(leads_to(link.url) for link in record.links):
        return content

    def relative(target: str) -> str:
        bare = target[1:-1] if target.startswith("<") else target
        url, mark, fragment = bare.partition("#")
        found = leads_to(url)
        if found is None:
            return target
        if found == file and mark:
            return mark + fragment
        return link_path(file, found) + mark + fragment

    return scan(content).rewritten(relative)
