"""What stands around the text of pages of no known generator goes; what is the page stays, whatever it is called."""

from __future__ import annotations

import pytest

from llmsspider.content.extraction import convert

TEXT = (
    "A widget turns the wheel of the machine, the machine turns the mill, and the mill grinds the"
    " corn of the whole village until the evening."
)
BODY = f"<div class=body><h1>Mills</h1>{f'<p>{TEXT}</p>' * 10}</div>"
SHORT = "<p>The miller turns it by hand where no water runs, and there is no wind.</p>"
TEASERS = "".join(
    f"<div class=card><img src=/{name}.png><a href=/{name}>About {name}</a><p>A short word.</p></div>"
    for name in ("wheels", "axles", "cogs")
)


def markdown_of(body: str, title: str = "Mills") -> str:
    html = f"<html><head><title>{title}</title></head><body>{body}</body></html>"
    return convert(html.encode(), "https://widget.example.org/mills", "utf-8").markdown


@pytest.mark.parametrize(
    "around",
    [
        pytest.param(f"{BODY}<section><h2>More to read</h2>{TEASERS}</section>", id="teasers"),
        pytest.param(f"{BODY}<div><p>Fitted by Ann.</p></div>", id="a label"),
        pytest.param(f"<div>{BODY}</div><div><a href=/all>All mills</a></div>", id="a link"),
        pytest.param(
            BODY.replace("<h1>Mills</h1>", "<h1>Mills</h1><div class=author-box>By Ann</div>"),
            id="who wrote it",
        ),
        pytest.param(
            BODY.replace("</h1>", f"</h1><div class=author-pane><p>{TEXT * 4}</p></div>"),
            id="much about who wrote it",
        ),
        pytest.param(
            BODY.replace(
                "</div>", f"<div><b>News</b><form><input></form></div><p>{TEXT}</p></div>"
            ),
            id="a form",
        ),
    ],
)
def test_what_stands_around_an_article_goes(around):
    text = markdown_of(f"<main>{around}</main>")
    assert text.startswith("# Mills\n")
    assert set(text.split("\n")[1:]) == {"", TEXT}


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(f"<h3>You may also like</h3>{TEASERS}", id="what else is sold"),
        pytest.param(f"<h2>Similar threads</h2><dl><dt>Cogs<dd>{SHORT}</dl>", id="other threads"),
        pytest.param(f"<div><h4>Latest news:</h4></div>{TEASERS}", id="news"),
        pytest.param("<h3>Sign up for our newsletter</h3><p>Each week.</p>", id="a newsletter"),
    ],
)
def test_a_section_amid_the_text_goes_by_its_heading(section):
    body = BODY.replace("</h1>", f"</h1><p>{TEXT}</p><div>{section}</div>")
    assert set(markdown_of(f"<main>{body}</main>").split("\n")[1:]) == {"", TEXT}


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(f"<h2>Related articles</h2>{f'<p>{TEXT}</p>' * 9}", id="most of the text"),
        pytest.param("<h2>Similar items</h2><pre>turn()</pre>", id="code"),
        pytest.param(f"<h2>Related work</h2>{SHORT}", id="a heading of the author"),
    ],
)
def test_a_section_of_the_text_stays_whatever_its_heading(section):
    heading = section.partition("</h2>")[0].removeprefix("<h2>")
    body = BODY.replace("</h1>", f"</h1><p>{TEXT}</p><div>{section}</div>")
    assert f"## {heading}\n" in markdown_of(f"<main>{body}</main>")


@pytest.mark.parametrize(
    ("beside", "kept"),
    [
        pytest.param("<h2>Code</h2><pre>turn()</pre>", "turn()", id="code"),
        pytest.param("<table><tr><th>Cogs<tr><td>12</table>", "Cogs", id="a table with a head"),
        pytest.param("<dl><dt>Cog<dd>A tooth.</dl>", "A tooth.", id="definitions"),
    ],
)
def test_what_is_no_boilerplate_below_an_article_stays(beside, kept):
    assert kept in markdown_of(f"<main>{BODY}<div>{beside}{SHORT}</div></main>")


def test_the_items_of_a_list_stay_with_the_forms_and_names_they_have():
    items = "".join(
        f"<div class=tile><a href=/{name}>Cog {name}</a> costs {name} <form class=buy><input></form></div>"
        for name in ("one", "two", "three", "four")
    )
    text = markdown_of(f"<main><h1>Cogs</h1><div>{items}</div></main>", "Cogs")
    assert [name for name in ("one", "two", "three", "four") if f"costs {name}" in text] == [
        "one", "two", "three", "four"
    ]  # fmt: skip
    posts = "".join(f"<div class=comment><p>{n}. {TEXT}</p></div>" for n in range(30))
    assert markdown_of(f"<main><h1>Mills</h1>{posts}</main>").count(TEXT) == 30


def test_a_page_that_is_no_article_keeps_what_is_below_its_text():
    text = markdown_of(f"<main><h1>Mills</h1><div><p>{TEXT}</p></div>{TEASERS * 4}</main>")
    assert text.count("About wheels") == 4


def test_a_list_of_links_is_whole_where_little_else_is_said():
    links = "".join(
        f"<div><h3><a href=/{n}>The mill of the village {n}</a></h3></div>" for n in range(20)
    )
    text = markdown_of(f"<div><div class=intro><p>{TEXT}</p></div><div>{links}</div></div>")
    assert text.count("The mill of the village") == 20
    assert TEXT in text


@pytest.mark.parametrize(
    ("name", "share"),
    [("customer-reviews", 8), ("related", 4), ("site-notices", 4), ("consent-dialog", 12)],
)
def test_long_blocks_that_readers_and_banners_add_go_from_any_page(name, share):
    added = f"<div class='{name}'>{'<p>Fine mill, I would buy it again.</p>' * share}</div>"
    page = f"<main><h1>Mills</h1><div>{SHORT * 4}</div>{added}</main>"
    text = markdown_of(page)
    assert "buy it again" not in text
    assert text.count("The miller turns it by hand") == 4


def test_a_page_of_reviews_keeps_them():
    reviews = f"<div class=reviews>{f'<p>{TEXT}</p>' * 5}</div>"
    page = f"<main><h1>Mills</h1><div>{SHORT}</div>{reviews}</main>"
    assert markdown_of(page).count(TEXT) == 5
