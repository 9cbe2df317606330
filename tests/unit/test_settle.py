"""What becomes of pages: the rules of `crawl.settle`, row by row."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from llmsspider.crawler.bot_walls import Suspect, Wall
from llmsspider.crawler.learn import Learners
from llmsspider.crawler.learn.tags import NAMED_AS_TAG
from llmsspider.crawler.settle import (
    Ask,
    Drop,
    Publish,
    ReadPage,
    Wait,
    beside_stored,
    settle,
)
from llmsspider.items import PageMeta
from llmsspider.web.stats import Filtered

URL = "https://e.com/docs/page"
OTHER = "https://e.com/other/page"
SUSPECT = Suspect(b"key", "text", b"before")
CUT = Suspect(b"key", "text", b"before", cut=True)
WALL = Wall("http", "a notice", 7)
LISTING = PageMeta(lists_only=True)


@dataclass
class Site:
    """A site about which the rules know nothing but what a row says."""

    waits: set[str] = field(default_factory=lambda: {"wall", "markdown", "tag", "stub", "moved"})
    tags: tuple[str, ...] = ()
    back: bool = False
    scope: str = "https://e.com/"
    is_open: bool = True
    new: bool = True
    found: Wall | None = None

    def in_scope(self, url):
        return url.startswith(self.scope)

    is_published = in_scope

    def leads_back(self, url, canonical):
        return self.back

    def forms_are_open(self, url):
        return self.is_open

    def takes(self, url):
        return self.new

    def wall(self, suspect):
        return self.found

    def can_wait(self, reason):
        return reason in self.waits


def rules(site) -> Learners:
    learned = Learners(trusted=True, requested=lambda _link: False, report_false_304=print)
    learned.tags.remember([*site.get("tags", ())])
    return learned


def named(url):
    return Drop("canonical", f"names {url} as its address", url)


@pytest.mark.parametrize(
    ("page", "site", "verdict"),
    [
        pytest.param({}, {}, Publish(), id="nothing speaks against it"),
        pytest.param({"refused": Filtered("noindex", "r")}, {}, Drop("noindex", "r"), id="its publisher opts out"),
        pytest.param(
            {"refused": Filtered("noindex", "r"), "meta": PageMeta(refresh=OTHER)},
            {},
            Drop("noindex", "r"),
            id="the first rule decides",
        ),
        pytest.param(
            {"with_slash": URL + "/", "is_only_linked": True},
            {},
            Drop("canonical", f"its Markdown is that of {URL}/", URL + "/"),
            id="a spelling without a slash",
        ),
        pytest.param({"with_slash": URL + "/"}, {}, Publish(), id="a spelling that is listed"),
        pytest.param(
            {"meta": PageMeta(refresh=OTHER)},
            {},
            Drop("redirect", f"leads on to {OTHER}", OTHER),
            id="a page that only leads on",
        ),
        pytest.param({"meta": PageMeta(refresh=URL)}, {}, Publish(), id="a page that reloads itself"),
        pytest.param({"meta": PageMeta(canonical=OTHER)}, {}, named(OTHER), id="a canonical address"),
        pytest.param({"meta": PageMeta(canonical=URL + "#top")}, {}, Publish(), id="its own address"),
        pytest.param({"meta": PageMeta(canonical="https://e.com/")}, {}, Publish(), id="the home page for every page"),
        pytest.param({"meta": PageMeta(canonical=OTHER)}, {"scope": URL}, Publish(), id="an address out of scope"),
        pytest.param({"meta": PageMeta(canonical=OTHER)}, {"back": True}, Publish(), id="an address that leads back"),
        pytest.param({"meta": PageMeta(canonical=OTHER), "is_named": True}, {}, Publish(), id="one hop"),
        pytest.param({"meta": PageMeta(listing="a blog")}, {}, Drop("listing", "a blog"), id="a listing"),
        pytest.param({"meta": PageMeta(listing="a blog"), "is_wanted": True}, {}, Publish(), id="a wanted listing"),
        pytest.param({"meta": LISTING}, {"tags": (URL,)}, NAMED_AS_TAG, id="a tag of another page"),
        pytest.param(
            {"meta": PageMeta(lists_only=True, tags=[URL])}, {}, NAMED_AS_TAG, id="its own tag"
        ),
        pytest.param({"meta": PageMeta(tags=[URL])}, {"tags": (URL,)}, Publish(), id="a tag that has text"),
        pytest.param({"markdown": URL + ".md"}, {}, Ask(URL + ".md"), id="HTML that names its Markdown"),
    ],
)  # fmt: skip
def test_a_page_by_itself(page, site, verdict):
    assert settle(ReadPage(URL, **page), Site(**site), rules(site).by_itself) == verdict


@pytest.mark.parametrize(
    ("suspect", "site", "verdict"),
    [
        pytest.param(None, {"found": WALL}, None, id="nothing speaks for a wall"),
        pytest.param(SUSPECT, {"found": WALL}, Wait("wall"), id="evidence is still to come"),
        pytest.param(SUSPECT, {"found": WALL, "waits": ()}, WALL, id="a wall, by all evidence"),
        pytest.param(SUSPECT, {"waits": ()}, None, id="no wall, by all evidence"),
        pytest.param(CUT, {"found": WALL}, WALL, id="a page that breaks off fails at once"),
        pytest.param(CUT, {}, None, id="it broke off in earlier runs, too"),
    ],
)
def test_a_page_beside_what_is_stored_of_it(suspect, site, verdict):
    assert beside_stored(suspect, Site(**site)) == verdict


DRAINED = {"waits": ()}
SPELLED = {"is_spelled_otherwise": lambda: True}


@pytest.mark.parametrize(
    ("page", "site", "verdict"),
    [
        pytest.param({}, {}, Publish(), id="nothing can change it"),
        pytest.param({"may_be_markdown": True}, {}, Wait("markdown"), id="the host's forms are not known yet"),
        pytest.param({"may_be_markdown": True}, {"is_open": False}, Publish(), id="the host's forms are known"),
        pytest.param({"may_be_markdown": True}, DRAINED, Publish(), id="it has no Markdown"),
        pytest.param({"meta": LISTING}, {}, Wait("tag"), id="another page may name it as its tag"),
        pytest.param({"meta": LISTING, "is_wanted": True}, {}, Publish(), id="a wanted listing"),
        pytest.param({"meta": LISTING}, {**DRAINED, "tags": (URL,)}, NAMED_AS_TAG, id="one did"),
        pytest.param({"meta": LISTING}, DRAINED, Publish(), id="none did"),
        pytest.param({"is_undecided": True}, {}, Wait("stub"), id="Markdown to be judged"),
        pytest.param({"is_undecided": True}, DRAINED, Publish(), id="Markdown of a form that is open"),
        pytest.param(SPELLED, {"waits": {"copy-of"}}, Wait("copy-of"), id="its links spell its address otherwise"),
        pytest.param(
            {**SPELLED, "meta": PageMeta(canonical=URL)}, {"waits": {"copy-of"}}, Publish(), id="it names its address"
        ),
        pytest.param(SPELLED, DRAINED, Publish(), id="the other spelling came first"),
        pytest.param({}, {"new": False}, Drop("not-stored", "mode=refresh takes no new pages"), id="a new page"),
        pytest.param(
            {"is_start": True},
            {"scope": OTHER},
            Drop("out-of-scope", "the start page itself is outside the scope"),
            id="the start page out of scope",
        ),
        pytest.param({}, {"scope": OTHER}, Publish(), id="scope was judged before another page was requested"),
        pytest.param({"may_have_moved": lambda: True}, {}, Wait("moved"), id="it may be a stored page"),
        pytest.param({"may_have_moved": lambda: True, "is_start": True}, {}, Publish(), id="not the start page"),
        pytest.param({"may_have_moved": lambda: True, "is_stored": True}, {}, Wait("moved"), id="others move to a stored page"),
        pytest.param({"may_have_moved": lambda: True}, DRAINED, Publish(), id="its former address is known"),
    ],
)  # fmt: skip
def test_a_page_among_the_others(page, site, verdict):
    assert settle(ReadPage(URL, **page), Site(**site), rules(site).among_others) == verdict
