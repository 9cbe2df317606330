"""Nights on which a site answers with status 200 and something else than its pages: nothing false is said of them."""

from __future__ import annotations

import pytest
from site_server import Reply
from sites import html

NAMES = [f"/p{index:02}.html" for index in range(30)]
WORDS = (
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "sigma",
)
SIGN_IN = "<html><title>Sign in</title><body><form><h1>Sign in</h1><input type='password'></form></body></html>"
DENIED = "<html><title>Docs</title><body><h1>No way in</h1><p>Not for you: {path}. Id 18.{number}af</p></body></html>"
SHELL = "<html><head><title>Docs</title></head><body><div id='view'></div></body></html>"
MISSING = "<html><title>Page not found</title><body><h1>Page not found</h1><p>There is no such page.</p></body></html>"
QUICK = {"RETRY_TIMES": 0, "AUTOTHROTTLE_MAX_DELAY": 0}


def page(name: str, edition: int = 1) -> str:
    """A page of which each has words of its own; the first ones lead to the last ones."""
    number = NAMES.index(name)
    own = " ".join(f"{word}{number}" for word in WORDS)
    link = f"<a href='{NAMES[-number - 1]}'>more</a>" if number < 5 else ""
    return html(
        f"Page {number}",
        f"<p>Edition {edition} of {own}.</p><p>More to read of {number}.</p>{link}",
    )


def pages() -> dict:
    links = "".join(f"<li><a href='{name}'>{name}</a></li>" for name in NAMES[:-5])
    return {
        "/": html("Home", f"<p>Welcome to all of this.</p><ul>{links}</ul>"),
        **{name: page(name) for name in NAMES},
    }


def first_night(site, run_crawl) -> None:
    site.pages = pages()
    assert len(run_crawl(f"{site.url}/", settings=QUICK).documents) == 31


def told(outcome, base: str) -> dict[str, str]:
    """The pages that are not as they were, by path."""
    changed = {row["url"].removeprefix(base): row["change"] for row in outcome.documents}
    assert len(changed) == len(outcome.documents)
    return {path: change for path, change in changed.items() if change != "unchanged"}


def denied(name: str) -> str:
    return DENIED.replace("{path}", name).replace("{number}", name[2:4])


@pytest.mark.parametrize(
    ("wall", "pages_behind", "kind", "exit_code"),
    [
        pytest.param(lambda name: SIGN_IN, NAMES[:1], "auth", 0, id="a login on one page"),
        pytest.param(
            denied,
            [*NAMES[:3], NAMES[-1]],
            "http",
            3,
            id="a text that differs in ids on four pages",
        ),
        pytest.param(
            denied, ["/", *NAMES], "http", 3, id="the same on every page, the start page too"
        ),
        pytest.param(
            lambda name: SIGN_IN, ["/"], "auth", 0, id="a login in place of the start page"
        ),
        pytest.param(lambda name: SHELL, NAMES[2:6], "http", 3, id="an empty shell on four pages"),
        pytest.param(
            lambda name: Reply("", 302, headers={"Location": "/login?next=/"}),
            NAMES[:4],
            "auth",
            3,
            id="302",
        ),
        pytest.param(
            lambda name: Reply("", 301, headers={"Location": "/login"}),
            ["/"],
            "auth",
            3,
            id="start to login",
        ),
    ],
)
def test_a_wall_is_an_outage(begun, run_crawl, wall, pages_behind, kind, exit_code):
    site, _ = begun(first_night)
    site.pages["/login"] = SIGN_IN
    site.pages[NAMES[8]] = page(NAMES[8], 2)
    for name in pages_behind:
        site.pages[name] = wall(name)
    night = run_crawl(f"{site.url}/", settings=QUICK)
    edited = {} if NAMES[8] in pages_behind else {NAMES[8]: "changed"}
    assert told(night, site.url) == edited
    assert len(night.documents) == 31
    assert night.exit_code == exit_code
    assert night.stats[f"llms/errors/{kind}"] == len(pages_behind)
    site.pages.update(pages() | {NAMES[8]: page(NAMES[8], 2)})
    after = run_crawl(f"{site.url}/", settings=QUICK)
    changed = {NAMES[8]: "changed"} if NAMES[8] in pages_behind else {}
    assert (after.exit_code, told(after, site.url)) == (0, changed)


@pytest.mark.parametrize("answer", [SHELL, MISSING], ids=["empty", "soft-404"])
def test_empty_and_missing_pages_are_deleted_in_the_second_night(begun, run_crawl, answer):
    site, _ = begun(first_night)
    site.pages[NAMES[1]] = answer
    assert told(run_crawl(f"{site.url}/", settings=QUICK), site.url) == {}
    second = run_crawl(f"{site.url}/", settings=QUICK)
    assert told(second, site.url).get(NAMES[1]) == "deleted"


