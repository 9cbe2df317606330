"""Log lines: documents are named, never printed, and lines that nobody reads are not made."""

from __future__ import annotations

import logging

from llmsspider.extensions.log_formatter import ShortLogFormatter
from llmsspider.items import Document, Link, LlmsEntry


def document(**fields) -> Document:
    given = {
        "id": "1",
        "url": "https://e.com/ü",
        "fetched_url": "https://e.com/ü",
        "source": "e.com",
        "run": "r",
        "seq": 1,
        "title": "T",
        "description": None,
        "language": None,
        "content": "# T\n",
        "content_hash": "ab",
        "change": "new",
        "origin": "html",
        "discovered_by": "link",
        "depth": 0,
        "links": [Link("a", "https://e.com/a")],
        "llms": LlmsEntry("https://e.com/llms.txt", "S", "t", None, 0),
    }
    return Document(**{**given, **fields})


def test_log_lines_name_documents_and_never_print_them():
    formatter = ShortLogFormatter()
    line = formatter.scraped(document(), None, None)
    assert (line["msg"] % line["args"], line["level"]) == (
        "Document https://e.com/ü",
        logging.DEBUG,
    )
    dropped = formatter.dropped(document(), ValueError("why"), None, None)
    assert dropped["msg"] % dropped["args"] == "Left out why"
    error = formatter.item_error({"a": 1}, ValueError(), None, None)
    assert error["msg"] % error["args"] == "Error processing dict"
