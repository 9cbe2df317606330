"""Markdown forms learned of a host: which to request for a page, and when to stop guessing.

Pure: the downloader middleware gets the URLs to try from a `HostForms` and reports the outcome. A
URL that a file, a page or the store names is no guess: it is always requested, and counts against
nothing.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import Any, Self, TypeVar, get_args
from urllib.parse import urlsplit

from llmsspider.web.page_forms import (
    FORMS,
    RELATED,
    UNGUESSED,
    Form,
    PageForm,
    Shape,
    forms_named_by,
    page_candidates,
    shape,
    twin,
)
from llmsspider.web.urls import directory, identity

T = TypeVar("T")

MAX_WASTED = 8
"""Guesses that a host without Markdown may cost, in requests; so many more where it has some, see
`SHARE_WASTED`.
"""

WASTED_AGAIN = 0.1
"""Guesses that each later run may make on such a host: one in ten runs."""

SECTION_WASTED = 4
"""Guesses that one section of such a host may cost, so that a blog leaves some to the
documentation.
"""

REOPENED = MAX_WASTED // 2
"""What counts as wasted at most when a host shows its first Markdown: some guesses are left for its
other sections.
"""

SHARE_WASTED = 0.1
"""Guesses in directories without Markdown, as a share of the host's pages that have it."""

MAX_MISSED = 3
"""Maximum number of pages of a directory without Markdown tried, where the rest of the host has
some.
"""

MAX_NAMED_MISSED = 3
"""Number of named Markdown URLs that have to fail before one is guessed for a page without."""

MAX_NAMED_DEAD = 6
"""Number of named Markdown URLs that have to fail, where none came, before no more are requested."""

UNNAMED = 4
"""Guesses at a host where no list, and no link of the start page, leads to Markdown."""

MAX_STORED = 1000
"""How many directories and pages the store remembers of a host."""


@dataclass(slots=True)
class FormCounts:
    """What came of the pages of one shape in one directory.

    `hits` counts its own pages that came as Markdown by their form, `below` those in directories
    below it, `missed` its own pages for which every form to try failed. `named` of the hits were no
    guesses.
    """

    hits: Counter[Form] = field(default_factory=Counter)
    below: Counter[Form] = field(default_factory=Counter)
    missed: int = 0
    named: int = 0

    @property
    def form(self) -> Form | None:
        """The form with the most pages; of equal ones the first by name, so that the order of pages
        does not matter.
        """
        hits = self.hits or self.below
        return min(hits, default=None, key=lambda form: (-hits[form], form))

    @property
    def is_closed(self) -> bool:
        """True when guesses failed more often than they hit; all named URLs count as one hit."""
        return self.missed >= MAX_MISSED and self.missed > self.found + bool(self.named)

    @property
    def found(self) -> int:
        """Pages that came as Markdown though nothing named it."""
        return self.hits.total() - self.named


_NOTHING = FormCounts()
"""Of a place of which nothing is known; it is not changed."""