def test_what_was_rewritten_is_delivered_the_same_night_and_another_page_the_second(
    begun, run_crawl
):
    site, _ = begun(first_night)
    rewritten = "<p>Nothing here is what it was before.</p><a href='/new.html'>new</a>"
    site.pages[NAMES[0]] = html("Page 0", rewritten)
    site.pages[NAMES[1]] = html("Two", "<p>This moved elsewhere.</p>")
    site.pages["/new.html"] = html("New", "<p>Short and new.</p>")
    night = run_crawl(f"{site.url}/", settings=QUICK)
    assert told(night, site.url) == {NAMES[0]: "changed", "/new.html": "new"}
    assert night.exit_code == 0
    second = run_crawl(f"{site.url}/", settings=QUICK)
    assert told(second, site.url) == {NAMES[1]: "changed"}


def test_pages_of_one_line_are_edited_the_same_night(serve, run_crawl):
    def lines(edition: str) -> dict:
        return {name: f"<p>The text of {edition} {name}.</p>" for name in NAMES[:4]}

    links = "".join(f"<a href='{name}'>{name}</a> " for name in NAMES[:12])
    others = {name: f"<p>The first text of {name}.</p>" for name in NAMES[4:12]}
    site = serve({"/": f"<p>Welcome.</p>{links}", **others, **lines("page")})
    run_crawl(f"{site.url}/", settings=QUICK)
    site.pages |= lines("another night of this page")
    night = run_crawl(f"{site.url}/", settings=QUICK)
    assert told(night, site.url) == dict.fromkeys(NAMES[:4], "changed")


def test_many_redirects_to_one_page_are_no_moves_at_once(begun, run_crawl):
    site, _ = begun(first_night)
    site.pages["/soon.html"] = html("Soon", "<p>We work on it.</p>")
    site.pages.update(
        dict.fromkeys(NAMES[10:15], Reply("", 302, headers={"Location": "/soon.html"}))
    )
    for _night in range(2):
        outcome = run_crawl(f"{site.url}/", settings=QUICK)
        assert told(outcome, site.url) == {}
        assert len(outcome.documents) == 31
    site.pages.update(dict.fromkeys(NAMES[10:15], Reply("", 301, headers={"Location": NAMES[9]})))
    assert told(run_crawl(f"{site.url}/", settings=QUICK), site.url) == {}
    last = run_crawl(f"{site.url}/", settings=QUICK)
    assert told(last, site.url) == dict.fromkeys(NAMES[10:15], "deleted")


def test_a_login_is_no_document_of_a_first_crawl(serve, run_crawl):
    site = serve({"/docs/": Reply("", 302, headers={"Location": "/login"}), "/login": SIGN_IN})
    outcome = run_crawl(f"{site.url}/docs/", settings=QUICK)
    assert (outcome.exit_code, outcome.documents) == (1, [])
    assert "redirects to a login" in outcome.log


def test_markdown_that_is_walled_is_not_taken_as_html(serve, run_crawl):
    names = [name.removesuffix(".html") for name in NAMES[:6]]
    listed = "".join(f"- [{name}]({{base}}{name}.md)\n" for name in names)
    markdown = {f"{name}.md": f"# Title of {name}\n\nMarkdown text of {name}.\n" for name in names}
    site = serve(pages() | markdown | {"/llms.txt": f"# Site\n\n## Docs\n\n{listed}"})
    arguments = {"follow": "listed"}
    believed = {"llmsspider.downloadermiddlewares.markdown_negotiation.ACCEPTED_RUNS": 2}
    first = run_crawl(f"{site.url}/", arguments=arguments, settings=QUICK).by_path(site.url)
    assert [first[f"{name}.html"]["origin"] for name in names] == ["markdown"] * 6
    login = Reply("", 302, headers={"Location": "/login"})
    site.pages |= {f"{names[0]}.md": login, f"{names[1]}.md": Reply("no", 403), "/login": SIGN_IN}
    for expected in ({}, {f"{name}.html": "changed" for name in names[:2]}):
        night = run_crawl(f"{site.url}/", arguments=arguments, settings=QUICK, constants=believed)
        assert told(night, site.url) == expected
        assert night.stats.get("llms/errors/auth", 0) == (0 if expected else 2)
        assert night.exit_code == (0 if expected else 3)


@pytest.mark.parametrize(
    ("wall", "walled", "kind"),
    [
        pytest.param(
            "<html><title>Docs</title><p>Not now.</p></html>", NAMES[:1], "http", id="one page"
        ),
        pytest.param(
            "<title>Docs</title><p>Not now.</p>", NAMES[:3], "network", id="no end tag, three"
        ),
    ],
)
def test_a_wall_without_a_form_says_what_a_new_page_with_its_text_is(
    begun, run_crawl, wall, walled, kind
):
    site, _ = begun(first_night)
    healthy = dict(site.pages)
    site.pages["/"] = site.pages["/"].replace("<ul>", "<ul><li><a href='/new.html'>new</a></li>")
    site.pages |= dict.fromkeys([*walled, "/new.html"], wall)
    night = run_crawl(f"{site.url}/", settings=QUICK)
    assert told(night, site.url) == {"/": "changed"}
    assert len(night.documents) == 31
    assert night.stats[f"llms/errors/{kind}"] >= len(walled)
    site.pages |= {
        **{name: healthy[name] for name in walled},
        "/new.html": html("New", "<p>A new page.</p>"),
    }
    assert told(run_crawl(f"{site.url}/", settings=QUICK), site.url) == {"/new.html": "new"}


