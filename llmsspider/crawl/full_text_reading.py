"""What is made of the pages of a full-text file before the crawl decides about them: in workers, a slice at a time.

A worker reads a page, makes its links absolute, and derives all that is kept of its text. What its relative links begin
at is pickled for the workers once the first pages of the file have shown it. A page whose links need more than that
comes back as a `Draft`, and is finished in the crawling process.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from llmsspider.content.markdown import Draft, draft
from llmsspider.content.markdown.code_languages import code_languages
from llmsspider.crawl.link_bases import LinkBases, UnsettledError
from llmsspider.crawl.pages import with_valid_urls
from llmsspider.crawl.stubs import Stub, stub_of_full_text
from llmsspider.errors import ConversionError, TooLargePageError
from llmsspider.items import Digest, Page, raw_hash
from llmsspider.web.url_gate import Joiner

if TYPE_CHECKING:
    from llmsspider.crawl.page_links import Base
    from llmsspider.crawl.run import Run


@dataclass(slots=True, frozen=True)
class Piece:
    """The text of a page of a full-text file, and its address.

    `base` is the URL that its links are relative to, None where that is to be found out. `bases` is the file of
    `keep_bases`, None where a worker cannot know what relative links begin at.
    """

    text: str
    url: str
    base: str | None = None
    bases: Path | None = None


@dataclass(slots=True, frozen=True)
class ReadPiece:
    """A page of a full-text file as it was read.

    `page` has valid URLs only, `digest` is that of its Markdown, `raw_hash` the SHA-256 in hex of the text that it was
    read from. `stub` says why its HTML may say more, None where it does not. `base` is what its relative links begin
    at, None where that makes no difference.
    """

    page: Page
    digest: Digest
    raw_hash: str
    stub: Stub | None
    base: Base | None = None


@dataclass(slots=True, frozen=True)
class FullTextReader:
    """How pages are read: whether text that no reader sees is kept, how many characters a byte of one may become."""

    keep_hidden: bool
    max_growth: int

    def read(self, pieces: Sequence[Piece]) -> list[ReadPiece | Draft | TooLargePageError]:
        """Read pages; a `Draft` is one whose links the crawl has to join."""
        return [self._read(piece) for piece in pieces]

    def _read(self, piece: Piece) -> ReadPiece | Draft | TooLargePageError:
        drafted = draft(piece.text)
        try:
            if piece.base is not None:
                return self.finished(drafted, Joiner(piece.base).join, piece.text)
            if piece.bases is None:
                return drafted
            bases = _bases(piece.bases)
            links = bases.place(piece.url, piece.url, "llms-full", drafted.hrefs)
            if not bases.is_settled(links):
                return drafted
            base = bases.base_of(links) if links.differs else None
            return self.finished(drafted, bases.join(links), piece.text, base)
        except UnsettledError:
            return drafted
        except TooLargePageError as error:
            return error

    def finished(
        self, drafted: Draft, join: Callable[[str], str], text: str, base: Base | None = None
    ) -> ReadPiece:
        """Return a page with the links that `join` makes absolute; raises `TooLargePageError`."""
        page = with_valid_urls(drafted.page(join, keep_hidden=self.keep_hidden, max_growth=self.max_growth))
        return ReadPiece(
            page=page,
            digest=Digest.of(page.markdown, code_languages(page.markdown)),
            raw_hash=full_text_hash(text),
            stub=stub_of_full_text(page.markdown),
            base=base,
        )


def full_text_hash(text: str) -> str:
    """Return the SHA-256 in hex of a page as the full-text file holds it."""
    return raw_hash(text.encode("utf-8", "surrogatepass"))


def keep_bases(run: Run) -> Path | None:
    """Write for the workers what links are known to be relative to now; None where that is not known or not written."""
    if run.site.is_shown_elsewhere:
        return None
    try:
        return run.spool.keep(pickle.dumps(run.memory.link_bases, pickle.HIGHEST_PROTOCOL))
    except OSError:  # a full disk: the crawling process joins the links
        return None


@lru_cache(maxsize=1)
def _bases(path: Path) -> LinkBases:
    found = pickle.loads(path.read_bytes())  # noqa: S301  # written by `keep_bases`
    if not isinstance(found, LinkBases):
        raise ConversionError(f"{path} holds no bases of links")
    return found
