"""What the store keeps of a page that was read: the record of which its `Document` is made, or why
it is none.
"""

from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from llmsspider.content import markdown
from llmsspider.crawler.pages import PageResponse, PageResult, has_end, utc_now, with_valid_urls
from llmsspider.items import (
    EXTRACTOR_VERSION,
    Change,
    DiscoveredBy,
    Link,
    LlmsEntry,
    Page,
    raw_hash,
)
from llmsspider.site.discovered import FullText
from llmsspider.site.llmstxt_parser import LlmsTxt
from llmsspider.store import PageItem, PageRecord
from llmsspider.web.rights import of_page
from llmsspider.web.text import valid_text
from llmsspider.web.urls import document_id, identity, shown_url


@dataclass(slots=True)
class Records:
    """Makes the records of one crawl's pages, and the items of its documents."""

    source: str
    converter: str  # its fingerprint (`Config.converter_fingerprint`)
    run_id: str = ""  # empty before the run was opened

    @property
    def extractor_version(self) -> str:
        """What content of this crawl is made with; stored content of another version is made again."""
        return f"{EXTRACTOR_VERSION}:{self.converter}"

    def item(self, record: PageRecord, change: Change, *, confirmed: bool = False) -> PageItem:
        """Return the document of a page, `confirmed` where it is as it was stored."""
        return record.item(source=self.source, run=self.run_id, change=change, confirmed=confirmed)

    def of_page(
        self,
        url: str,
        page: Page,
        body_hash: str,
        entry: LlmsEntry | None = None,
        title: str | None = None,
    ) -> PageRecord:
        """Return what the store keeps of any page; of where it came from, its URL and the time."""
        meta = page.meta
        named = meta.title or title or (entry.title if entry else None) or title_from_url(url)
        said = meta.description or (entry.description if entry else None)
        return PageRecord(
            id=document_id(self.source, url),
            identity=identity(url),
            url=shown_url(url),
            fetched_url=shown_url(url),
            title=valid_text(named),
            description=valid_text(said) if said else said,
            language=valid_text(meta.language) if meta.language else meta.language,
            content=valid_text(page.markdown),
            raw_hash=body_hash,
            llms=entry,
            links=[_valid_link(link) for link in page.links],
            follow=page.follow,
            extractor_version=self.extractor_version,
            fetched_at=utc_now(),
            digest=page.digest,
            heading_ids=[(valid_text(text), valid_text(own)) for text, own in page.heading_ids],
        )

    def of_response(
        self,
        answered: PageResponse,
        result: PageResult,
        *,
        depth: int,
        by: DiscoveredBy,
        entry: LlmsEntry | None = None,
    ) -> PageRecord:
        """Return the record of a page that was fetched: its depth, its validators and what its
        headers say of it.
        """
        headers = answered.headers
        tokens = headers.get("x-markdown-tokens", "")
        record = self.of_page(answered.page_url, result.page, answered.raw_hash, entry)
        record.origin = result.origin
        record.discovered_by = by
        record.depth = depth
        record.fetched_url = shown_url(answered.fetched_url)
        record.fetched_at = answered.fetched_at
        if not record.language:
            record.language = headers.get("content-language", "").partition(",")[0].strip() or None
        record.status = answered.status
        record.mime_type = answered.mime_type
        if answered.is_whole:
            record.etag = headers.get("etag")
            record.last_modified = headers.get("last-modified")
        record.validators_url = answered.fetched_url
        record.accept = answered.accept
        meta = result.page.meta
        names = {name: [value] for name, value in headers.items()}
        declared = of_page(names, meta.robots, meta.licences, url=answered.page_url)
        record.declared = [list(one) for one in declared]
        record.markdown_tokens = int(tokens) if tokens.isdigit() else None
        if answered.is_form_of(result.origin):
            record.has_end_tag = has_end(answered.body, answered.kind)
        return record

    def of_part(self, record: PageRecord, after: str, page: Page) -> PageRecord:
        """Return the record of a document that was made of the same body as another page; `after`
        follows its URL.
        """
        url = record.url + after
        body = page.markdown.encode("utf-8", "surrogatepass")
        return replace(
            self.of_page(url, with_valid_urls(page), raw_hash(body), record.llms),
            fetched_url=record.fetched_url,
            fetched_at=record.fetched_at,
            origin=record.origin,
            discovered_by=record.discovered_by,
            description=page.meta.description,
            language=record.language,
            depth=record.depth,
            status=record.status,
            mime_type=record.mime_type,
            validators_url=url,
        )

    def of_full_text(
        self,
        page: Page,
        body_hash: str,
        *,
        url: str,
        title: str | None,
        file: FullText,
        entry: LlmsEntry | None,
    ) -> PageRecord:
        """Return the record of a page that a full-text file holds; the file's validators are not
        the page's.
        """
        answer = file.answer
        record = self.of_page(url, page, body_hash, entry, title)
        record.fetched_url = file.url
        record.origin = "llms-full"
        record.discovered_by = "llms-full.txt"
        record.status = answer.status
        record.mime_type = answer.content_type
        return record

    def of_index(self, file: LlmsTxt) -> PageRecord:
        """Return the record of an llms.txt that is a document itself; such a crawl does not follow
        its links.
        """
        page = with_valid_urls(markdown.read(file.text, file.url))
        record = self.of_page(file.url, page, raw_hash(file.text.encode("utf-8", "surrogatepass")))
        record.origin = "llms-txt"
        record.discovered_by = "llms.txt"
        record.status = 200
        record.title = file.title or record.title
        record.description = file.summary
        record.language = None
        record.follow = []
        return record


def _valid_link(link: Link) -> Link:
    text = valid_text(link.text)
    return link if text == link.text else replace(link, text=text)


def title_from_url(url: str) -> str:
    """Return the last path segment in words, or the host.

    >>> title_from_url("https://e.com/guide/getting-started.html"), title_from_url("https://e.com/")
    ('getting started', 'e.com')
    """
    parts = urlsplit(url)
    name = unquote(parts.path.rstrip("/").rpartition("/")[2])
    name = name.removesuffix(".html").removesuffix(".htm").removesuffix(".md")
    return name.replace("-", " ").replace("_", " ").strip() or parts.netloc