def test_a_page_of_which_little_is_left_is_believed_in_the_second_night(begun, run_crawl):
    site, _ = begun(first_night)
    site.pages[NAMES[1]] = f"<html><title>Page 1</title><a href='{NAMES[2]}'>2</a></html>"
    assert told(run_crawl(f"{site.url}/", settings=QUICK), site.url) == {}
    assert told(run_crawl(f"{site.url}/", settings=QUICK), site.url) == {NAMES[1]: "changed"}


def test_a_start_page_that_leads_out_of_its_section_for_a_night_changes_no_scope(serve, run_crawl):
    below = {f"/docs{name}": page for name, page in pages().items()}
    below["/docs/"] = below["/docs/"].replace("href='/", "href='/docs/")
    shop = {
        "/": html(
            "Shop",
            "<p>Buy all of it.</p><a href='/offer.html'>offer</a><a href='/docs/p03.html'>x</a>",
        )
    }
    site = serve(below | shop | {"/offer.html": html("Offer", "<p>Only today.</p>")})
    assert len(run_crawl(f"{site.url}/docs/", settings=QUICK).documents) == 26
    site.pages["/docs/"] = Reply("", 302, headers={"Location": "/"})
    night = run_crawl(f"{site.url}/docs/", settings=QUICK)
    assert (night.exit_code, len(night.documents), told(night, site.url)) == (3, 26, {})
    site.pages["/docs/"] = below["/docs/"]
    assert told(run_crawl(f"{site.url}/docs/", settings=QUICK), site.url) == {}
    site.pages["/docs/"] = Reply("", 302, headers={"Location": "/"})
    assert told(run_crawl(f"{site.url}/docs/", settings=QUICK), site.url) == {}
    last = told(run_crawl(f"{site.url}/docs/", settings=QUICK), site.url)
    assert last["/"] == last["/offer.html"] == "new"


def test_files_that_break_off_cost_no_page(serve, run_crawl):
    """Their Content-Length is that of the half. A page that was edited too is cut in front of its last line end."""
    names = [name.removesuffix(".html") for name in NAMES[:12]]
    words = " ".join(WORDS * 3)
    texts = {
        name: f"# Title of {name}\n\nSome of {name}: {words}.\n\nThe end of {name}.\n"
        for name in names
    }
    site = serve(
        {
            "/": html("Home", "<p>Welcome.</p>"),
            **{f"{name}.md": text for name, text in texts.items()},
        }
    )
    site.etags = True
    site.pages |= {f"{name}.html": html(name, f"<p>{name}</p>") for name in names}
    site.pages["/llms.txt"] = "# Site\n\n## Docs\n\n" + "".join(
        f"- [{name}]({name}.md)\n" for name in names
    )
    assert len(run_crawl(f"{site.url}/", settings=QUICK).documents) == 13
    whole = dict(site.pages)
    for path, half in (
        ("/llms.txt", whole["/llms.txt"][:-60]),
        ("/llms.txt", whole["/llms.txt"][:-20]),
        (f"{names[0]}.md", texts[names[0]][:90]),
        (f"{names[1]}.md", f"# Title of {names[1]}\n\nNothing of what was there before is th"),
    ):
        site.pages = whole | {path: half}
        night = run_crawl(f"{site.url}/", settings=QUICK)
        assert (told(night, site.url), len(night.documents)) == ({}, 13)
        assert night.exit_code == 0


def test_a_full_text_file_that_breaks_off_or_is_away_costs_no_page(serve, run_crawl):
    names = NAMES[:12]
    texts = {
        name: f"# Title of {name}\nSource: {{base}}{name}\n\nSome of {name}: {' '.join(WORDS)}.\n"
        for name in names
    }
    page_of = {
        name: html(f"Title of {name}", f"<p>Some of {name}: {' '.join(WORDS)}.</p>")
        for name in names
    }
    links = "".join(f"<a href='{name}'>{name}</a>" for name in names)
    site = serve(
        {
            "/": html("Home", f"<p>Welcome.</p>{links}"),
            **page_of,
            "/llms-full.txt": "\n".join(texts.values()),
        }
    )
    first = run_crawl(f"{site.url}/", settings=QUICK)
    assert first.stats["llms/origin/llms-full"] == 12
    whole = site.pages["/llms-full.txt"]
    for night in (whole[: whole.index(f"Some of {names[6]}") + 30], Reply("", 503), whole):
        site.pages["/llms-full.txt"] = night
        outcome = run_crawl(f"{site.url}/", settings=QUICK)
        assert (told(outcome, site.url), len(outcome.documents)) == ({}, 13)
