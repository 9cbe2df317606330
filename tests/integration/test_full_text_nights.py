"""Nights of a site whose pages come as llms-full.txt, Markdown and HTML: each has one text, whatever its form."""

from __future__ import annotations

import hashlib

import pytest
from site_server import Reply
from sites import html

NUMBERS = range(24)
WORDS = ["alpha", "beta", "gamma", "delta", "omega", "kappa", "sigma", "lambda", "theta", "zeta"]
MARKS = {
    "title and label": "# {title}\n\nSource: {url}\n\n## {title}\n\n{text}\n---\n",
    "title twice": "# {title}\nURL: {url}\n\n# {title}\n\n{text}\n---\n",
    "front matter": "---\ntitle: {title}\nurl: {url}\n---\n\n# {title}\n\n{text}\n",
}


def path_of(number: int) -> str:
    return f"/guide/p{number}.html"


def said(number: int, editions: dict[int, int]) -> str:
    words = " ".join(WORDS[(number + place) % 10] for place in range(30))
    return f"How part {number} is used in edition {editions.get(number, 1)}: {words}."


class Nights:
    """A site in three forms, crawled each night; `validators` are of the "content", the "deploy", or "none"."""

    def __init__(self, serve, run_crawl, validators: str, marks: str, *, has_twins: bool = True):
        self.site, self._run, self._marks, self._has_twins = serve({}), run_crawl, marks, has_twins
        self.site.type_of_304 = "text/html"
        self.site.etags = validators == "content"
        self.builds: list[dict[int, int]] = []
        if validators == "deploy":
            plain = self.site.reply
            self.site.reply = lambda seen: self._of_deploy(plain(seen), seen)

    def _of_deploy(self, reply: Reply, seen) -> Reply:
        tag = f'"{len(self.builds)}-{hashlib.sha256(seen.path.encode()).hexdigest()[:8]}"'
        return Reply(reply.body, reply.status, reply.content_type, {**reply.headers, "ETag": tag})

    def __call__(self, editions: dict[int, int], *, late: int = 0):
        """Deploy the pages, with a full-text file that is so many builds late, and crawl them.

        Returns the documents by path, what is told of those that are not unchanged, and the stats.
        """
        self.builds.append(dict(editions))
        held = self.builds[max(0, len(self.builds) - 1 - late)]
        pages, twin = self.site.pages, ".md" if self._has_twins else ""
        titles = {
            number: "Overview" if number % 4 == 0 else f"Topic {number}" for number in NUMBERS
        }
        pages["/"] = html("Home", "<p>Welcome to the documentation of this thing.</p>")
        links = (
            f"- [{title}]({{base}}{path_of(number)}{twin})\n" for number, title in titles.items()
        )
        pages["/llms.txt"] = "# Site\n\n## Guide\n\n" + "".join(links)
        pages["/llms-full.txt"] = ""
        for number, title in titles.items():
            usage = f"\n\n## Usage\n\nCall `code_{number}`.\n"
            own, text = said(number, editions), said(number, held) + usage
            body = f"<p>{own}</p><h2>Usage</h2><p>Call <code>code_{number}</code>.</p>"
            pages[path_of(number)] = html(title, body)
            if self._has_twins:
                pages[f"{path_of(number)}.md"] = f"# {title}\n\n{own}{usage}"
            mark = MARKS[self._marks]
            pages["/llms-full.txt"] += mark.format(
                title=title, url=f"{{base}}{path_of(number)}", text=text
            )
        self.site.clear()
        outcome = self._run(f"{self.site.url}/")
        assert outcome.exit_code == 0
        found = outcome.by_path(self.site.url)
        told = {path: one["change"] for path, one in found.items() if one["change"] != "unchanged"}
        return found, told, outcome.stats

    def pages_requested(self) -> int:
        """Return how often pages were requested, in any form.

        Dead links and files that were not there are asked for again in some nights, by a hash of their address.
        """
        return sum(path.startswith("/guide/p") for path in self.site.paths())


def is_current(found: dict, editions: dict[int, int]) -> bool:
    return all(said(number, editions) in found[path_of(number)]["content"] for number in NUMBERS)


