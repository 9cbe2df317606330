"""llmsspider: a documentation site as clean, current Markdown, with Scrapy and llms.txt."""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`llmsspider.resolve`, `search` and `Addon`, imported at their first use: they bring the store along."""
    if name == "Addon":
        from llmsspider.crawl.spiderrun import Addon  # noqa: PLC0415

        return Addon
    if name == "resolve":
        from llmsspider.launch.api import resolve  # noqa: PLC0415

        return resolve
    if name == "search":
        from llmsspider.answers.library import search  # noqa: PLC0415

        return search
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
