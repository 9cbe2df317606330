"""The URL fragments of headings, by which addresses lead to a passage.

A fragment is the heading's id in the HTML, where that was read. Else it is one that links of the
site to `page#fragment` name; else it is made by the rule that such links, and the HTML of samples,
prove for the host; else there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from llmsspider.content.markdown.sections import Block

FragmentRule = Callable[[str], str]
"""From the text of a heading to its fragment; empty where the rule makes none."""


class Known(NamedTuple):
    """A fragment of a page: an id of its HTML (`own`) with the text of the heading, in the order of
    the page, or one that a link leads to, with the link's text.
    """

    fragment: str
    text: str
    own: bool = False


@lru_cache(maxsize=65_536)
def slug(heading: str) -> str:
    """Reduce a heading or its id to what the ids of all site generators have in common.

    >>> slug("Request.meta special keys"), slug("request-meta-special-keys")
    ('requestmetaspecialkeys', 'requestmetaspecialkeys')
    """
    return re.sub(r"[\W_]+", "", heading).casefold()


def by_vitepress(heading: str) -> str:
    """Return the id that VitePress gives a heading: it begins with no digit.

    >>> by_vitepress("2. Set up & run")
    '_2-set-up-run'
    """
    return re.sub(r"^(?=\d)", "_", re.sub(r"[\W_]+", "-", heading.lower()).strip("-"))


def by_words(heading: str) -> str:
    """Return the id that Python-Markdown and most generators of Markdown give a heading.

    >>> by_words("Set up & run")
    'set-up-run'
    """
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def by_github(heading: str) -> str:
    """Return the id that GitHub gives a heading (github-slugger): each space is a hyphen.

    >>> by_github("Set up & run")
    'set-up--run'
    """
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def by_pandoc(heading: str) -> str:
    """Return the id that Pandoc gives a heading (Quarto, R Markdown): dots stay.

    >>> by_pandoc("1. Set up & run.sh")
    'set-up-run.sh'
    """
    kept = re.sub(r"[^\w\s.-]", "", heading).strip().lower()
    return re.sub(r"^[\W\d_]+", "", re.sub(r"\s+", "-", kept))


RULES: tuple[FragmentRule, ...] = (by_github, by_words, by_pandoc, by_vitepress)

MIN_PROOFS = 4
PROVEN = 0.9
"""Number of headings with a fragment that prove a rule, and the share of them that has to keep to
it.
"""


def proven_rule(proofs: Collection[tuple[str, str]]) -> FragmentRule | None:
    """Return the rule that most of the headings with their fragments keep to; where several do, it
    makes no fragment (an empty one) of a heading for which they differ.
    """
    kept = {rule: sum(rule(heading) == part for heading, part in proofs) for rule in RULES}
    most = max(kept.values())
    if most < max(MIN_PROOFS, PROVEN * len(proofs)):
        return None
    rules = [rule for rule in RULES if kept[rule] == most]

    def agreed(heading: str) -> str:
        made = {rule(heading) for rule in rules}
        return made.pop() if len(made) == 1 else ""

    return agreed


def encoded(fragment: str) -> str:
    """Return a fragment as a URL holds it (RFC 3986, section 3.5).

    >>> encoded("a b{c}%20")
    'a%20b%7Bc%7D%20'
    """
    return quote(fragment, safe="!$&'()*+,;=:@/?-._~%")


MIN_ENDING = 5
"""Letters of a member's name, from which on it may be the end of an id (`kit.Wheel`)."""


def fragments_of(
    heads: Sequence[Block], known: Iterable[Known], rule: FragmentRule | None
) -> list[str | None]:
    """Return the fragment of each heading of a page, None for one without.

    A `rule` counts where no id is known. By it the title gets none; of headings for which it makes
    the same id the first gets it.
    Where there is one that is not known it is empty.
    """
    named: dict[str, str] = {}
    own: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for one in known:
        named.setdefault(slug(one.fragment), one.fragment)
        if one.own:
            own.setdefault(slug(one.text), []).append(one.fragment)
        else:
            texts[slug(one.text)] = one.fragment
    found: list[str | None] = []
    made_before: set[str | None] = set()
    for head in heads:
        name = slug(head.text)
        made = rule(head.text) if rule is not None and head.level and not own else None
        if name in own:
            found.append(_next(own[name]))
        elif made and slug(texts.get(name, made)) == name:
            found.append("" if made in made_before else made)
        else:
            found.append(texts.get(name) or _linked(name, named) or made)
        made_before.add(made)
    return found


def _next(ids: list[str]) -> str:
    """The next id of headings of one text; the last one stays for those that follow."""
    return ids.pop(0) if len(ids) > 1 else ids[0]


def _linked(name: str, named: Mapping[str, str]) -> str | None:
    """The fragment of this name, or the first one whose name ends with it, as that of a member."""
    if name in named or len(name) <= MIN_ENDING:
        return named.get(name)
    return next((fragment for one, fragment in named.items() if one.endswith(name)), None)


def place_of(heads: Sequence[Block], heading: str, start: int, end: int) -> int | None:
    """Return which heading is that of a passage, given its text and the passage's offsets."""
    name = slug(heading)
    same = [n for n, head in enumerate(heads) if head.start < end and slug(head.text) == name]
    inside = [n for n in same if heads[n].start >= start]
    return next(iter(inside or same[::-1]), None)