@pytest.mark.parametrize(
    ("validators", "marks"),
    [
        ("content", "title and label"),
        ("deploy", "title twice"),
        ("none", "front matter"),
    ],
)
def test_quiet_nights_tell_nothing_and_an_edit_is_told_the_same_night(
    serve, run_crawl, validators, marks
):
    night = Nights(serve, run_crawl, validators, marks)
    first, _, _ = night({})
    most = night.pages_requested()
    content = first[path_of(0)]["content"]
    assert content.startswith("# Overview\n\nHow part 0"), (
        "what generators put around a page is taken off"
    )
    for _ in range(3):
        found, told, _ = night({})
        assert (told, found[path_of(0)]["origin"]) == ({}, "llms-full")
        assert night.pages_requested() <= most
    found, told, _ = night({5: 2})
    assert (told, is_current(found, {5: 2})) == ({path_of(5): "changed"}, True)
    assert night.pages_requested() <= most
    statuses = {seen.path: seen.status for seen in night.site.requests}
    assert statuses["/llms.txt"] == (304 if validators == "content" else 200)


@pytest.mark.parametrize("has_twins", [True, False])
def test_a_file_that_lags_is_given_up_for_good_and_no_change_of_form_is_told(
    serve, run_crawl, has_twins
):
    night = Nights(serve, run_crawl, "content", "title and label", has_twins=has_twins)
    night({})
    editions = dict.fromkeys(range(0, 24, 2), 2)
    found, told, stats = night(editions, late=2)
    assert told == {path_of(number): "changed" for number in editions}
    assert is_current(found, editions)
    assert stats["llms/full-text/lagging"] == 1
    for edit in ({}, {}, {9: 2}, {}):
        editions |= edit
        found, told, stats = night(editions, late=2)
        assert told == {path_of(number): "changed" for number in edit}
        assert is_current(found, editions)
        assert {found[path_of(number)]["origin"] for number in NUMBERS} == {
            "markdown" if has_twins else "html"
        }
        assert "llms/full-text/lagging" not in stats, "decided once"
        assert stats["llms/full-text/samples"] == 2


def test_a_file_that_is_old_is_found_in_the_first_crawl(serve, run_crawl):
    night = Nights(serve, run_crawl, "content", "front matter")
    editions = dict.fromkeys(range(8), 2)
    night.builds.append({})
    found, _, _ = night(editions, late=1)
    assert is_current(found, editions)
    for _ in range(2):
        assert night(editions, late=0)[1] == {}


@pytest.mark.parametrize("is_linked", [True, False])
def test_a_page_of_two_answers_is_told_changed_when_either_changes(serve, run_crawl, is_linked):
    """Its Markdown is a stub, and its HTML the document: a 304 for the Markdown says nothing of the HTML."""
    prose = (
        "<p>Widgets turn wheels, wheels turn mills, and mills grind the corn of the whole valley.</p>"
        * 8
    )
    links = "<a href='/changes'>c</a> <a href='/guide'>g</a>" if is_linked else ""
    pages = {"/": prose + links, "/changes": prose, "/guide": prose}
    site = serve({path: html(path[1:].title(), body) for path, body in pages.items()})
    site.pages |= {
        "/changes.md": '--8<-- "CHANGELOG.md"\n',
        "/guide.md": "# Guide\n\n" + "Read it all. " * 60,
    }
    site.pages["/llms.txt"] = "# Site\n\n- [Changes](/changes.md)\n- [Guide](/guide.md)\n"
    site.etags, site.type_of_304 = True, "text/html"

    def changes():
        outcome = run_crawl(f"{site.url}/")
        return next(one for one in outcome.documents if "/changes" in one["url"])

    assert changes()["origin"] == "html"
    for text in ("Three entries were added here.", "Another one came."):
        assert changes()["change"] == "unchanged"
        site.pages["/changes"] = html("Changes", f"<p>{text}</p>{prose}")
        edited = changes()
        assert (edited["change"], text in edited["content"]) == ("changed", True)
    site.pages["/changes.md"] = (
        f"# Changes\n\nAll is told in this file now. {prose[3:-4].replace('</p><p>', ' ')}\n"
    )
    filled = changes()
    assert (filled["change"], filled["origin"]) == ("unchanged", "markdown"), (
        "its HTML says what it said"
    )
    site.pages["/changes.md"] += "\nMore of it.\n"
    assert "More of it." in changes()["content"]


def test_a_file_that_is_away_for_a_night_changes_no_page_whatever_their_own_form_says(
    serve, run_crawl
):
    night = Nights(serve, run_crawl, "content", "front matter", has_twins=False)
    plain = night.site.reply
    answers: dict[str, Reply] = {}

    def reply(seen):
        answer = answers.get(seen.path) or plain(seen)
        more = b"<p>Only the HTML of a page says this.</p></main>"
        return Reply(
            answer.body.replace(b"</main>", more),
            answer.status,
            answer.content_type,
            answer.headers,
        )

    night.site.reply = reply
    assert night({})[0][path_of(1)]["origin"] == "llms-full"
    for answer in (Reply(b"", 503), Reply(b"<html><body>Sorry</body></html>", 200, "text/html")):
        answers["/llms-full.txt"] = answer
        assert night({})[1] == {}
        answers.clear()
        found, told, _ = night({3: 2})
        assert (told, found[path_of(1)]["origin"]) in (
            ({path_of(3): "changed"}, "llms-full"),
            ({}, "llms-full"),
        )


