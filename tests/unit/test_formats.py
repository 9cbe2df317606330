"""Notebooks and PDF as Markdown; which files of which formats are read."""

from __future__ import annotations

import io
import json

import pytest

from llmsspider.content.formats import FORMATS, Formats
from llmsspider.content.formats.documents import (
    MAX_OUTPUT,
    NotANotebookError,
    NotebookHandler,
    PdfError,
    PdfHandler,
)
from llmsspider.content.openapi import OpenApiHandler


def read(handler, body: str | bytes) -> str:
    return handler.read(
        body if isinstance(body, bytes) else body.encode(), "https://e.com/x", "text/plain", None
    )


def notebook(*cells: dict, **more) -> str:
    return json.dumps(
        {
            "nbformat": 4,
            "metadata": {"language_info": {"name": "Julia"}},
            "cells": list(cells),
            **more,
        }
    )


def code(source, *outputs) -> dict:
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def test_a_notebook_is_its_text_code_and_short_outputs():
    made = read(
        NotebookHandler(),
        notebook(
            {
                "cell_type": "markdown",
                "source": ["# Title\n", "\n", "Text ![p](attachment:p.png) here."],
            },
            code(
                ["x = 1\n", "x"], {"output_type": "execute_result", "data": {"text/plain": ["1"]}}
            ),
            code(
                "plot()",
                {
                    "output_type": "display_data",
                    "data": {"image/png": "iVBOR", "text/plain": "<Figure>"},
                },
            ),
            code("print()", {"output_type": "stream", "text": "\x1b[31mred\x1b[0m\n"}),
            code(
                "fail()",
                {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["…"]},
            ),
            code(
                "",
                {
                    "output_type": "display_data",
                    "data": {"text/markdown": "**bold**", "text/html": "<b>"},
                },
            ),
            {"cell_type": "raw", "source": "raw"},
        ),
    )
    assert made == (
        "# Title\n\nText  here.\n\n```julia\nx = 1\nx\n```\n\n```\n1\n```\n\n```julia\nplot()\n```\n\n"
        "```julia\nprint()\n```\n\n```\nred\n```\n\n```julia\nfail()\n```\n\n```\nValueError: no\n```\n\n**bold**\n"
    )


def test_a_notebook_of_large_outputs_stays_small():
    big = {"output_type": "stream", "text": "x" * 100_000}
    made = read(NotebookHandler(), notebook(*(code("f()", big) for _ in range(300))))
    assert f"… ({100_000 - MAX_OUTPUT} more characters)" in made
    assert len(made) < 300_000


def test_fences_are_longer_than_those_in_code():
    assert "````julia\n```\n````" in read(NotebookHandler(), notebook(code("```")))


@pytest.mark.parametrize("body", ["", "text", "[]", "{}", '{"cells": 1}', '{"cells": null}'])
def test_what_is_no_notebook_is_said(body: str):
    with pytest.raises(NotANotebookError):
        read(NotebookHandler(), body)


def test_cells_that_are_none_are_passed_over():
    assert (
        read(NotebookHandler(), notebook("x", {"cell_type": "code"}, code(3, 4, {"data": 1})))
        == "\n"
    )  # type: ignore[arg-type]


