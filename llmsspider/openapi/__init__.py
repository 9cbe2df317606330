"""OpenAPI files (2.0, called Swagger, to 3.1; JSON or YAML) as Markdown documents.

In: the body of a file. Out: Markdown, or a page with parts. The classes are content handlers (docs/how-to/handlers.md).

    scripts        what the scripts of a page say of its API    literals    objects as JavaScript writes them
    description    a file as plain values, with its references resolved     render    its Markdown
    parts          the same as several documents
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from llmsspider import markdown
from llmsspider.openapi.description import NotOpenApiError, read_description
from llmsspider.openapi.parts import render_parts
from llmsspider.openapi.render import render
from llmsspider.openapi.scripts import apis_in

if TYPE_CHECKING:
    from llmsspider.items import Page

__all__ = [
    "NotOpenApiError",
    "OpenApiByOperation",
    "OpenApiByTag",
    "OpenApiHandler",
    "read_description",
    "render",
]


class OpenApiHandler:
    """Makes the Markdown of an API from the file that describes it."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown; of a script, that of the API that it holds.

        Raises:
            NotOpenApiError: the body describes no API.
            TooLargePageError: the Markdown is many times as long as the body.
        """
        if "javascript" in mime_type or url.partition("?")[0].endswith((".js", ".mjs")):
            api = next(apis_in(body.decode(encoding or "utf-8-sig", "replace")), None)
            if api is None:
                raise NotOpenApiError("a script that holds no API")
            body = json.dumps(api).encode()
        return render(read_description(body), len(body))


class OpenApiByTag:
    """Makes a document of each tag; that of the file is an overview. One without several tags is one document."""

    by: Literal["tag", "operation"] = "tag"

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str | Page:
        """Return the overview with its parts, or the Markdown of the whole file. Raises as `OpenApiHandler.read`."""
        api = read_description(body)
        documents = render_parts(api, len(body), url, self.by)
        if documents is None:
            return render(api, len(body))
        page = markdown.read(documents.overview, url)
        page.parts = [(after, markdown.read(text, url + after)) for after, text in documents.parts]
        own = {url + after for after, _ in page.parts}
        page.follow = [link for link in page.follow if link not in own]
        return page


class OpenApiByOperation(OpenApiByTag):
    """Makes a document of each operation; that of the file is an overview."""

    by = "operation"
