"""The llms.txt format (https://llmstxt.org): where files may lie, what counts as one, what one says.

Pure functions over text and URLs; nothing here fetches anything.
"""

from llmsspider.llmstxt.content import (
    MAX_BYTES,
    candidates,
    classify,
    directory_url,
    is_llms_url,
    reject_reason,
)
from llmsspider.llmstxt.parser import Entry, LlmsTxt, parse

__all__ = [
    "MAX_BYTES",
    "Entry",
    "LlmsTxt",
    "candidates",
    "classify",
    "directory_url",
    "is_llms_url",
    "parse",
    "reject_reason",
]
