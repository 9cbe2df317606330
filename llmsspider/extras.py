"""The extras of the package: what a plain install omits, and the line that says which one is missing."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

Extra = Literal["browser", "embeddings", "mcp", "parquet", "pdf", "postgresql", "redis", "s3"]

MODULES: dict[Extra, tuple[str, ...]] = {
    "browser": ("scrapy_playwright", "playwright"),
    "embeddings": ("numpy",),
    "mcp": ("mcp",),
    "parquet": ("pyarrow",),
    "pdf": ("pypdf",),
    "postgresql": ("psycopg",),
    "redis": ("redis", "scrapy_redis"),
    "s3": ("boto3",),
}
"""The modules that each extra of pyproject.toml brings."""


def missing(extra: Extra) -> str | None:
    r"""Return how to get an extra that is not installed, to follow what needs it; None where it is.

    >>> missing("mcp") in {None, "the extra \\"mcp\\" is missing: pip install 'llmsspider[mcp]'"}
    True
    """
    if all(map(_is_installed, MODULES[extra])):
        return None
    return f"the extra \"{extra}\" is missing: pip install 'llmsspider[{extra}]'"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # it was set aside in sys.modules
        return False
