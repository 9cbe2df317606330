"""OpenAPI files (2.0, called Swagger, to 3.1; JSON or YAML) as Markdown documents.

In: the body of a file. Out: Markdown. `OpenApiHandler` is a content handler (docs/how-to/handlers.md).

    description    a file as plain values, with its references resolved     render    its Markdown
"""

from __future__ import annotations

from llmsspider.openapi.description import NotOpenApiError, read_description
from llmsspider.openapi.render import render

__all__ = ["NotOpenApiError", "OpenApiHandler", "read_description", "render"]


class OpenApiHandler:
    """Makes the Markdown of an API from the file that describes it."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown.

        Raises:
            NotOpenApiError: the body describes no API.
            TooLargePageError: the Markdown is many times as long as the body.
        """
        return render(read_description(body), len(body))
