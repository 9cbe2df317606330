"""The hash of a document is that of its content, byte for byte."""

from __future__ import annotations

import hashlib

import pytest

from llmsspider.items import content_hash


@pytest.mark.parametrize("content", ["# A\n", "# A", " # A\n", "# \u00e9\u65e5\n", ""])
def test_it_is_the_sha256_of_the_content_as_it_stands(content):
    assert content_hash(content) == hashlib.sha256(content.encode()).hexdigest()
