"""The llms.txt format (https://llmstxt.org): locations, what counts as one, its parser.

In: text and URLs. Out: an `LlmsTxt` with its entries. Pure: nothing here fetches. `discovery` and rooms
above it import it.
"""

from llmsspider.site.llmstxt.content import (
    MAX_BYTES,
    candidates,
    classify,
    directory_url,
    is_llms_url,
    reject_reason,
)
from llmsspider.site.llmstxt.parser import Entry, LlmsTxt, parse

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
