"""What a site sends is shown in logs, terminals and spreadsheets, and never acted on."""

from __future__ import annotations

import csv
import io
import logging
import sys

import pytest
from stores import record

from llmsspider.output import PrintableFilter, printable, without_formula
from llmsspider.output.exports import write_csv
from llmsspider.output.feeds import CsvExporter

FORMULAS = ["=HYPERLINK('http://evil.example')", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_cells_that_a_spreadsheet_would_calculate_are_text(text):
    document = record("a", title=text).document(source="s", run="r", seq=1, change="new")
    exported, fed = io.BytesIO(), io.BytesIO()
    write_csv([document], exported)
    exporter = CsvExporter(fed)
    exporter.start_exporting()
    exporter.export_item(document)
    exporter.finish_exporting()
    for out in (exported, fed):
        (row,) = csv.DictReader(io.StringIO(out.getvalue().decode(), newline=""))
        assert row["title"] == f"'{text}"
        assert row["url"].startswith("https://e.com/")


def test_numbers_and_other_text_stay():
    assert [without_formula(cell) for cell in (-1, None, "a=b", "# Title", "")] == [
        -1,
        None,
        "a=b",
        "# Title",
        "",
    ]


def test_control_characters_are_written_out():
    assert (
        printable("a\x1b]0;title\x07\x9b31m\u202e\x00") == "a\\x1b]0;title\\x07\\x9b31m\\u202e\\x00"
    )
    assert printable("two\nlines\tä→") == "two\nlines\tä→"


def test_records_of_a_log_are_printable_with_their_tracebacks():
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.addFilter(PrintableFilter())
    logger = logging.getLogger("llmsspider.test_printable")
    logger.addHandler(handler)
    logger.setLevel("INFO")
    try:
        raise ValueError("\x1b[31mred")
    except ValueError:
        logger.error(
            "%(type)s of %(url)s", {"type": "text/\x1b[2Jhtml", "url": "x"}, exc_info=sys.exc_info()
        )
    logger.info("plain")
    logger.removeHandler(handler)
    assert "text/\\x1b[2Jhtml of x" in out.getvalue()
    assert "\\x1b[31mred" in out.getvalue()
    assert "\x1b" not in out.getvalue()
