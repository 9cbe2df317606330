"""The calls that a worker process answers, and what it gets ready before the first one.

What a call needs is imported when it is made: the crawling process imports this module, too, and reads few pages.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmsspider.content.markdown import Draft
    from llmsspider.items import Page


def convert(  # noqa: PLR0917 - the argument order of the call sent to a worker
    body: bytes,
    url: str,
    encoding: str | None,
    converter: str,
    generators: tuple[str, ...],
    with_listings: bool,
) -> Page:
    """Return an HTML page as converted by the engine `converter`, and its `digest`; see `extraction.convert`."""
    from llmsspider.content import extraction  # noqa: PLC0415
    from llmsspider.content.markdown.code_languages import code_languages  # noqa: PLC0415
    from llmsspider.items import Digest  # noqa: PLC0415

    page = extraction.convert(
        body,
        url,
        encoding,
        converter,
        generators=generators,
        with_listings=with_listings,
    )
    page.digest = Digest.of(page.markdown, code_languages(page.markdown)) if page.markdown else None
    return page


def read_metadata(body: bytes, url: str, encoding: str | None) -> Page:
    """Return links and metadata of an HTML page."""
    from llmsspider.content import extraction  # noqa: PLC0415

    return extraction.read_metadata(body, url, encoding)


def read_texts(texts: Sequence[str]) -> list[Draft]:
    """Return the `Draft` of each Markdown body."""
    from llmsspider.content.markdown import draft  # noqa: PLC0415

    return [draft(text) for text in texts]


def handle(path: str, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
    """Return a body as converted by the class at `path`; raises `ConversionError`."""
    from llmsspider.content.conversion import handlers  # noqa: PLC0415

    return handlers.handle(path, body, url, mime_type, encoding)


def prepare() -> None:
    """Import what calls need, without a look for cyclic garbage, and have later looks be rare: pages leave little."""
    gc.disable()
    convert(b"<p>x</p>", "http://localhost/", None, "native", (), True)
    read_texts(("x",))
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