@pytest.mark.parametrize("validators", ["content", "none"])
def test_offers_that_come_and_go_are_no_changes(serve, run_crawl, validators):
    night = Nights(serve, run_crawl, validators, "title and label", has_twins=False)
    plain, hidden = night.site.reply, {"llms-full.txt"}
    night.site.reply = lambda seen: (
        Reply(b"", 404) if seen.path.rpartition("/")[2] in hidden else plain(seen)
    )
    assert night({})[0][path_of(1)]["origin"] == "html"
    night._has_twins = True
    found, told, _ = night({})
    assert (told, found[path_of(1)]["origin"]) == ({}, "markdown")
    hidden.clear()
    assert night({})[1] == night({})[1] == {}
    hidden.add("llms-full.txt")
    assert night({})[1] == {}
    found, told, _ = night({2: 2})
    assert (told, is_current(found, {2: 2})) == ({path_of(2): "changed"}, True)


@pytest.mark.parametrize("validators", ["content", "none"])
def test_markdown_of_other_words_that_a_site_begins_to_offer_is_no_change(
    serve, run_crawl, validators
):
    """Its HTML, asked once more, says that a page is as it was: moved words are an edit, lost links no damage."""
    words = [f"In step {number} the wheel is turned by the mill." for number in range(40)]
    links = "".join(f"<a href='/p{number}'>{number}</a> " for number in range(4))

    def text_of(number: int, text: list[str]) -> str:
        return html(f"Part {number}", f"<p>On part {number}: {' '.join(text)}</p><p>{links}</p>")

    site = serve({f"/p{number}": text_of(number, words) for number in range(4)})
    site.pages["/"] = html("Home", f"<p>{links}</p>")
    site.etags = validators == "content"

    def night() -> dict[str, str]:
        return {
            row["title"]: f"{row['change']} {row['origin']}"
            for row in run_crawl(f"{site.url}/").documents
        }

    night()
    moved = [*words[1:], words[0]]
    rewritten = [f"Stage {number} has another machine altogether." for number in range(60)]
    site.pages |= {"/p2": text_of(2, moved), "/p3": text_of(3, rewritten)}
    for number, text in enumerate([words, words, moved, rewritten]):
        made = " ".join(text)
        site.pages[f"/p{number}.md"] = (
            f"# Part {number}\n\nFor machines only, on part {number}: {made}\n"
        )
    site.pages["/llms.txt"] = (
        "# Site\n" + "".join(f"\n- [Part {n}](/p{n}.md)" for n in range(4)) + "\n"
    )
    told = {f"Part {number}": "unchanged markdown" for number in range(4)}
    edited = {"Part 2": "changed markdown", "Part 3": "changed markdown"}
    assert (told | edited).items() <= night().items()
    for _ in range(2):
        assert told.items() <= night().items()
    site.pages["/p1.md"] += "One more.\n"
    assert (told | {"Part 1": "changed markdown"}).items() <= night().items()