@dataclass(slots=True)
class HostForms:
    """What is known of one host: its Markdown forms by shape and directory, and the form its pages
    have.

    `negotiates` is True once the host answered a page's own URL with Markdown: nothing is guessed
    there then. `listed` counts the forms that the Markdown URLs of its llms.txt speak for; they are
    tried first. `hits` counts the pages whose Markdown was found in this run, `wasted` the guesses
    that failed, in earlier runs too where none did not.
    """

    page_form: PageForm | None = None
    negotiates: bool = False
    hits: int = 0
    wasted: float = 0
    listed: Counter[Form] = field(default_factory=Counter)
    named_missed: int = 0
    # pages that only links name, where a form was known, that were there in this run
    alive: int = 0
    dead: int = 0  # such pages that were not there (404, 410)
    no_pages: set[str] = field(default_factory=set)
    """Addresses that a Markdown file might have had as its page's, where none is."""
    missed: dict[str, None] = field(default_factory=dict)
    """Pages, by identity, that do not have the known form, in this run or an earlier one."""
    has_markdown: bool = False
    """True once a page of this host came as Markdown, in this run or an earlier one."""
    _tallies: dict[tuple[Shape | None, str], FormCounts] = field(default_factory=dict)
    _tried: dict[str, list[str]] = field(default_factory=dict)
    """The Markdown URLs that failed in this run, by the identity of the page."""
    _wasted_in: Counter[tuple[str, ...]] = field(default_factory=Counter)
    _base: tuple[str, ...] | None = None  # the folders that all pages tried have in common

    def leave(self, guesses: int) -> None:
        """Leave so many guesses at most."""
        self.wasted = max(self.wasted, MAX_WASTED - guesses)

    @property
    def awaits_named(self) -> bool:
        """True while the form of the host is still to be learned from the URLs that an llms.txt
        names.
        """
        return bool(self.listed) and not self.has_markdown and self.named_missed < MAX_NAMED_MISSED

    @property
    def _named_are_dead(self) -> bool:
        return self.named_missed >= MAX_NAMED_DEAD and not self.has_markdown

    def known(self, url: str) -> Form | None:
        """Return the form that the pages of this shape have, in the nearest directory that has
        shown one.
        """
        if self._tallies:
            this = shape(url)
            for place in _places(url):
                tally = self._tallies.get((this, place))
                if tally is not None and (form := tally.form) is not None:
                    return form
        return None

    def is_proven(self, url: str) -> bool:
        """Return whether pages of this shape in the page's own directory came as Markdown."""
        return bool(self._own(url).hits)

    def expects_dead(self, *, lists: bool) -> bool:
        """Return whether a page known from links alone is rather dead: at once suspect where
        `lists` name pages.
        """
        return self.dead >= self.alive if lists else self.dead > self.alive

    def to_try(self, url: str) -> list[tuple[Form, str]]:
        """Return the Markdown URLs worth a request for a page, most likely first; empty when there
        are none.
        """
        this = shape(url)
        if this is None or self.negotiates or self.awaits_named:
            return []
        folders = _folders(url)
        pairs = zip(folders if self._base is None else self._base, folders, strict=False)
        self._base = tuple(name for name, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        own = self._own(url)
        left = None if own.hits else self._guesses_left(url)
        if own.is_closed or left == 0:
            return []
        known = self.known(url)
        forms = [known] if known is not None else self._guesses(this)
        tried = self._tried.get(identity(url), ())
        tries = [(form, made) for form in forms if (made := twin(url, form)) and made not in tried]
        return tries[:left]

    def learning(self, url: str) -> bool:
        """Return whether requests for this page's Markdown are guesses, so that one page at a time
        should try.
        """
        is_unknown = not self.negotiates and self._own(url).found == 0
        return is_unknown and (self.awaits_named or bool(self.to_try(url)))

    def to_retry(self, url: str) -> bool:
        """Return whether to request the Markdown of a page taken as HTML, now that the host has
        some.
        """
        return self.has_markdown and bool(self.to_try(url))

    def is_open(self, url: str) -> bool:
        """Return whether a page taken as HTML may have Markdown that later pages of the host
        reveal.
        """
        is_evident = self.listed or self.has_markdown
        if shape(url) is None or self.negotiates or not is_evident or self.is_proven(url):
            return False
        page = identity(url)
        # else it was requested in an earlier run
        return page not in self.missed or page in self._tried

    def hit(self, url: str, markdown_url: str, *, named: bool = False) -> None:
        """Remember that `markdown_url` is the Markdown of the page `url`; a `named` one reopens its
        directory.
        """
        self.hits += 1
        if not self.has_markdown:
            self.has_markdown, self.wasted = True, min(self.wasted, REOPENED)
        self.missed.pop(identity(url), None)
        this = shape(url)
        forms = FORMS[this] if this is not None else ()
        form = next((form for form in forms if twin(url, form) == markdown_url), None)
        if form is None:
            return
        own_place, *above = _places(url)
        own = self._tallies.setdefault((this, own_place), FormCounts())
        own.hits[form] += 1
        own.named += named
        own.missed = 0 if named else own.missed
        for place in above:
            self._tallies.setdefault((this, place), FormCounts()).below[form] += 1

    async def find(
        self, url: str, named: Collection[str], ask: Callable[[str], Awaitable[T | None]]
    ) -> tuple[T | None, bool]:
        """Ask for the Markdown URLs of a page, the `named` ones first, until one is its Markdown;
        return that.

        The second value says that guesses failed which count only if the page itself is there: a
        link that is dead says nothing of the pages of its directory. Named URLs that fail count
        against nothing.
        """
        for made in named:
            if self._named_are_dead:
                break
            if (found := await ask(made)) is not None:
                self.hit(url, made, named=True)
                return found, False
            self.named_missed += 1
            self._tried.setdefault(identity(url), []).append(made)
        guesses = [] if named and self.known(url) is None else self.to_try(url)
        for _form, made in guesses:
            if (found := await ask(made)) is not None:
                self.alive += 1
                self.hit(url, made)
                return found, False
            self.wasted += not self.is_proven(url)
            self._wasted_in[_folders(url)] += 1
            self._tried.setdefault(identity(url), []).append(made)
        is_in_vain = bool(guesses) and not named and self.is_proven(url)
        if guesses and not is_in_vain:
            self.none(url)
        return None, is_in_vain

    def none(self, url: str) -> None:
        """Remember that every form to try for a page failed."""
        this = shape(url)
        if this is None:
            return
        if self.known(url) is not None:
            self.missed[identity(url)] = None
        self._tallies.setdefault((this, _places(url)[0]), FormCounts()).missed += 1

    def learn_from_listed(self, markdown_urls: Iterable[str], pages: frozenset[str]) -> None:
        """Learn how this host names pages and their Markdown: by the files that llms.txt lists and
        the pages seen.
        """
        votes: Counter[PageForm] = Counter()
        for url in markdown_urls:
            self.listed.update(forms_named_by(url))
            candidates = page_candidates(url)
            if "html" in candidates:
                votes.update(form for form, page in candidates.items() if identity(page) in pages)
        if votes:
            self.page_form = votes.most_common(1)[0][0]

    def page_of(self, markdown_url: str, pages: frozenset[str] = frozenset()) -> str | None:
        """Return the page a Markdown URL belongs to, by evidence first, then by the host's rule;
        None if unknown.
        """
        candidates = page_candidates(markdown_url)
        if "html" not in candidates and "/_sources/" not in markdown_url:
            return candidates.get("directory")
        for url in candidates.values():
            if identity(url) in pages:
                return url
        if self.page_form in candidates:
            return candidates[self.page_form]
        return candidates.get("html") if len(candidates) == 2 else None  # x.html.md names its page

    def _own(self, url: str) -> FormCounts:
        return self._tallies.get((shape(url), _places(url)[0]), _NOTHING)

    def _guesses_left(self, url: str) -> int:
        if self.has_markdown:
            return max(int(MAX_WASTED + self.hits * SHARE_WASTED - self.wasted), 0)
        if (left := int(MAX_WASTED - self.wasted)) <= 0:
            return 0
        section = self._section(_folders(url))
        spent = sum(
            tried for folders, tried in self._wasted_in.items() if self._section(folders) == section
        )
        return max(min(left, SECTION_WASTED - spent), 0)

    def _section(self, folders: tuple[str, ...]) -> str:
        """Return the first folder below those that all pages share, "" for a page beside it."""
        return next(iter(folders[len(self._base or ()) :]), "")

    def _guesses(self, this: Shape) -> list[Form]:
        forms = sorted(FORMS[this], key=self.listed.__getitem__, reverse=True)
        if UNGUESSED in forms and not self.listed[UNGUESSED]:
            forms.remove(UNGUESSED)
        at_root = {
            other: tally.form
            for other in get_args(Shape)
            if (tally := self._tallies.get((other, "/")))
        }
        for known in at_root.values():
            likely = known if known in forms or known is None else RELATED.get(known)
            if likely in forms:
                forms.remove(likely)
                forms.insert(0, likely)
        is_spelling = self.listed["dir/index.md"] or at_root.get("directory") == "dir/index.md"
        # else `/a` may be `/a/`, whose Markdown is `/a/index.md`
        if this == "bare" and not is_spelling:
            forms.remove("dir/index.md")
        return forms

    def as_dict(self) -> dict[str, object]:
        """Return what the store remembers."""
        places: list[list[Any]] = [
            [this, place, tally.form, tally.hits.total(), tally.below.total(), tally.missed]
            for (this, place), tally in self._tallies.items()
        ]
        return {
            "page_form": self.page_form,
            "negotiates": self.negotiates,
            "wasted": self.wasted,
            "places": sorted(places, key=lambda place: -sum(place[3:]))[:MAX_STORED],
            "missed": list(self.missed)[-MAX_STORED:],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from `as_dict`, what cannot be read as nothing; a host without Markdown gets a
        guess again in one of ten runs.
        """
        forms = cls(negotiates=bool(data.get("negotiates")))
        try:
            for this, place, form, hits, below, missed in data.get("places", ()):
                tally = forms._tallies[this, place] = FormCounts(missed=min(missed, MAX_MISSED - 1))
                if form in FORMS[this]:
                    tally.hits = +Counter({form: hits})
                    tally.below = +Counter({form: below})
                    forms.has_markdown = forms.has_markdown or tally.form is not None
            forms.missed = dict.fromkeys(data.get("missed", ()))
            if not forms.has_markdown:
                forms.wasted = max(float(data.get("wasted", 0)) - WASTED_AGAIN, 0)
        except (KeyError, TypeError, ValueError):
            return cls()
        forms.page_form = data["page_form"] if data.get("page_form") in get_args(PageForm) else None
        return forms


@lru_cache(maxsize=64)
def _folders(url: str) -> tuple[str, ...]:
    """Return the folders above a page; a directory page lies in the folder above it.

    >>> _folders("https://e.com/docs/a/b.html"), _folders("https://e.com/docs/a/")
    (('docs', 'a'), ('docs',))
    """
    path = urlsplit(url).path.rstrip("/") if shape(url) == "directory" else directory(url)
    return tuple(path.split("/")[1:-1])


@lru_cache(maxsize=64)
def _places(url: str) -> tuple[str, ...]:
    folders = _folders(url)
    return tuple("/".join(("", *folders[:depth], "")) for depth in range(len(folders), -1, -1))
