"""Split a full-text file (llms-full.txt and its like) into the pages it was made of.

Every generator joins pages in its own way; a file is scanned once for all of them, the rule that
explains it best is chosen, and a second scan cuts. Files are read as a stream: what is kept is where
the pages begin and the page at hand.
"""

from llmsspider.llmsfull.split import (
    FullPage,
    Leftover,
    Report,
    UnsplittableError,
    cut,
    inspect,
    looks_split,
    read_whole,
    split,
)

__all__ = [
    "FullPage",
    "Leftover",
    "Report",
    "UnsplittableError",
    "cut",
    "inspect",
    "looks_split",
    "read_whole",
    "split",
]
