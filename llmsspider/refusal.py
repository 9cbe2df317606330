"""The exceptions of components that refuse a request or a response on purpose, or filter a page by the scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from llmsspider.errors import ErrorKind
from llmsspider.reasons import BlockReason, FilterReason

if TYPE_CHECKING:
    from llmsspider.scope import Verdict


class RefusedRequest(IgnoreRequest):
    """Refused by a rule of this project, and never retried.

    `kind` is the page's error kind, which `llmsspider.download_errors.kind_of_exception` reads. `reason` is the
    last part of the stat that was counted. The text is one
    line for the user.
    """

    def __init__(self, message: str, *, reason: BlockReason | FilterReason, kind: ErrorKind = "blocked"):
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.reason: BlockReason | FilterReason = reason


class FilteredRequest(IgnoreRequest):
    """A page is filtered by a rule of the scope; `verdict` says which."""

    def __init__(self, verdict: Verdict):
        super().__init__(f"{verdict.reason}: {verdict.rule}")
        self.verdict = verdict
