"""Find everything a site offers about itself before its first page is crawled.

The cascade: llms.txt at every place it may lie, the llms files it links, llms-full.txt, sitemaps; each
level adds to the one before. Fetching is the caller's: `discover` only knows a `Fetch`.
"""

from llmsspider.discovery.cascade import discover, read_described
from llmsspider.discovery.model import (
    Discovery,
    Fetch,
    FetchResult,
    FilteredLink,
    FullText,
    LlmsFile,
    Options,
    Probe,
    Seed,
)

__all__ = [
    "Discovery",
    "Fetch",
    "FetchResult",
    "FilteredLink",
    "FullText",
    "LlmsFile",
    "Options",
    "Probe",
    "Seed",
    "discover",
    "read_described",
]