def pdf(*texts: str, password: str | None = None) -> bytes:
    """A PDF with a page for each text, and an outline entry for each."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    kinds = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in kinds.items()})
    for number, text in enumerate(texts):
        page = writer.add_blank_page(300, 300)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): writer._add_object(font)})}
        )
        stream = DecodedStreamObject()
        lines = "".join(f"({line}) Tj 0 -14 Td " for line in text.split("\n"))
        stream.set_data(f"BT /F1 12 Tf 20 200 Td {lines}ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
        writer.add_outline_item(title=f"Chapter {number + 1}", page_number=number)
    writer.add_metadata({"/Title": "The manual"})
    if password:
        writer.encrypt(password)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_pdf_is_its_text_below_the_headings_of_its_outline():
    made = read(PdfHandler(), pdf("Words of a docu-\nment.", "More words."))
    assert (
        made
        == "# The manual\n\n## Chapter 1\n\nWords of a document.\n\n## Chapter 2\n\nMore words.\n"
    )


def test_headings_of_a_pdf_stand_where_the_page_has_them_and_page_numbers_go():
    made = read(
        PdfHandler(),
        pdf("Before it.\nCHAPTER 1\n# Words.\n17", "ii\nAll. . . . . . . . 4\nChapter 2\nEnd."),
    )
    assert made == (
        "# The manual\n\nBefore it.\n\n## CHAPTER 1\n\n\\# Words.\n\nAll … 4\n\n## Chapter 2\n\nEnd.\n"
    )


@pytest.mark.parametrize("body", [b"", b"no pdf", pdf("x")[:200]], ids=["empty", "text", "half"])
def test_what_is_no_pdf_is_said(body: bytes):
    with pytest.raises(PdfError, match="it cannot be read"):
        read(PdfHandler(), body)


def test_an_openapi_file_whose_references_turn_in_circles_ends():
    node = {"$ref": "#/components/schemas/Node"}
    answer = {"200": {"content": {"application/json": {"schema": node}}}}
    schemas = {
        "Node": {"type": "object", "properties": {"child": node, "name": {"type": "string"}}},
        "Loop": {"$ref": "#/components/schemas/Loop"},
    }
    api = {
        "openapi": "3.1.0",
        "info": {"title": "Tree"},
        "paths": {"/a": {"get": {"responses": answer}}},
        "components": {"schemas": schemas},
    }
    made = read(OpenApiHandler(), json.dumps(api))
    assert "| `child` |" in made
    assert len(made) < 10_000


@pytest.mark.parametrize(
    ("mime_type", "name", "body", "listed", "expected"),
    [
        ("application/json", "a.ipynb", b'{"cells": []}', True, "notebook"),
        ("application/json", "a.ipynb", b'{"cells": []}', False, None),
        ("application/json", "a.json", b'{"openapi": "3.0.0"}', True, "openapi"),
        ("application/json", "a.json", b'{"other": 1}', True, None),
        ("text/plain", "a.yaml", b"swagger: '2.0'", True, "openapi"),
        ("text/x-rst", "a.rst", b"A\n=", True, None),
        ("text/html", "a.ipynb", b"<p>", True, None),
        ("application/pdf", "a.pdf", b"%PDF", True, None),
    ],
)
def test_a_file_is_known_by_its_type_or_name_and_its_first_bytes(
    mime_type, name, body, listed, expected
):
    found = Formats().reader(mime_type, f"https://e.com/{name}?v=1", body, listed=listed)
    assert found == (FORMATS[expected].reader if expected else None)


def test_a_mode_says_which_files_are_pages():
    formats = Formats.parse("pdf=linked, notebook = off")
    assert formats.extensions("linked") == {"pdf"}
    assert "ipynb" not in formats.extensions("listed")
    assert {"pdf", "json"} <= formats.extensions("listed")
    assert formats.reader("application/pdf", "https://e.com/a", b"%PDF", listed=False)
    assert (
        formats.reader("application/json", "https://e.com/a.ipynb", b'{"cells": []}', listed=True)
        is None
    )
    assert (
        Formats.parse('{"openapi": "off"}').modes["openapi"]
        == Formats.parse({"openapi": "off"}).modes["openapi"]
        == "off"
    )
    assert Formats().fingerprint == "" != formats.fingerprint


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("word=linked", "'word' is no format: accepted are openapi, notebook, pdf"),
        ("pdf=on", "pdf='on': accepted are off, listed, linked"),
        ("pdf", "pdf='': accepted are"),
        ("{", "a mode by format is accepted"),
        (3, "a mode by format is accepted"),
    ],
)
def test_a_wrong_mode_is_one_line(value: object, said: str):
    with pytest.raises(ValueError, match="accepted") as wrong:
        Formats.parse(value)
    assert said in str(wrong.value)
