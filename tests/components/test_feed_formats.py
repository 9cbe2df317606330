"""Feeds of documents with text that a format has no form for."""

from __future__ import annotations

import io

from lxml import etree
from stores import record

from llmsspider.output.feeds import XmlExporter


def test_an_xml_feed_is_xml_whatever_a_title_holds() -> None:
    file = io.BytesIO()
    exporter = XmlExporter(file)
    exporter.start_exporting()
    exporter.export_item({"title": "a\x1b\x00b\ufffe", "content": record("x", "a\x08b").content})
    exporter.finish_exporting()
    item = etree.fromstring(file.getvalue()).find("item")
    assert [node.text for node in item] == ["ab", "ab"]
