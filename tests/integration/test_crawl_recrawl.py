"""The second crawl of a site: what is asked, what is converted, what is reported."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from crawling import command
from fault_timeouts import cut_short
from forked import HANGS_SECS
from site_server import Reply
from sites import MARKDOWN, PLAIN, html


def changes(outcome, base: str) -> dict[str, str]:
    """The change of each document, by path."""
    return {
        document["url"].removeprefix(base): document["change"] for document in outcome.documents
    }


def comparable(outcome) -> list[dict]:
    """The documents without what belongs to a run."""
    left_out = {"run", "seq", "change", "fetched_at", "status"}
    kept = [
        {k: v for k, v in document.items() if k not in left_out} for document in outcome.documents
    ]
    return sorted(kept, key=lambda document: document["url"])


def pages(number: int, **bodies: str) -> dict[str, str]:
    """A home page that links to `number` pages."""
    names = [f"/p{index}.html" for index in range(number)]
    links = "".join(f"<a href='{name}'>x</a> " for name in names)
    made = {name: html(f"Page {name[2:-5]}", f"<p>The text of page {name}.</p>") for name in names}
    nav_free = {
        path: text.replace('<a href="/guide/intro.html">Intro</a> ', "")
        for path, text in made.items()
    }
    return {"/": html("Home", f"<p>Welcome to the site.</p>{links}"), **nav_free, **bodies}


@pytest.fixture
def recrawl(run_crawl):
    """Return a function that crawls without waiting for Markdown forms."""
    return run_crawl


def test_with_etags_nothing_is_sent_or_converted_again(serve, run_crawl):
    site = serve(PLAIN)
    site.etags = True
    first = run_crawl(f"{site.url}/")
    site.clear()
    second = run_crawl(f"{site.url}/")
    assert set(changes(second, site.url).values()) == {"unchanged"}
    assert comparable(second) == comparable(first)
    pages_asked = [seen for seen in site.requests if seen.path in PLAIN and seen.path != "/"]
    assert {seen.status for seen in pages_asked} == {304}
    assert all(document["seq"] is None for document in second.documents)


def test_without_validators_equal_bodies_are_not_converted_again(serve, run_crawl, tmp_path):
    site = serve(PLAIN)
    first = run_crawl(f"{site.url}/")
    second = run_crawl(f"{site.url}/", settings={"LLMS_CONVERTER": "markdownify"})
    assert set(changes(second, site.url).values()) == {"unchanged"}
    assert comparable(second) == comparable(first)


def test_markdown_pages_are_revalidated_by_their_own_url(serve, run_crawl):
    site = serve(MARKDOWN)
    site.etags = True
    first = run_crawl(f"{site.url}/")
    site.clear()
    second = run_crawl(f"{site.url}/")
    assert comparable(second) == comparable(first)
    asked = {seen.path: seen.status for seen in site.requests if seen.path.endswith(".html.md")}
    assert asked == {"/index.html.md": 304, "/guide/intro.html.md": 304, "/guide/more.html.md": 304}


LONG = (
    "<p>Its many words say what it does and how it does it, where one looks for more of it, and which of "
    "its options are of use to those who read on.</p>"
)


def test_edits_additions_removals_and_renames_are_exactly_those_reported(serve, run_crawl):
    long = {f"/p{index}.html": html(f"Page {index}", LONG) for index in (8, 9)}
    site = serve(pages(20, **long))
    site.etags = True
    run_crawl(f"{site.url}/")
    for index in (1, 2, 3):
        site.pages[f"/p{index}.html"] = html(f"Page {index}", "<p>Edited text.</p>")
    for path in ("/p4.html", "/p5.html"):
        del site.pages[path]
    site.pages["/renamed.html"] = site.pages.pop("/p6.html")
    site.pages["/edited.html"] = html("Page 8", LONG.replace("looks for more", "finds more"))
    del site.pages["/p8.html"]
    site.pages["/p9.html"] = Reply("", 301, headers={"Location": "{base}/rewritten.html"})
    site.pages["/rewritten.html"] = html("Other", "<p>Not a word of it is what it was.</p>")
    home = site.pages["/"]
    for index in (4, 5, 7, 8, 9):  # nothing leads to them any more
        home = home.replace(f"<a href='/p{index}.html'>x</a> ", "")
    names = ("new1", "new2", "renamed", "edited", "rewritten")
    added = "".join(f"<a href='/{name}.html'>n</a>" for name in names)
    site.pages["/"] = home.replace("</main>", f"{added}</main>")
    site.pages["/new1.html"] = html("New 1", "<p>A new page.</p>")
    site.pages["/new2.html"] = html("New 2", "<p>Another new page.</p>")
    nonce = "<head><meta name='nonce' content='abc'>"
    site.pages.update(
        {
            path: text.replace("<head>", nonce)
            for path, text in site.pages.items()
            if isinstance(text, str)
        }
    )
    outcome = run_crawl(f"{site.url}/", arguments={"emit": "changes"})
    assert changes(outcome, site.url) == {
        "/": "changed",
        **{f"/p{index}.html": "changed" for index in (1, 2, 3)},
        **{f"/p{index}.html": "deleted" for index in (4, 5, 6, 8, 9)},
        **{f"/{name}.html": "new" for name in names},
    }
    tombstone = next(document for document in outcome.documents if document["change"] == "deleted")
    assert (tombstone["content"], tombstone["content_hash"], tombstone["links"]) == (None, None, [])
    assert "llms/deleted/unlinked" not in outcome.stats, "it answers: the third night decides"
    assert outcome.stats["llms/deleted/not-found"] == 2
    assert outcome.stats["llms/deleted/moved"] == 3
    former = {path: document["moved_from"] for path, document in outcome.by_path(site.url).items()}
    assert former.pop("/renamed.html") == [f"{site.url}/p6.html"]
    assert former.pop("/edited.html") == [f"{site.url}/p8.html"]
    assert former.pop("/rewritten.html") == [f"{site.url}/p9.html"]
    assert not any(former.values())
    sequence = [document["seq"] for document in outcome.documents]
    assert len(set(sequence)) == len(sequence) and None not in sequence
    nights = [run_crawl(f"{site.url}/", arguments={"emit": "changes"}) for _ in range(2)]
    assert [changes(night, site.url) for night in nights] == [{}, {"/p7.html": "deleted"}]


def test_a_night_of_timeouts_deletes_nothing(serve, run_crawl):
    site = serve(pages(14))
    first = run_crawl(f"{site.url}/")

    over = threading.Event()

    def never(_seen):
        over.wait(HANGS_SECS)
        return "late"

    site.pages |= {f"/p{index}.html": never for index in range(4)}
    options = cut_short({f"/p{index}.html": None for index in range(4)})
    options["settings"]["RETRY_TIMES"] = 0
    outcome = run_crawl(f"{site.url}/", **options)
    over.set()
    assert Counter(changes(outcome, site.url).values()) == {"unchanged": len(first.documents)}
    assert outcome.stats["llms/errors/network"] == 4
    assert comparable(outcome) == comparable(first)


def test_too_many_deletions_are_held_until_confirmed(serve, run_crawl):
    site = serve(pages(10))
    site.pages["/p0.html"] = html(
        "Page 0", "<p>The text.</p><a href='/later.html'>x</a><a href='/p9.html'>x</a>"
    )
    first = run_crawl(f"{site.url}/")
    for index in range(6):
        del site.pages[f"/p{index}.html"]
        site.pages["/"] = site.pages["/"].replace(f"<a href='/p{index}.html'>x</a> ", "")
    site.pages["/later.html"] = html("Later", "<p>Only a page that is gone linked to it.</p>")
    site.clear()
    held = run_crawl(f"{site.url}/")
    assert Counter(changes(held, site.url).values()) == {
        "unchanged": len(first.documents) - 1,
        "changed": 1,
    }
    assert len(held.documents) == len(first.documents), "each page has one row"
    assert "/later.html" not in site.paths(), "what is exported as it was stored is not followed"
    assert any("-a confirm_deletions=true" in line for line in held.lines)
    confirmed = run_crawl(f"{site.url}/", arguments={"confirm_deletions": "true"})
    assert Counter(changes(confirmed, site.url).values()) == {"unchanged": 5, "deleted": 6}


def test_a_site_that_moved_or_shrank_settles_by_itself(serve, run_crawl):
    """Half of the pages have a new address, others are gone for good: nobody has to confirm anything."""
    site = serve(pages(12))
    run_crawl(f"{site.url}/")
    home = site.pages["/"]
    for index in range(6):
        text = site.pages[f"/p{index}.html"]
        site.pages[f"/moved/p{index}.html"] = text
        site.pages[f"/p{index}.html"] = Reply(
            "", 301, headers={"Location": f"{{base}}/moved/p{index}.html"}
        )
        home = home.replace(f"'/p{index}.html'", f"'/moved/p{index}.html'")
    site.pages["/"] = home
    for index in range(7, 12):
        del site.pages[f"/p{index}.html"]
    moved = run_crawl(f"{site.url}/")
    assert Counter(changes(moved, site.url).values()) == {
        "changed": 1,
        "new": 6,
        "deleted": 6,
        "unchanged": 6,
    }
    settled = run_crawl(f"{site.url}/")
    assert Counter(changes(settled, site.url).values()) == {"unchanged": 8, "deleted": 5}
    former = {path: document["moved_from"] for path, document in settled.by_path(site.url).items()}
    assert former["/moved/p3.html"] == [f"{site.url}/p3.html"]
    assert former["/p6.html"] == []
    assert set(changes(run_crawl(f"{site.url}/"), site.url).values()) == {"unchanged"}


def test_pages_that_were_stored_from_their_markdown_move_to_pages(serve, run_crawl):
    names = [f"p{index}" for index in range(8)]

    def site_below(folder: str) -> dict[str, object]:
        listed = "".join(f"- [{name}]({folder}{name}.md)\n" for name in names)
        links = "".join(f"<a href='{folder}{name}.html'>{name}</a>" for name in names)
        found: dict[str, object] = {"/": html("Home", f"<p>Welcome.</p>{links}")}
        found["/llms.txt"] = f"# Site\n\n## Docs\n\n{listed}"
        for name in names:
            found[f"{folder}{name}.html"] = html(name, f"<p>The text of {name}.</p>")
            found[f"{folder}{name}.md"] = f"# {name}\n\nThe text of {name}.\n"
        return found

    site = serve(site_below("/"))
    assert len(run_crawl(f"{site.url}/").documents) == 9
    site.pages = site_below("/moved/")
    for path in [path for path in site.pages if path.startswith("/moved/")]:
        site.pages[path.removeprefix("/moved")] = Reply(
            "", 301, headers={"Location": f"{{base}}{path}"}
        )
    moved = Counter(changes(run_crawl(f"{site.url}/"), site.url).values())
    assert moved == {"changed": 1, "new": 8, "deleted": 8}


@pytest.mark.parametrize(
    "arguments", [{"max_pages": 3}, {"max_depth": 0}], ids=["capped", "less deep"]
)
def test_a_run_that_saw_less_deletes_nothing(serve, run_crawl, arguments):
    site = serve(PLAIN)
    run_crawl(f"{site.url}/")
    outcome = run_crawl(f"{site.url}/", arguments=arguments)
    assert "deleted" not in changes(outcome, site.url).values()
    assert set(changes(run_crawl(f"{site.url}/"), site.url).values()) == {"unchanged"}


def test_a_run_with_a_narrower_scope_judges_only_pages_inside_it(serve, run_crawl):
    site = serve(PLAIN)
    run_crawl(f"{site.url}/")
    del site.pages["/guide/deep.html"]
    outcome = run_crawl(f"{site.url}/", arguments={"block": "/guide/deep.html"})
    assert "deleted" not in changes(outcome, site.url).values()


def test_a_start_page_that_is_down_deletes_nothing(serve, run_crawl):
    site = serve(PLAIN)
    run_crawl(f"{site.url}/")
    site.pages["/"] = Reply("down", 503)
    outcome = run_crawl(f"{site.url}/", settings={"RETRY_TIMES": 0, "AUTOTHROTTLE_MAX_DELAY": 0})
    assert outcome.exit_code == 3
    site.pages["/"] = PLAIN["/"]
    assert set(changes(run_crawl(f"{site.url}/"), site.url).values()) == {"unchanged"}


def test_a_redirected_page_is_deleted_and_its_target_is_known(serve, run_crawl):
    site = serve(PLAIN)
    run_crawl(f"{site.url}/")
    site.pages["/guide/deep.html"] = Reply(
        "", 301, headers={"Location": "{base}/guide/deeper.html"}
    )
    site.pages["/guide/deeper.html"] = html("Deep", "<p>The deepest page of all.</p>")
    outcome = run_crawl(f"{site.url}/", arguments={"emit": "changes"})
    assert changes(outcome, site.url) == {
        "/guide/deep.html": "deleted",
        "/guide/deeper.html": "new",
    }
    assert outcome.by_path(site.url)["/guide/deeper.html"]["moved_from"] == [
        f"{site.url}/guide/deep.html"
    ]
    assert outcome.stats["llms/deleted/moved"] == 1


def test_refresh_asks_known_pages_only_and_deletes_only_what_is_gone(serve, run_crawl):
    site = serve(PLAIN)
    site.etags = True
    run_crawl(f"{site.url}/")
    site.clear()
    site.pages["/guide/more.html"] = html(
        "More", "<p>New words.</p><a href='/guide/fresh.html'>fresh</a>"
    )
    site.pages["/guide/fresh.html"] = html("Fresh", "<p>Fresh.</p>")
    del site.pages["/guide/deep.html"]
    outcome = run_crawl(f"{site.url}/", arguments={"mode": "refresh"})
    assert changes(outcome, site.url) == {
        "/": "unchanged",
        "/guide/intro.html": "unchanged",
        "/guide/more.html": "changed",
        "/guide/deep.html": "unchanged",
    }
    assert "/llms.txt" not in site.paths()
    assert "/guide/fresh.html" not in site.paths()
    again = run_crawl(f"{site.url}/", arguments={"mode": "refresh", "emit": "changes"})
    assert changes(again, site.url) == {"/guide/deep.html": "deleted"}, (
        "it sees no links: the second night decides"
    )


def test_refresh_keeps_what_moved_and_takes_no_new_page(serve, run_crawl):
    site = serve(PLAIN)
    first = run_crawl(f"{site.url}/")
    site.pages["/guide/deep.html"] = Reply(
        "", 301, headers={"Location": "{base}/guide/deeper.html"}
    )
    site.pages["/guide/deeper.html"] = html("Deep", "<p>The deepest page of all.</p>")
    outcome = run_crawl(f"{site.url}/", arguments={"mode": "refresh"})
    assert changes(outcome, site.url) == dict.fromkeys(changes(first, site.url), "unchanged")
    assert outcome.stats["llms/filtered/not-stored"] == 1


FULL_PAGE = "# {title}\nSource: {{base}}/{name}.html\n\n{text}\n\n"


def full_text(*names: str, edited: str = "") -> str:
    return "".join(
        FULL_PAGE.format(
            title=name.title(),
            name=name,
            text=f"The text of {name}{' anew' * (name == edited)}. " * 20,
        )
        for name in names
    )


def test_refresh_asks_a_full_text_file_once_and_pages_it_lost_for_themselves(serve, run_crawl):
    listing = "# Site\n\n## All\n\n" + "".join(
        f"- [{n.title()}]({n}.html)\n" for n in ("one", "two", "three")
    )
    home = html("Home", "<p>Welcome to the documentation of this thing.</p>")
    site = serve(
        {"/": home, "/llms.txt": listing, "/llms-full.txt": full_text("one", "two", "three")}
    )
    site.etags = True
    first = run_crawl(f"{site.url}/")
    assert Counter(document["origin"] for document in first.documents) == {
        "llms-full": 3,
        "html": 1,
    }
    site.clear()
    same = run_crawl(f"{site.url}/", arguments={"mode": "refresh"})
    assert set(changes(same, site.url).values()) == {"unchanged"}
    assert site.paths().count("/llms-full.txt") == 1
    assert comparable(same) == comparable(first)
    site.pages["/llms-full.txt"] = full_text("one", "two", edited="two")
    outcome = run_crawl(f"{site.url}/", arguments={"mode": "refresh"})
    assert changes(outcome, site.url) == {
        "/": "unchanged",
        "/one.html": "unchanged",
        "/two.html": "changed",
        "/three.html": "unchanged",
    }
    edited = outcome.by_path(site.url)["/two.html"]
    assert "anew" in edited["content"]
    assert (edited["llms"]["title"], edited["discovered_by"]) == ("Two", "llms-full.txt")
    again = run_crawl(f"{site.url}/", arguments={"mode": "refresh", "emit": "changes"})
    assert changes(again, site.url) == {"/three.html": "deleted"}


def test_refresh_keeps_the_pages_of_a_full_text_file_that_is_down(serve, run_crawl):
    listing = "# Site\n\n## All\n\n- [One](one.html)\n- [Two](two.html)\n"
    home = html("Home", "<p>Welcome to the documentation of this thing.</p>")
    site = serve({"/": home, "/llms.txt": listing, "/llms-full.txt": full_text("one", "two")})
    first = run_crawl(f"{site.url}/")
    site.pages["/llms-full.txt"] = Reply("down", 500)
    options = {"RETRY_TIMES": 0}
    outcome = run_crawl(f"{site.url}/", arguments={"mode": "refresh"}, settings=options)
    assert changes(outcome, site.url) == dict.fromkeys(changes(first, site.url), "unchanged")
    crawled = run_crawl(f"{site.url}/", settings=options)
    assert "deleted" not in changes(crawled, site.url).values()


def test_a_night_without_the_llms_txt_exports_the_complete_set(serve, run_crawl):
    """Its pages are not linked anywhere; that the file is down says nothing about them."""
    listed = {f"/p{index}.html": html(f"P{index}", f"<p>Text {index}.</p>") for index in range(6)}
    links = "".join(f"- [P{index}](p{index}.html)\n" for index in range(6))
    site = serve({**PLAIN, **listed, "/llms.txt": f"# Site\n\n## All\n\n{links}"})
    first = run_crawl(f"{site.url}/")
    text, site.pages["/llms.txt"] = site.pages["/llms.txt"], Reply("down", 503)
    night = run_crawl(f"{site.url}/", settings={"RETRY_TIMES": 0, "AUTOTHROTTLE_MAX_DELAY": 0})
    assert changes(night, site.url) == dict.fromkeys(changes(first, site.url), "unchanged")
    assert any(line.startswith("nothing is deleted") for line in night.lines)
    site.pages["/llms.txt"] = text
    assert set(changes(run_crawl(f"{site.url}/"), site.url).values()) == {"unchanged"}


def test_full_ignores_validators_and_hashes(serve, run_crawl):
    site = serve(PLAIN)
    site.etags = True
    run_crawl(f"{site.url}/")
    site.clear()
    outcome = run_crawl(f"{site.url}/", arguments={"full": "true"})
    assert not [seen for seen in site.requests if "if-none-match" in seen.headers]
    assert set(changes(outcome, site.url).values()) == {"unchanged"}


def test_a_source_is_recrawled_by_its_name(serve, run_crawl):
    site = serve(PLAIN)
    run_crawl(f"{site.url}/", arguments={"source": "mine", "block": "/guide/deep.html"})
    again = run_crawl(None, arguments={"source": "mine"})
    assert again.exit_code == 0
    assert set(changes(again, site.url)) == {"/", "/guide/intro.html", "/guide/more.html"}
    assert {document["source"] for document in run_crawl(f"{site.url}/").documents} == {"mine"}


def test_an_unknown_source_without_a_url_is_refused(run_crawl):
    outcome = run_crawl(None, arguments={"source": "nobody"})
    assert outcome.exit_code == 2
    assert "source='nobody'" in outcome.log


def test_a_recrawl_has_the_arguments_of_the_first_crawl_and_not_those_of_another(serve, run_crawl):
    site = serve(PLAIN)
    run_crawl(f"{site.url}/", arguments={"max_depth": 1})
    whole = run_crawl(f"{site.url}/", arguments={"max_depth": ""})
    again = run_crawl(f"{site.url}/")
    assert (len(whole.documents), len(again.documents)) == (4, 3)
    assert "kept with the source: max_depth=1" in again.log


def test_a_store_that_cannot_be_opened_ends_the_run_and_is_left_alone(serve, run_crawl, tmp_path):
    site = serve(PLAIN)
    run_crawl(f"{site.url}/", arguments={"source": "mine"})
    (file,) = (tmp_path / "store").glob("*.sqlite*")
    file.write_bytes(b"this is not a database, and it is long enough to be looked at" * 100)
    before = file.read_bytes()
    outcome = run_crawl(f"{site.url}/", arguments={"source": "mine"})
    assert outcome.exit_code != 0
    assert file.read_bytes() == before
    assert str(file) in outcome.log


def test_changes_can_be_replayed_by_number(serve, run_crawl, tmp_path):
    import json

    site = serve(PLAIN)
    run_crawl(f"{site.url}/", arguments={"source": "mine"})
    site.pages["/guide/more.html"] = html("More", "<p>New words.</p><a href='deep.html'>d</a>")
    run_crawl(f"{site.url}/", arguments={"source": "mine"})
    done = command(
        "export", "mine", "--since", "4", "-s", f"LLMS_DATA_DIR={tmp_path / 'store'}", cwd=tmp_path
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["url"].removeprefix(site.url), row["change"], row["seq"]) for row in rows] == [
        ("/guide/more.html", "changed", 5)
    ]


def test_look_alikes_that_are_stored_stay_whatever_the_order_of_links(serve, run_crawl):
    """Articles by number, a counter without end, and a page that only a page which is no document leads to."""

    def counter(seen):
        day = int(seen.path.rpartition("=")[2])
        return html("Day", f"<p>Nothing on day {day}.</p><a href='/days?n={day + 1}'>next</a>")

    articles = [f"/kb/{number}" for number in range(40)]
    lists = [f"/list/{number}" for number in range(25)]
    site = serve({path: html("Article", "<p>It is being written.</p>") for path in articles})
    site.pages |= {path: html("", "") for path in lists} | {
        f"/days?n={n}": counter for n in range(2000)
    }
    site.pages["/list/24"] = html("", "").replace(">footer<", "><a href='/behind.html'>y</a><")
    site.pages["/behind.html"] = html("Behind", "<p>Only a list leads to this page.</p>")

    def home(linked: list[str]) -> str:
        return html(
            "Home",
            "<p>Welcome to the site.</p>" + "".join(f"<a href='{path}'>x</a>" for path in linked),
        )

    site.pages["/"] = home([*articles, *lists])
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 2}
    few = {"llmsspider.crawler.bounds.MAX_LOOK_ALIKES": 5}
    first = run_crawl(f"{site.url}/", settings=settings)
    assert {"/behind.html", *articles} < set(changes(first, site.url))
    site.pages["/"] = home([*reversed(articles), *lists, "/days?n=0"])
    second = run_crawl(f"{site.url}/", settings=settings, constants=few)
    found = changes(second, site.url)
    assert {path: found[path] for path in ("/behind.html", *articles)} == dict.fromkeys(
        ("/behind.html", *articles), "unchanged"
    )
    # lists beyond the limit and the day after the last one, but no article
    assert 2 <= second.stats["llms/filtered/trap"] <= len(lists)
    days = [path for path in found if path.startswith("/days")]
    assert 5 < len(days) < 20
    third = run_crawl(f"{site.url}/", settings=settings, constants=few)
    assert set(changes(third, site.url).values()) == {"unchanged"}


def test_the_html_of_markdown_that_is_a_stub_is_the_document(serve, run_crawl):
    prose = (
        "<p>Widgets turn wheels, wheels turn mills, and mills grind the corn of the whole valley.</p>"
        * 8
    )
    names = ["/changes", "/guide", "/tiny"]
    bodies = {"/changes": prose, "/guide": prose, "/tiny": "<p>Ask us.</p>"}
    texts = {
        "/changes": '--8<-- "CHANGELOG.md"\n',
        "/guide": "# Guide\n\n" + "Read all of it. " * 60,
        "/tiny": "Ask us.\n",
    }
    site = serve(
        {
            "/": html(
                "Home",
                prose + "<a href='/changes'>x</a><a href='/guide'>x</a><a href='/tiny'>x</a>",
            ),
            "/llms.txt": "# Site\n\n" + "".join(f"- [{name[1:]}]({name}.md)\n" for name in names),
            **{name: html(name[1:].title(), body) for name, body in bodies.items()},
            **{f"{name}.md": text for name, text in texts.items()},
        }
    )
    site.etags = True
    first = run_crawl(f"{site.url}/", settings={"LLMS_LINK_DEPTH": "0"})
    documents = first.by_path(site.url)
    assert {name: documents[name]["origin"] for name in names} == {
        "/changes": "html",
        "/guide": "markdown",
        "/tiny": "markdown",
    }
    assert documents["/changes"]["title"] == "Changes"
    assert documents["/changes"]["content"].count("whole valley") == 8
    assert first.stats["llms/markdown/stub"] == 2
    assert first.stats["llms/markdown/stub/html"] == 1
    site.clear()
    second = run_crawl(f"{site.url}/", settings={"LLMS_LINK_DEPTH": "0"})
    assert set(changes(second, site.url).values()) == {"unchanged"}
    assert comparable(second) == comparable(first)
    assert {seen.status for seen in site.requests if seen.path == "/changes"} <= {304}


def test_many_stubs_at_once_are_all_replaced_by_their_html_night_after_night(serve, run_crawl):
    prose = (
        "<p>Widgets turn wheels, wheels turn mills, and mills grind the corn of the whole valley.</p>"
        * 8
    )
    names = [f"/part-{number}" for number in range(20)]
    links = "".join(f"<a href='{name}'>x</a>" for name in names)
    site = serve(
        {"/": html("Home", prose + links), **{name: html(name[1:], prose + name) for name in names}}
    )
    site.pages |= {f"{name}.md": f"# {name[1:]}\n\n::: widget.{name[1:]}\n" for name in names}
    site.pages["/llms.txt"] = "# Site\n\n" + "".join(
        f"- [{name[1:]}]({name}.md)\n" for name in names
    )
    for _ in range(2):
        found = run_crawl(f"{site.url}/").by_path(site.url)
        assert {found[name]["origin"] for name in names} == {"html"}
        assert all("whole valley" in found[name]["content"] for name in names)
    assert {found[name]["change"] for name in names} == {"unchanged"}


@pytest.mark.parametrize("first", ["small", "large"])
def test_small_markdown_is_a_stub_beside_large_ones_whatever_came_first(serve, run_crawl, first):
    sentence = (
        "<p>What there is to say of the gears of this machine, and of each of its wheels.</p>"
    )
    large = {
        f"/large/{number}": f"# Large {number}\n\n{'Words of it. ' * 1000}\n"
        for number in range(22)
    }
    small = {
        f"/small/{number}": f"# Small {number}\n\n{'Few words. ' * 60}\n" for number in range(3)
    }
    texts = {**small, **large} if first == "small" else {**large, **small}
    listing = "".join(f"- [Page]({path}.md)\n" for path in texts)
    site = serve(
        {
            "/": html(
                "Home",
                "<p>Welcome to the site.</p><a href='/large/0'>x</a><a href='/small/0'>x</a>",
            ),
            "/llms.txt": f"# Site\n\n{listing}",
            **{f"{path}.md": text for path, text in texts.items()},
            **{path: html(path, sentence * 40) for path in texts},
        }
    )
    site.etags = True
    crawled = run_crawl(f"{site.url}/", settings={"CONCURRENT_REQUESTS": 1})
    documents = crawled.by_path(site.url)
    assert {path for path in texts if documents[path]["origin"] == "html"} == set(small)
    again = run_crawl(f"{site.url}/")
    assert set(changes(again, site.url).values()) == {"unchanged"}
    assert comparable(again) == comparable(crawled)


def test_a_stub_in_a_full_text_file_is_taken_from_its_page(serve, run_crawl):
    """Its page stays when it is as it was, and when it cannot be had for once."""
    prose = (
        "<p>Widgets turn wheels, wheels turn mills, and mills grind the corn of the whole valley.</p>"
        * 8
    )
    text = (
        "Widgets turn wheels, and all of that is said in this part of the guide to widgets.\n" * 6
    )
    names = ["/changes", "/guide", "/use"]
    site = serve(
        {"/": html("Home", prose), **{name: html(name[1:].title(), prose) for name in names}}
    )
    held = {"/changes": '--8<-- "CHANGELOG.md"\n', "/guide": text, "/use": text.upper()}
    site.pages["/llms-full.txt"] = "".join(
        f"# {name[1:].title()}\n\nSource: {site.url}{name}\n\n{body}\n"
        for name, body in held.items()
    )
    site.etags = True
    first = run_crawl(f"{site.url}/")
    found = first.by_path(site.url)
    assert {name: found[name]["origin"] for name in names} == {
        "/changes": "html",
        "/guide": "llms-full",
        "/use": "llms-full",
    }
    assert found["/changes"]["content"].count("whole valley") == 8
    assert found["/changes"]["discovered_by"] == "llms-full.txt"
    assert first.stats["llms/markdown/stub"] == first.stats["llms/markdown/stub/html"] == 1
    site.clear()
    second = run_crawl(f"{site.url}/")
    assert set(changes(second, site.url).values()) == {"unchanged"}
    assert comparable(second) == comparable(first)
    assert [seen.status for seen in site.requests if seen.path == "/changes"] == [304]
    site.pages["/changes"] = Reply("away", status=503)
    third = run_crawl(f"{site.url}/")
    assert third.by_path(site.url)["/changes"]["content"] == found["/changes"]["content"]
    assert set(changes(third, site.url).values()) == {"unchanged"}


def test_a_title_that_the_sites_pages_share_is_not_theirs(serve, run_crawl):
    def page(body, number=8):
        prose = f"<p>Widget {number} turns wheels, wheels turn mills, mills grind the corn of valley {number}.</p>"
        main = f"<main><h1>Widget</h1>{body}{prose * 3}</main>"
        return f"<!doctype html><html><head><title>Widget</title></head><body>{main}</body></html>"

    links = "".join(f"<a href='/part-{number}'>x</a>" for number in range(8))
    site = serve(
        {
            "/": page(links),
            **{f"/part-{number}": page(f"<h2>Wheel {number}</h2>", number) for number in range(7)},
            "/part-7": page("", 7),
        }
    )
    site.etags = True
    first = run_crawl(f"{site.url}/")
    titles = {path: document["title"] for path, document in first.by_path(site.url).items()}
    assert titles.pop("/") == "Widget"
    assert titles.pop("/part-7") in {"part 7", "Widget"}, (
        "told by its URL, if enough pages came before it"
    )
    assert titles == {f"/part-{number}": f"Wheel {number}" for number in range(7)}
    assert first.stats["llms/titles/shared"] >= 7
    second = run_crawl(f"{site.url}/")
    pages = second.by_path(site.url)
    assert pages["/part-7"]["title"] == "part 7", "learned by then, whatever the order of pages"
    assert pages["/part-3"]["title"] == "Wheel 3"
    assert "corn of valley 3" in pages["/part-3"]["content"]
    third = run_crawl(f"{site.url}/")
    assert {document["change"] for document in third.by_path(site.url).values()} == {"unchanged"}
    assert comparable(third) == comparable(second)


def test_the_address_of_a_page_stays_however_links_spell_it(serve, run_crawl):
    """A directory and its index file are one page; which spelling a link has, or comes first, does not matter."""
    site = serve(
        {
            "/": html(
                "Home", "<p>Welcome.</p><a href='/a/index.html'>a</a><a href='/b/index.html'>b</a>"
            ),
            "/a/index.html": html("A", "<p>The page A.</p>"),
            "/b/index.html": html("B", "<p>The page B.</p><a href='/a/'>a</a>"),
        }
    )
    site.pages |= {"/a/": site.pages["/a/index.html"], "/b/": site.pages["/b/index.html"]}
    first = run_crawl(f"{site.url}/").by_path(site.url)
    assert {"/", "/b/index.html"} < set(first)
    site.pages["/"] = html("Home", "<p>Welcome.</p><a href='/b/'>b</a><a href='/a/'>a</a>")
    site.clear()
    second = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(second) == set(first)
    assert "/b/" not in site.paths()
    del site.pages["/b/index.html"]
    third = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(third) == set(first) - {"/b/index.html"} | {"/b/"}, (
        "the stored address is not there any more"
    )
    assert third["/b/"]["id"] == second["/b/index.html"]["id"]


def test_a_new_page_has_the_address_that_lists_its_canonical_link_or_the_shortest_link_give(
    serve, run_crawl
):
    links = "".join(
        f"<a href='/{name}'>x</a>" for name in ("listed/", "named/", "short/index.html", "short/")
    )
    canonical = "<link rel='canonical' href='{base}/named/index.html'>"
    site = serve({"/": html("Home", f"<p>Welcome.</p>{links}")})
    pages = {name: html(name, f"<p>The page {name}.</p>") for name in ("listed", "named", "short")}
    pages["named"] = pages["named"].replace("<head>", f"<head>{canonical}")
    site.pages |= {
        f"/{name}/{end}": page for name, page in pages.items() for end in ("", "index.html")
    }
    site.pages["/llms.txt"] = "# Site\n\n- [Listed](/listed/index.html)\n"
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {
        "/",
        "/listed/index.html",
        "/named/index.html",
        "/short/",
    }
