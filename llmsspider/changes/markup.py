"""Changes as one HTML page that loads nothing; what the site wrote is text in it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template

from llmsspider.changes.source import SourceChanges
from llmsspider.changes.told import folded_in_words, headline, in_words, lines_of


def html(changes: SourceChanges, *, summary: bool = False) -> str:
    """Return the page."""
    return _template().render(
        changes=changes,
        summary=summary,
        headline=headline(changes),
        folded=folded_in_words(changes),
        in_words=in_words,
        lines=lines_of,
    )


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["link"] = lambda url: url.startswith(("https://", "http://"))
    source = files("llmsspider.changes").joinpath("assets", "diff.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source)
