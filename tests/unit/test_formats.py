"""Notebooks and documents as Markdown; which files of which formats are read."""

from __future__ import annotations

import json

import pytest
from office_files import book, packed, pdf, sheet, slides, word

from llmsspider.content.formats import FORMATS, Formats, office
from llmsspider.content.formats.documents import (
    MAX_OUTPUT,
    NotebookHandler,
)
from llmsspider.content.formats.office import (
    OfficeHandler,
    PdfHandler,
    UnreadableError,
    WordHandler,
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


@pytest.mark.parametrize(
    ("level", "marks"), [(2, "##"), (10**12, "######"), (0, "#"), (-1, "#"), ("3", "#")]
)
def test_a_heading_of_an_old_notebook_has_a_level_of_markdown(level: object, marks: str):
    cell = {"cell_type": "heading", "level": level, "source": "Title"}
    body = json.dumps({"worksheets": [{"cells": [cell]}]}).encode()
    read = NotebookHandler().read(body, "https://docs.example.com/a.ipynb", "", None)
    assert read == f"{marks} Title\n"


def test_a_notebook_of_large_outputs_stays_small():
    big = {"output_type": "stream", "text": "x" * 100_000}
    made = read(NotebookHandler(), notebook(*(code("f()", big) for _ in range(300))))
    assert f"… ({100_000 - MAX_OUTPUT} more characters)" in made
    assert len(made) < 300_000


def test_fences_are_longer_than_those_in_code():
    assert "````julia\n```\n````" in read(NotebookHandler(), notebook(code("```")))


@pytest.mark.parametrize("body", ["", "text", "[]", "{}", '{"cells": 1}', '{"cells": null}'])
def test_what_is_no_notebook_is_said(body: str):
    with pytest.raises(UnreadableError):
        read(NotebookHandler(), body)


def test_cells_that_are_none_are_passed_over():
    assert (
        read(NotebookHandler(), notebook("x", {"cell_type": "code"}, code(3, 4, {"data": 1})))
        == "\n"
    )  # type: ignore[arg-type]


FILES = {
    "pdf": (
        PdfHandler,
        pdf("# Kettle\n\nIt boils.\n\n- water\n"),
        "# Kettle\n\nIt boils.\n\n- water\n",
    ),
    "docx": (
        WordHandler,
        word("# Kettle", "It *boils*.", "- water", "- heat", "Key | Use", "lid | shuts"),
        "# Kettle\n\nIt \\*boils\\*.\n\n- water\n- heat\n\n| Key | Use |\n| --- | --- |\n| lid | shuts |\n",
    ),
    "pptx": (
        OfficeHandler,
        slides(("Kettle", "It boils."), ("Lid", "It shuts.")),
        "## Kettle\n\nIt boils.\n\n## Lid\n\nIt shuts.\n",
    ),
    "xlsx": (
        OfficeHandler,
        sheet("Limits", ("Plan", "Cups"), ("small", 2)),
        "## Limits\n\n| Plan | Cups |\n| --- | --- |\n| small | 2 |\n",
    ),
    "epub": (
        OfficeHandler,
        book(
            "The kettle",
            "<h1>One</h1><pre><code class='language-py'>a()</code></pre>",
            "<h1>Two</h1><p>End.</p>",
        ),
        "# One\n\n```py\na()\n```\n\n# Two\n\nEnd.\n",
    ),
}


@pytest.mark.parametrize("ending", FILES)
def test_a_document_is_its_headings_text_lists_tables_and_code(ending):
    handler, body, expected = FILES[ending]
    made = handler().read(body, f"https://e.com/a.{ending}", "application/octet-stream", None)
    assert (made if isinstance(made, str) else made.markdown) == expected


def test_an_epub_says_its_title_and_language():
    made = OfficeHandler().read(book("The kettle", "<p>x</p>"), "https://e.com/a", "", None)
    assert (made.meta.title, made.meta.language) == ("The kettle", "en")


@pytest.mark.parametrize("handler", [PdfHandler, WordHandler, OfficeHandler])
@pytest.mark.parametrize(
    "body",
    [b"", b"text", FILES["pdf"][1][:200], FILES["docx"][1][:200], packed({"a": "b"})],
    ids=["empty", "text", "half a PDF", "half a zip", "another zip"],
)
def test_what_cannot_be_read_is_said_in_a_line(handler, body):
    with pytest.raises(UnreadableError, match=r"it cannot be read: .") as said:
        handler().read(body, "https://e.com/a", "", None)
    assert "\n" not in str(said.value)


def test_a_document_that_unpacks_to_more_than_fits_is_not_read(monkeypatch):
    """As packed, it fits; the limit is lower here, as half a gigabyte takes seconds to pack."""
    assert office.MAX_UNPACKED == 512 << 20
    monkeypatch.setattr(office, "MAX_UNPACKED", 2 << 20)
    body = packed({f"word/{number}.xml": "\0" * 2**18 for number in range(9)})
    assert len(body) < 2**18
    with pytest.raises(UnreadableError, match="its parts are larger than 2 MB"):
        WordHandler().read(body, "https://e.com/a", "", None)


def test_an_encrypted_pdf_is_said():
    from pdf_oxide import PdfDocument

    closed = PdfDocument.from_bytes(pdf("# Kettle\n")).to_bytes_encrypted("one", "two")
    with pytest.raises(UnreadableError, match="it is encrypted, or pictures of pages"):
        PdfHandler().read(bytes(closed), "https://e.com/a", "", None)


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
        ("application/pdf", "a", b"%PDF-1.7", True, "pdf"),
        ("application/pdf", "a.pdf", b"%PDF-1.7", False, None),
        ("application/octet-stream", "a.docx", b"PK\x03\x04", True, "word"),
        ("text/html", "a.epub", b"PK\x03\x04", True, None),
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
    assert {"pdf", "json", "docx", "pptx", "xlsx", "epub"} <= formats.extensions("listed")
    assert formats.reader("application/pdf", "https://e.com/a", b"%PDF-1.7", listed=False)
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
        (
            "rtf=linked",
            "'rtf' is no format: accepted are openapi, notebook, pdf, word, powerpoint, excel, epub",
        ),
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
