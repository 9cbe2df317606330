"""Markdown of strangers as HTML that loads nothing and runs nothing, and templates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import DictLoader, Environment, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from llmsspider.crawler.progress import duration
from llmsspider.diff.render import folded_in_words, headline, in_words, lines_of
from llmsspider.items import THIRD_PARTY
from llmsspider.output.status import ending, facts, url_groups

ASSETS = files("llmsspider.ui").joinpath("assets")
TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
MAX_RENDERED = 400_000
"""Characters of a page that are rendered; the rest is in its raw Markdown."""


@cache
def _markdown(*, with_pictures: bool) -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.add_render_rule("link_open", _link_open)
    if not with_pictures:
        made.add_render_rule("image", _picture_named)
    return made


def _link_open(
    renderer: RendererHTML,
    tokens: list[Token],
    index: int,
    options: Mapping[str, Any],
    environment: Mapping[str, Any],
) -> str:
    tokens[index].attrSet("rel", "noreferrer nofollow")
    return renderer.renderToken(tokens, index, options, environment)  # type: ignore[arg-type]


def _picture_named(
    renderer: RendererHTML,
    tokens: list[Token],
    index: int,
    options: Mapping[str, Any],
    environment: Mapping[str, Any],
) -> str:
    """Return the text of a picture and a link to it in the place of the picture."""
    token = tokens[index]
    source = str(token.attrGet("src") or "")
    text = renderer.renderInlineAsText(token.children or [], options, environment)  # type: ignore[arg-type]
    address = escape(source)
    return f'<a class="picture" rel="noreferrer" href="{address}">picture: {escape(text or source)}</a>'


def as_html(markdown: str, *, with_pictures: bool = False) -> Markup:
    """Return Markdown as HTML, without raw HTML; pictures are named, and loaded only if asked."""
    made = _markdown(with_pictures=with_pictures).render(markdown[:MAX_RENDERED])
    for scrolls in ("pre", "table"):  # by keyboard, too; in text, `<` is escaped
        made = made.replace(f"<{scrolls}>", f'<{scrolls} tabindex="0">')
    return Markup(made)  # noqa: S704  # the renderer escapes, raw HTML is off


def marked(text: str, words: list[str]) -> Markup:
    """Return text in which the words of a query are marked; matching ignores case.

    >>> marked("Wait <here>", ["wait"])
    Markup('<mark>Wait</mark> &lt;here&gt;')
    """
    lowered = text.lower()
    pieces: list[str] = []
    place = 0
    while place < len(text):
        starts = [(at, word) for word in words if (at := lowered.find(word, place)) >= 0]
        if not starts:
            break
        at, word = min(starts, key=lambda start: (start[0], -len(start[1])))
        pieces += [str(escape(text[place:at])), f"<mark>{escape(text[at : at + len(word)])}</mark>"]
        place = at + len(word)
    return Markup("".join(pieces) + str(escape(text[place:])))  # noqa: S704  # escaped piece by piece


def address(path: str, **parameters: object) -> str:
    """Return the address of a view; parameters that are None are left out.

    >>> address("/source", name="e.com/a b", tab=None)
    '/source?name=e.com%2Fa+b'
    """
    given = {name: str(value) for name, value in parameters.items() if value is not None}
    return quote(path) + (f"?{urlencode(given)}" if given else "")


def moment(value: datetime | str | None) -> str:
    """Return a time as a reader wants it: to the minute, UTC."""
    if value is None:
        return "never"
    time = datetime.fromisoformat(value) if isinstance(value, str) else value
    return time.strftime("%Y-%m-%d %H:%M")


@cache
def environment() -> Environment:
    """Return the templates, which escape all that they are given."""
    names = [one.name for one in ASSETS.iterdir() if one.name.endswith(".j2")]
    made = Environment(
        loader=DictLoader({name: ASSETS.joinpath(name).read_text("utf-8") for name in names}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    functions = (address, folded_in_words, headline, in_words, lines_of)
    made.globals |= {one.__name__: one for one in functions}
    made.globals |= {
        "MAX_RENDERED": MAX_RENDERED,
        "third_party": THIRD_PARTY,
        "served": False,
        "style": "",
        "refresh": 0,
        "summary": False,
        "nights": (),
        "changes": None,
        "documents": (),
    }
    made.filters |= {"moment": moment, "markdown": as_html}
    made.filters |= {one.__name__: one for one in (duration, ending, facts, url_groups)}
    made.tests["web"] = lambda url: str(url).startswith(("https://", "http://"))
    return made


def asset(name: str) -> tuple[bytes, str] | None:
    """Return a style sheet or script and its media type; None where there is none of that name."""
    media_type = TYPES.get(name.rpartition(".")[2])
    file = ASSETS.joinpath(name)
    return (file.read_bytes(), media_type) if media_type and file.is_file() else None


def style() -> Markup:
    """Return the style sheet, for a page that loads nothing."""
    return Markup(ASSETS.joinpath("ui.css").read_text("utf-8"))  # noqa: S704  # our own


def render(template: str, **values: Any) -> str:
    """Return a page of the template."""
    return environment().get_template(template).render(**values)
