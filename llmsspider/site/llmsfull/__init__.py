"""Split a full-text file (llms-full.txt and its like) into the pages it was made of.

In: a file or a seekable stream. Out: a `SplitReport`, then pages, streamed. Every generator joins pages in its own
way; a file is scanned once for all of them, the rule that explains it best is chosen, and a second scan cuts. Memory
holds the boundaries and one page. `llmstxt` and rooms above it
import it.
"""

from llmsspider.site.llmsfull.split import (
    FullPage,
    Leftover,
    SplitReport,
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
    "SplitReport",
    "UnsplittableError",
    "cut",
    "inspect",
    "looks_split",
    "read_whole",
    "split",
]
