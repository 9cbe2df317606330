"""Charsets that are said, and the bytes that say otherwise."""

from __future__ import annotations

import pytest

from llmsspider.extraction import convert

URL = "https://example.com/a.html"
TEXT = "<html><body><main><h1>Caf\u00e9</h1><p>na\u00efve r\u00e9sum\u00e9 \u20ac</p></main></body></html>"
CASES = {
    "utf-8, so labelled": (TEXT.encode(), "utf-8"),
    "utf-8, labelled as latin-1": (TEXT.encode(), "iso-8859-1"),
    "utf-8, labelled as windows-1252": (TEXT.encode(), "windows-1252"),
    "utf-8, not labelled": (TEXT.encode(), None),
    "windows-1252, so labelled": (TEXT.encode("cp1252"), "windows-1252"),
    "windows-1252, labelled as utf-8": (TEXT.encode("cp1252"), "utf-8"),
    "windows-1252, not labelled": (TEXT.encode("cp1252"), None),
    "utf-16": (TEXT.encode("utf-16"), None),
    "a NUL in the middle": (TEXT.replace("<p>", "\0<p>").encode(), "utf-8"),
    "an unknown label": (TEXT.encode(), "klingon"),
}


@pytest.mark.parametrize(("body", "label"), CASES.values(), ids=CASES)
def test_the_text_is_read_right(body: bytes, label: str | None) -> None:
    page = convert(body, URL, label)
    assert page.markdown == "# Caf\u00e9\n\nna\u00efve r\u00e9sum\u00e9 \u20ac\n"


def test_one_broken_letter_does_not_turn_the_rest_into_another_charset() -> None:
    body = TEXT.encode().replace("na\u00ef".encode(), b"na\xef")
    page = convert(body, URL, "utf-8")
    assert page.meta.title == "Caf\u00e9"
