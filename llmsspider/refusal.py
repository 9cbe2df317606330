"""The exception of every component that refuses a request or a response on purpose."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

from llmsspider.errors import ErrorKind
from llmsspider.reasons import BlockReason, FilterReason


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
