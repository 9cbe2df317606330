"""Find everything a site offers about itself before its first page is crawled.

In: the URL of a start page and a `Fetch`. Out: a `Discovery` with llms files, seeds and the section. Rooms
above it import it; it fetches nothing by itself.

The cascade: llms.txt at each of its locations, the llms files it links, llms-full.txt, sitemaps; each level adds to
the one before.
"""

from llmsspider.site.discovery.cascade import discover, read_described
from llmsspider.site.discovery.model import (
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
