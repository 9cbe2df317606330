"""OpenAPI files (2.0, called Swagger, to 3.1; JSON or YAML) as Markdown documents.

In: the body of a file. Out: Markdown. `OpenApiHandler` is a content handler (docs/how-to/handlers.md).

    scripts        what the scripts of a page say of its API    literals    objects as JavaScript writes them
    description    a file as plain values, with its references resolved     render    its Markdown
"""

from __future__ import annotations

import json

from llmsspider.openapi.description import NotOpenApiError, read_description
from llmsspider.openapi.render import render
from llmsspider.openapi.scripts import apis_in

__all__ = ["NotOpenApiError", "OpenApiHandler", "read_description", "render"]


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