def test_twins_of_an_earlier_build_are_given_up_until_they_say_what_their_pages_say(
    serve, run_crawl
):
    """Files beside pages, built by another job: first with the pages, then not, then with them again."""
    site = serve({})
    site.etags = True
    numbers = range(8)
    links = "".join(f"- [Part {number}]({{base}}{path_of(number)}.md)\n" for number in numbers)
    site.pages |= {
        "/": html("Home", "<p>Welcome.</p>"),
        "/llms.txt": f"# Site\n\n## Guide\n\n{links}",
    }

    def night(editions: dict[int, int], twins: dict[int, int]):
        """Return what is told of pages that are not unchanged, the origins of all, and the lines about forms."""
        for number in numbers:
            more = (
                ""
                if number
                else "<h2>Contact</h2><p>Only the HTML of one page of this site has these words.</p>"
            )
            site.pages[path_of(number)] = html(
                f"Part {number}", f"<p>{said(number, editions)}</p>{more}"
            )
            site.pages[f"{path_of(number)}.md"] = f"# Part {number}\n\n{said(number, twins)}\n"
        site.clear()
        outcome = run_crawl(f"{site.url}/")
        found = {path: one for path, one in outcome.by_path(site.url).items() if path != "/"}
        told = {path: one["change"] for path, one in found.items() if one["change"] != "unchanged"}
        lines = [line for line in outcome.lines if "Markdown beside pages" in line]
        return told, {one["origin"] for one in found.values()}, lines

    assert night({}, {})[1] == {"markdown"}
    # which pages are samples, and so when they suffice, is a matter of the order of answers
    for _ in range(2):
        told, origins, lines = night({}, {})
        assert (told, origins) == ({}, {"markdown"}), "one page differs by its form"
        assert not [line for line in lines if "its HTML is converted" in line]
    newer = dict.fromkeys(numbers, 2)
    late, nights = night(newer, {}), 1
    while not late[2]:
        assert late[0] == {}
        late, nights = night(newer, {}), nights + 1
        assert nights < len(numbers), "each page has had its turn"
    assert "lags behind its pages: its HTML is converted" in late[2][0]
    assert (late[0], late[1]) == (dict.fromkeys(map(path_of, numbers), "changed"), {"html"})
    assert night(newer, {}) == ({}, {"html"}, [])
    again = [night(newer, newer) for _ in range(6)]
    assert [told for told, *_ in again] == [{}] * 6
    assert next(line for *_, lines in again for line in lines).endswith(
        "says what its HTML says (3 of 3 samples)"
    )
    assert again[-1][1] == {"markdown"}


@pytest.mark.parametrize(
    "more", ["", "<p>Only the HTML of a page has these words beside the others.</p>"]
)
def test_a_file_that_lagged_is_believed_again_after_some_nights(serve, run_crawl, more):
    """Also where the HTML says more by then: that the pages come in other words is no change."""
    night = Nights(serve, run_crawl, "content", "title and label", has_twins=False)
    plain, added = night.site.reply, [b""]

    def reply(seen):
        answer = plain(seen)
        body = answer.body.replace(b"</main>", added[0] + b"</main>")
        return Reply(body, answer.status, answer.content_type, answer.headers)

    night.site.reply = reply
    editions = dict.fromkeys(range(0, 24, 2), 2)
    night.builds.append({})
    assert night(editions, late=1)[0][path_of(5)]["origin"] == "html"
    added[0] = more.encode()
    assert len(night(editions)[1]) == (len(NUMBERS) + 1 if more else 0), "the home page, too"
    editions |= {3: 2}
    assert night(editions)[1] == {path_of(3): "changed"}
    for _ in range(7):
        found, told, _ = night(editions)
        assert (told, is_current(found, editions)) == ({}, True)
    assert found[path_of(5)]["origin"] == "llms-full"


ENDS = {number: f"Read on {number}, then use it (as the others do with it)" for number in range(7)}


@pytest.mark.parametrize("last_line", ["\n", ""], ids=["a last line end", "none"])
def test_a_page_whose_last_line_gets_shorter_breaks_off_nowhere_but_at_the_end_of_the_file(
    serve, run_crawl, last_line
):
    def full(ends: dict[int, str]) -> str:
        pieces = (
            f"# Part {number}\n\nSource: {{base}}{path_of(number)}\n\n{said(number, {})}\n\n{end}"
            for number, end in ends.items()
        )
        return "\n\n".join(pieces) + last_line

    links = "".join(f"<a href='{path_of(number)}'>{number}</a>" for number in ENDS)
    pages = {path_of(number): html(f"Part {number}", said(number, {})) for number in ENDS}
    site = serve({"/": html("Home", f"<p>Welcome.</p>{links}"), **pages})
    site.etags = True
    site.pages["/llms-full.txt"] = full(ENDS)
    run_crawl(f"{site.url}/")
    site.pages["/llms-full.txt"] = full({**ENDS, 2: ENDS[2][:-1], 3: ENDS[3][:-25]})
    outcome = run_crawl(f"{site.url}/")
    found = outcome.by_path(site.url)
    changed = {path for path, one in found.items() if one["change"] != "unchanged"}
    assert changed == {path_of(2), path_of(3)}
    assert "llms/errors/network" not in outcome.stats
    without = {number: end for number, end in ENDS.items() if number != 5}
    site.pages["/llms-full.txt"] = full({**without, 6: ENDS[6][:-1]})
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert found[path_of(6)]["change"] == "changed"
    whole = site.pages["/llms-full.txt"]
    site.pages["/llms-full.txt"] = whole[:-1] if last_line else f"{whole}\n"
    outcome = run_crawl(f"{site.url}/")
    assert {one["change"] for one in outcome.documents} == {"unchanged"}
    assert "could not be read" not in outcome.log
