"""The address of a heading within its page.

A page's Markdown does not say which fragments the page has. Links of the site to `page#fragment` do: a heading has
one of those, or none
that is known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NOT_SLUG = re.compile(r"[^\w]+")


def slug(heading: str) -> str:
    """What is common to the ids that generators make of a heading.

    >>> slug("Request.meta special keys"), slug("request-meta-special-keys")
    ('requestmetaspecialkeys', 'requestmetaspecialkeys')
    """
    return _NOT_SLUG.sub("", heading).replace("_", "").casefold()


def fragment_of(heading_path: Sequence[str], known: Sequence[tuple[str, str]]) -> str | None:
    """The fragment of the innermost heading that has one.

    Args:
        heading_path: the headings above a passage, outermost first.
        known: fragments of the page that links lead to, with the text of a link.
    """
    by_slug = {slug(fragment): fragment for fragment, _ in known}
    for fragment, text in known:
        by_slug.setdefault(slug(text), fragment)
    for heading in reversed(heading_path[1:] or heading_path):
        name = slug(heading)
        found = by_slug.get(name) or next(
            (by_slug[one] for one in by_slug if len(name) > 5 and one.endswith(name)), None
        )
        if found:
            return found
    return None
