"""Nights of a site that says in a file of its own what its pages hold."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date
from hashlib import sha256

import pytest
from crawling import command
from site_server import Reply
from sites import html


class Nights:
    """A site of MkDocs with `number` pages in a chain of links, crawled each night."""

    def __init__(self, serve, run_crawl, number: int = 12):
        self.site, self.run, self.number = serve({}), run_crawl, number
        self.site.etags = True
        self.editions: dict[int, int] = {}
        self.is_sphinx = False
        self.is_docusaurus = False
        self.has_markdown = False
        self.commit = ""
        self.is_broken = False
        self.build = ""
        self.named: dict[int, int] | None = None
        """What the index says, where it does not follow the pages."""

    def said(self, number: int, editions: dict[int, int]) -> str:
        return (
            f"Part {number} does what edition {editions.get(number, 1)} of it says, word by word."
        )

    def deploy(self) -> None:
        script = '<script src="/search/main.js"></script>'
        if self.is_sphinx:
            script = '<script src="/_static/doctools.js"></script>'
        if self.is_docusaurus:
            build = sha256(json.dumps(self.editions).encode()).hexdigest()[:8]
            script = f'<script src="/assets/js/runtime~main.{build}.js" defer></script>'
        if self.commit:
            script = f'<meta name="commit" content="{self.commit}">'
        numbers = range(self.number)
        said = {n: self.said(n, self.editions) for n in numbers}
        links = "".join(f'<li><a href="/p{n}/">Part {n}</a></li>' for n in numbers if n != 5)
        self.site.pages["/"] = html(
            "Kit", f"<p>The parts of the kit.</p><ul>{links}</ul>{self.build}", script
        )
        for n in numbers:
            self.site.pages[f"/p{n}/"] = html(f"Part {n}", f"<p>{said[n]}</p>", script)
            if self.has_markdown:
                self.site.pages[f"/p{n}/index.md"] = f"# Part {n}\n\n{said[n]}\n"
        named = self.editions if self.named is None else self.named
        docs = [
            {"location": f"p{n}/", "title": f"Part {n}", "text": self.said(n, named)}
            for n in numbers
        ]
        docs.append({"location": "", "title": "Kit", "text": "The parts of the kit."})
        self.site.pages["/search/search_index.json"] = json.dumps({"config": {}, "docs": docs})
        if self.is_sphinx:
            words = {
                word: [n for n in numbers if word in said[n]]
                for n in numbers
                for word in said[n].split()
            }
            index = {"docnames": [f"p{n}" for n in numbers], "terms": words}
            self.site.pages["/searchindex.js"] = f"Search.setIndex({json.dumps(index)})"
            del self.site.pages["/search/search_index.json"]
        if self.is_docusaurus or self.commit:
            del self.site.pages["/search/search_index.json"]
        if self.is_broken:
            self.site.pages["/search/search_index.json"] = '{"docs": ['

    def __call__(self, *edited: int, **more):
        """Edit pages, crawl; return the paths told as new or changed, the paths requested, and the outcome."""
        for number in edited:
            self.editions[number] = self.editions.get(number, 1) + 1
        self.deploy()
        self.site.clear()
        outcome = self.run(f"{self.site.url}/", **more)
        found = outcome.by_path(self.site.url)
        told = {path: one["change"] for path, one in found.items() if one["change"] != "unchanged"}
        return told, self.site.paths(), outcome


PROBES = {"/llms.txt", "/.well-known/llms.txt", "/llms-full.txt"}
SAMPLE = 3
"""Number of pages that are requested in a quiet night."""


def pages_of(paths):
    """Return the requested pages; files that were not there are asked for in some nights, by a hash of their address."""
    return [path for path in paths if path.startswith("/p")]


def test_an_index_is_a_list_of_pages_and_is_held_against_them(serve, run_crawl):
    nights = Nights(serve, run_crawl)

    told, paths, outcome = nights()
    found = {
        one["url"].removeprefix(nights.site.url): one["discovered_by"] for one in outcome.documents
    }

    assert len(told) == 13
    assert paths.count("/search/search_index.json") == 1
    assert found["/p5/"] == "search-index", "no page links to it"
    assert set(found.values()) == {"start", "link", "search-index"}
    told, _, outcome = nights(3)
    assert told == {"/p3/": "changed"}
    assert "search_index.json, not proven yet over 1 nights, 1 of 1 changes named" in outcome.lines
    nights.named = dict(nights.editions)
    _, _, outcome = nights(4)
    assert f"search_index.json did not name {nights.site.url}/p4/, which changed" in outcome.log
    nights.site.pages["/search/search_index.json"] = '{"docs": ['
    nights.deploy = lambda: None
    told, _, outcome = nights()
    assert told == {}, "the page that only the index named is stored: it was requested by itself"
    assert "is no search index that can be used: it is no JSON" in outcome.log


PROOF = ((), (3,), (), ())


def proven(site, run_crawl) -> dict[int, int]:
    """Let the index prove itself; returns the editions of the pages."""
    nights = Nights(lambda _pages: site, run_crawl, 24)
    for edited in PROOF:
        nights(*edited)
    return nights.editions


def nights_from_then_on(begun, run_crawl) -> Nights:
    """Return the nights of the site whose index is proven."""
    site, editions = begun(proven)
    nights = Nights(lambda _pages: site, run_crawl, 24)
    nights.editions = dict(editions)
    return nights


def test_a_night_is_what_the_index_names_and_a_sample(begun, run_crawl):
    nights = nights_from_then_on(begun, run_crawl)
    told, paths, outcome = nights()
    pages = pages_of(paths)
    assert told == {}
    assert len(set(pages)) == len(pages) == SAMPLE
    line = r"25 pages: \d+ requests, 0 changed; by search_index.json, proven over 4 nights, 1 of 1 changes named"
    assert re.search(f"{line}; oldest check 1 crawl ago", outcome.log)
    absent = {"/llms.txt", "/.well-known/llms.txt", "/llms-full.txt", "/sitemap.xml"}
    assert not absent.issubset(paths), (
        "they were not there in three crawls: each is requested in one of ten"
    )
    assert len(outcome.documents) == 25
    told, paths, _ = nights(7, 8)
    assert told == {"/p7/": "changed", "/p8/": "changed"}
    assert {"/p7/", "/p8/"} < {*paths}
    found = {path for path in paths if path in nights.site.pages and path.startswith("/p")}
    assert len(found) == 17, "those that were named, and five times the sample"
    nights.site.pages.pop("/p9/")
    kept, nights.number = nights.number, 9  # the index has lost most pages: that is damage
    told, paths, outcome = nights()
    assert "not requested" not in outcome.log
    assert "/p9/" in paths
    nights.number = kept
    _, paths, outcome = nights(arguments={"full": "true"})
    assert "not requested" not in outcome.log


def test_files_in_whose_place_the_start_page_comes_are_requested_in_few_nights(serve, run_crawl):
    text = "The server of the kit answers each address that it does not have with its first page."
    site = serve({})
    site.pages["/p/"] = (
        "<main><h1>Part</h1><p>A part of the kit, with a text of its own.</p></main>"
    )
    site.etags = True
    site.missing = f"<main><h1>Kit</h1><p>{text}</p><a href='/p/'>Part</a></main>"
    files = {"/llms.txt", "/.well-known/llms.txt", "/llms-full.txt", "/sitemap.xml"}
    asked = []
    for _ in range(6):
        begin = len(site.requests)
        outcome = run_crawl(f"{site.url}/")
        asked.append(files & {one.path for one in site.requests[begin:]})
        assert set(outcome.by_path(site.url)) == {"/", "/p/"}
    assert asked[:3] == [files] * 3
    assert sum(map(len, asked[3:])) in {3, 4}, "llms files once in three nights, others in ten"


def test_a_site_that_never_changes_is_not_requested_from_its_fifth_night_on(
    serve, run_crawl, tmp_path
):
    nights = Nights(serve, run_crawl, 24)
    requests = [len(pages_of(nights(arguments={"source": "kit"})[1])) for _ in range(5)]

    assert requests[3] >= 24
    assert requests[4] == SAMPLE
    nights.site.clear()
    options = (
        "-s",
        f"LLMS_DATA_DIR={tmp_path / 'store'}",
        "-s",
        "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
    )
    plan = command("plan", "kit", *options, cwd=tmp_path)
    assert "night        24 pages are stored: 21 left out, 3 sampled\n" in plan.stdout
    assert "by search_index.json, proven over 4 nights, 0 of 0 changes named\n" in plan.stdout
    assert len(re.findall(rf"\n {{9}}{nights.site.url}/p\d+/(?=\n)", plan.stdout)) == 3, (
        "the sampled ones"
    )
    assert f"crawl docs -a url={nights.site.url}/ -a source=kit" in plan.stdout
    assert not {path for path in nights.site.paths() if path.startswith("/p")}
    told, _, _ = nights(9, arguments={"source": "kit"})
    assert told == {"/p9/": "changed"}
    nights.build = "<!-- another build -->"
    deployed, quiet = (nights(arguments={"source": "kit"})[1] for _ in range(2))
    assert {*deployed} >= PROBES, "files that were not there are looked for when it changes"
    assert len(pages_of(quiet)) == SAMPLE


def test_the_page_that_is_compared_in_both_forms_is_one_of_the_sample(serve, run_crawl):
    nights = Nights(serve, run_crawl, 40)
    nights.has_markdown = True
    for _ in range(4):
        nights()
    for _ in range(3):
        told, paths, _ = nights()
        files = [path for path in pages_of(paths) if path.endswith(".md")]
        compared = [path for path in pages_of(paths) if not path.endswith(".md")]
        assert told == {}
        assert len(set(files)) == len(files) == SAMPLE
        assert len(compared) == 1
        assert f"{compared[0]}index.md" in files


def test_pages_that_name_their_build_are_as_they_were_while_it_is(serve, run_crawl):
    nights = Nights(serve, run_crawl, 24)
    nights.is_docusaurus = True
    requests = [len(pages_of(nights()[1])) for _ in range(5)]
    assert requests[3] >= 23, "no page links to one of them"
    assert requests[4] == SAMPLE
    told, paths, _ = nights(9)
    assert told == {"/p9/": "changed"}
    linked = {f"/p{number}/" for number in range(24) if number != 5}
    assert linked <= {*paths}, "any of them may have changed"


def test_a_commit_that_all_pages_carry_is_believed_from_the_fifth_night_on(serve, run_crawl):
    nights = Nights(serve, run_crawl, 24)
    nights.commit = "1a2b3c4d"
    requests = [len(pages_of(nights()[1])) for _ in range(5)]
    assert requests[3] >= 23, "no page links to one of them"
    assert requests[4] == SAMPLE
    nights.commit = "2b3c4d5e"
    told, _, _ = nights(9)
    assert told == {"/p9/": "changed"}


def test_an_edit_without_a_new_commit_is_told_by_the_sample_and_with_it_all_others(
    serve, run_crawl
):
    nights = Nights(serve, run_crawl, 10)
    nights.commit = "1a2b3c4d"
    for _ in range(4):
        nights()
    assert len(pages_of(nights()[1])) <= SAMPLE
    told = nights(3, 4)[0]
    late = 0
    while not told:
        told = nights()[0]
        late += 1
    assert late <= 10 / SAMPLE
    assert told == {"/p3/": "changed", "/p4/": "changed"}
    assert len(pages_of(nights()[1])) == 9, "it is not believed any more; nothing links to p5"


def test_a_lastmod_that_the_server_bears_out_is_believed_from_the_fifth_night_on(serve, run_crawl):
    days = {number: date(2026, 1, number + 1) for number in range(20)}
    links = "".join(f"<a href='/p{number}/'>Part {number}</a>" for number in days)
    site = serve({"/": html("Kit", f"<p>The parts of the kit.</p>{links}")})
    site.etags = True
    entries = ""
    for number, day in days.items():
        body = html(f"Part {number}", f"<p>Part {number} does what it says, word by word.</p>")
        modified = {"Last-Modified": f"{day:%a, %d %b %Y} 10:00:00 GMT"}
        site.pages[f"/p{number}/"] = Reply(body, headers=modified)
        entries += f"<url><loc>{{base}}/p{number}/</loc><lastmod>{day}</lastmod></url>"
    site.pages["/sitemap.xml"] = (
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    )
    for _ in range(4):
        run_crawl(f"{site.url}/")
    site.clear()
    run_crawl(f"{site.url}/")
    assert len(pages_of(site.paths())) in {SAMPLE - 1, SAMPLE}, "the home page may be of the sample"


LLMS_TXT = "# Site\n\n> What it is.\n\n## Docs\n\n- [Part 1](/p1/): the first\n"


def other_start_page(nights):
    nights.build = "<!-- another build -->"


def another_edition(nights):
    nights.editions[3] = 2


def broken_index(nights):
    nights.is_broken = True


def another_generator(nights):
    nights.is_sphinx = True


def five_nights(site, run_crawl, has_etags: bool) -> None:
    nights = Nights(lambda _pages: site, run_crawl, 6)
    site.etags = has_etags
    for _night in range(5):
        nights()


@pytest.mark.parametrize("has_etags", [True, False], ids=["etags", "no validators"])
@pytest.mark.parametrize(
    "happens", [other_start_page, another_edition, broken_index, another_generator]
)
def test_an_llms_txt_that_appears_is_found_at_once_with_whatever_else_is_new(
    begun, run_crawl, happens, has_etags
):
    site, _ = begun(five_nights, has_etags)
    nights = Nights(lambda _pages: site, run_crawl, 6)
    site.etags = has_etags
    happens(nights)
    nights.site.pages["/llms.txt"] = LLMS_TXT
    _, _, outcome = nights()
    assert outcome.by_path(nights.site.url)["/p1/"]["llms"]["title"] == "Part 1"


def test_an_llms_txt_that_appears_is_found_within_three_nights_in_any_case(serve, run_crawl):
    nights = Nights(serve, run_crawl, 6)
    for _night in range(3):
        nights()
    asked = [[path for path in nights()[1] if path in PROBES] for _night in range(3)]
    assert {*map(len, asked)} == {1}, "they take turns"
    assert {path for paths in asked for path in paths} == PROBES
    nights.site.pages["/llms.txt"] = LLMS_TXT
    found = [nights()[2].by_path(nights.site.url)["/p1/"]["llms"] for _night in range(3)]
    assert found[2]["title"] == "Part 1"


def test_an_index_that_falls_silent_is_found_out_by_the_sample(begun, run_crawl):
    nights = nights_from_then_on(begun, run_crawl)
    plain = nights.site.reply

    def opted_out(seen):
        reply = plain(seen)
        headers = {"X-Robots-Tag": "noai"} if seen.path.startswith("/p") else {}
        return Reply(reply.body, reply.status, reply.content_type, headers)

    nights.site.reply = opted_out
    _, _, outcome = nights()
    assert "search_index.json did not name it; all pages are requested" in outcome.log
    nights.site.reply = plain
    nights()

    nights.named = dict(nights.editions)
    told, _, outcome = nights(*range(23))

    assert len(told) == 23, "all of them in the same night"
    assert "search_index.json did not name it; all pages are requested" in outcome.log
    for night in range(4):
        nights.named = None
        told, _, outcome = nights(night)
        assert told == {f"/p{night}/": "changed"}
        assert "not requested" not in outcome.log, "it has to prove itself for twice as long"


def test_one_page_that_changes_unnamed_is_found_within_the_bound(begun, run_crawl):
    nights = nights_from_then_on(begun, run_crawl)
    nights.named = dict(nights.editions)
    bound = {"LLMS_REVISIT": 10}

    late = next(
        night for night in range(20) if "/p11/" in nights(*([11] * (night == 0)), settings=bound)[0]
    )

    assert late < 10


def test_an_index_that_is_always_another_saves_nothing_and_a_new_one_has_its_own_proof(
    serve, run_crawl
):
    nights = Nights(serve, run_crawl)
    for edited in PROOF:
        nights(*edited)

    nights.named = dict.fromkeys(range(12), 100)
    told, paths, outcome = nights(4)
    assert told == {"/p4/": "changed"}
    assert {f"/p{n}/" for n in range(12)} <= {*paths}, "each is named"
    nights.is_sphinx = True
    for edited in (6, 7):
        told, paths, outcome = nights(edited)
        assert told == {f"/p{edited}/": "changed"}
        assert "not requested" not in outcome.log
    assert "searchindex.js, not proven yet over 1 nights, 1 of 1 changes named" in outcome.log


def test_a_start_page_that_is_stored_as_markdown_is_left_out_as_others_are(serve, run_crawl):
    """Discovery reads its HTML, which is no other one as long as its body is the same."""
    nights = Nights(serve, run_crawl)
    nights.deploy()
    texts = {f"/p{n}/": f"# Part {n}\n\n{nights.said(n, {})}\n" for n in range(nights.number)}
    texts["/"] = "# Kit\n\nThe parts of the kit.\n"
    nights.site.pages |= {f"{path}index.md": text for path, text in texts.items()}
    listed = "".join(f"- [A part]({path}index.md)\n" for path in texts)
    nights.site.pages["/llms.txt"] = f"# Kit\n\n## Parts\n\n{listed}"

    for _ in range(4):
        nights()
    asked = Counter(path for _ in range(3) for path in nights()[1])

    assert asked["/index.md"] <= 2, "as a sample, and as the page whose forms are compared"
    assert asked["/llms-full.txt"] == 1, "it was not there: it is asked for in one of three"


def test_a_sample_that_says_the_same_in_another_body_is_requested_once(begun, run_crawl):
    nights = nights_from_then_on(begun, run_crawl)
    nights.deploy()
    for path in [path for path in nights.site.pages if path.startswith("/p")]:
        nights.site.pages[path] += "<!-- another build -->"
    nights.deploy = lambda: None

    told, paths, _ = nights()

    assert told == {}
    assert len(pages_of(paths)) == SAMPLE
    assert len(set(pages_of(paths))) == SAMPLE
