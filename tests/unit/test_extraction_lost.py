"""Pages whose text stands where its names, roles or end tags say it does not."""

import pytest

from llmsspider.content.extraction import convert

LINE = "The quick brown fox jumps over the lazy dog while the installation goes on for many steps."
OTHER = "What stands here is of the page too, and longer than a label or two of its navigation. "
POST = (
    f"<p>{LINE}</p><p>Another sentence of the same writer, with a number of words of its own.</p>"
)


def markdown_of(body: str) -> str:
    html = f"<!doctype html><html><head><title>Install</title></head><body>{body}</body></html>"
    return convert(html.encode(), "https://docs.example.org/guide/", "utf-8").markdown


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            f"<header><a href='/'>Acme</a></header></body></html><h1>Install</h1>{POST}",
            id="the page below the end tag of html",
        ),
        pytest.param(
            f"<article><h1>Install</h1><p>Opened by Ann, with {OTHER}</p></article>"
            f"<div class='c'>{f'<div class=comment>{POST}</div>' * 4}</div>",
            id="posts that are named comments and have most of the text together",
        ),
        pytest.param(
            f"<main><h1>Install</h1><p>{OTHER * 3}</p>"
            f"<p><a href='/quick' aria-hidden=true tabindex=-1>{LINE}</a></p></main>",
            id="a teaser whose link screen readers pass over",
        ),
        pytest.param(
            f"<main><h1>Install</h1><p>{OTHER * 3}</p><div role=tablist>"
            f"<div role=tab id=a>How?</div><div role=tabpanel>{POST}</div></div></main>",
            id="a list of tabs around what the tabs open",
        ),
        pytest.param(
            f"<h1>Install</h1><p>{OTHER * 3}</p><form action='/vote'><input type=hidden name=id>{POST}</form>",
            id="a form with nothing to fill in",
        ),
        pytest.param(
            f"<main><h1>Install</h1><p>{OTHER * 3}</p><h3>How?</h3>"
            f"<div class='faq__answer' style='display:none'>{POST}</div></main>",
            id="answers that a click opens",
        ),
    ],
)
def test_text_is_not_lost(body: str) -> None:
    assert LINE in markdown_of(body)


def test_the_label_of_an_accordion_stands_once() -> None:
    text = markdown_of(
        "<main><h1>Install</h1><div role=tablist><div role=tab id=how><h2>How it works</h2></div>"
        f"<div role=tabpanel aria-labelledby=how>{POST}</div></div></main>"
    )
    assert text.count("How it works") == 1


def test_comments_below_a_longer_page_stay_out() -> None:
    comments = "<div class=comment><p>First! And some more words to make it a line.</p></div>" * 2
    assert "First!" not in markdown_of(f"<article><h1>Install</h1>{POST * 5}</article>{comments}")
