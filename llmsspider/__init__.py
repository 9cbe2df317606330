"""llmsspider: a documentation site as clean, current Markdown, with Scrapy and llms.txt."""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`llmsspider.resolve`, imported when it is asked for: it brings the store with it."""
    if name == "resolve":
        from llmsspider.resolving import resolve  # noqa: PLC0415

        return resolve
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
