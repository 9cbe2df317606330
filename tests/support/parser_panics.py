"""A Markdown parser that fails as pyromark does where Rust panics."""

from __future__ import annotations


class PanicException(BaseException):  # the name pyo3 gives it
    pass


class BrokenParser:
    """Stands in for `llmsspider.content.markdown.commonmark._PARSER`; raises `raised` after the first event."""

    def __init__(self, raised=PanicException):
        self.raised = raised

    def events(self, text, *, merge_text):
        yield {"Start": "Paragraph"}
        raise self.raised("index out of bounds")

    def events_with_range(self, text, *, merge_text):
        raise self.raised("index out of bounds")
