"""What a site says about the use of its pages by machines: noindex, and opt-outs from AI.

    X-Robots-Tag: noai            header, may be addressed to one crawler (`X-Robots-Tag: somebot: noai`)
    <meta name="robots" content="noai">
    TDM-Reservation: 1            header or meta; text and data mining is reserved
                                  (https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/)
    Content-Signal: ai-input=no   in a group of robots.txt (https://contentsignals.org/)

What this project makes is input for models, so `ai-input=no` is an opt-out. `ai-train=no` on its own is
not: by the text of the standard it says nothing about other uses. `training_reserved` reports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit

OPT_OUT_HEADERS = ("X-Robots-Tag", "TDM-Reservation", "Content-Signal")
"""Headers that `opt_out` looks at."""

OPT_OUT_DIRECTIVES = frozenset({"noai"})
"""Robots directives by which a page opts out of use by AI."""

_WITH_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_SIGNAL = re.compile(r"(?<![a-z-])([a-z-]++)\s*+=\s*+(yes|no)")


def robots_directives(values: Iterable[str], user_agent: str = "llmsspider") -> frozenset[str]:
    """Return the directives, in lower case, of `X-Robots-Tag` headers that apply to `user_agent`.

    >>> sorted(robots_directives(["noai, noindex", "otherbot: nofollow", "unavailable_after: 1 Jan 2030"]))
    ['noai', 'noindex', 'unavailable_after']
    """
    found: set[str] = set()
    for value in values:
        applies = True
        for part in value.lower().split(","):
            name, colon, rest = (text.strip() for text in part.partition(":"))
            if colon and name not in _WITH_VALUE:
                applies = name in {"*", user_agent.lower()}
                name = rest
            if applies and name:
                found.add(name.partition(":")[0].strip())
    return frozenset(found)


def is_noindex(directives: frozenset[str]) -> bool:
    """Return whether robots directives (header or meta) forbid indexing."""
    return not directives.isdisjoint({"noindex", "none"})


def opt_out(
    headers: Mapping[str, Sequence[str]],
    meta_robots: frozenset[str] = frozenset(),
    robots_txt: str = "",
    url: str = "",
    user_agent: str = "llmsspider",
) -> str | None:
    """Return why a page may not be used as input for models, None where nothing says so.

    `headers` maps lower-case names to all their values. `meta_robots` holds the lower-case directives of
    `<meta name="robots">`, and `tdm-reservation` where the meta of that name is `1`. `robots_txt` is the
    text of the host's robots.txt; its rules are applied to `url`.

    >>> opt_out({"x-robots-tag": ["noai"]})
    'X-Robots-Tag: noai'
    """
    if robots_directives(headers.get("x-robots-tag", ()), user_agent) & OPT_OUT_DIRECTIVES:
        return "X-Robots-Tag: noai"
    if any(value.strip() == "1" for value in headers.get("tdm-reservation", ())):
        return "TDM-Reservation: 1"
    if meta_robots & OPT_OUT_DIRECTIVES:
        return "meta robots: noai"
    if "tdm-reservation" in meta_robots:
        return "meta tdm-reservation: 1"
    signals = dict(_SIGNAL.findall(",".join(headers.get("content-signal", ())).lower()))
    if signals.get("ai-input") == "no":
        return "Content-Signal: ai-input=no"
    return robots_opt_out(robots_txt, user_agent, url)


def robots_opt_out(robots_txt: str, user_agent: str, url: str) -> str | None:
    """Return the rule of robots.txt that forbids use of `url` in models, None where there is none."""
    if content_signals(robots_txt, user_agent, url).get("ai-input") == "no":
        return "Content-Signal in robots.txt: ai-input=no"
    return None


def training_reserved(robots_txt: str, user_agent: str, url: str) -> bool:
    """Return whether robots.txt forbids training models with `url`."""
    return content_signals(robots_txt, user_agent, url).get("ai-train") == "no"


def content_signals(robots_txt: str, user_agent: str, url: str) -> dict[str, str]:
    r"""Return the content signals for `url`, name to `yes` or `no`.

    Read from the groups addressed to `user_agent`, else from those for `*`, the way RFC 9309 (section 2.2.1)
    chooses rules; lines before any group are for everyone. A line may begin with a path, the longest that
    fits wins.

    >>> content_signals("User-agent: *\nContent-Signal: search=yes, ai-input=no", "llmsspider", "")
    {'search': 'yes', 'ai-input': 'no'}
    """
    groups = _groups(robots_txt)
    if not any(group.lines for group in groups):
        return {}
    own = [group for group in groups if user_agent.lower() in group.agents]
    chosen = own or [group for group in groups if "*" in group.agents]
    lines = [line for group in groups if not group.agents for line in group.lines]
    lines += [line for group in chosen for line in group.lines]
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    parted = [line.partition(" ")[::2] if line.startswith("/") else ("", line) for line in lines]
    fitting = [(len(prefix), text) for prefix, text in parted if _fits(prefix, path)]
    signals: dict[str, str] = {}
    for _, text in sorted(fitting, key=lambda line: line[0]):
        signals.update(_SIGNAL.findall(text.lower()))
    return signals


@dataclass(slots=True)
class _Group:
    agents: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    closed: bool = False


@lru_cache(maxsize=64)
def _groups(robots_txt: str) -> list[_Group]:
    groups = [_Group(closed=True)]
    for line in robots_txt.splitlines():
        name, _, value = (text.strip() for text in line.partition("#")[0].partition(":"))
        if name.lower() == "user-agent":
            if groups[-1].closed:
                groups.append(_Group())
            groups[-1].agents.add(value.partition("/")[0].lower())
        elif name and name.lower() != "sitemap":
            groups[-1].closed = True
            if name.lower() == "content-signal":
                groups[-1].lines.append(value)
    return groups


def _fits(pattern: str, path: str) -> bool:
    """Return whether `path` begins with `pattern`: `*` is any text, `$` at the end ends the path (RFC 9309, 2.2.3).

    Each part is looked for once, leftmost: a regular expression would try every way to share a path among its stars.
    """
    first, *parts = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    ends = pattern.endswith("$")
    if not parts:
        return not ends or path == first
    position = len(first)
    for part in parts[:-1] if ends else parts:
        found = path.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return not ends or (path.endswith(parts[-1]) and len(path) - len(parts[-1]) >= position)
