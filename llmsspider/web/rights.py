"""What a site declares about the use of its pages by machines: by purpose, with licences; and
noindex. Pure.

    robots.txt, header      Content-Signal: search=yes, ai-input=no     contentsignals.org
    robots.txt, header      Content-Usage: train-ai=n                   AIPREF,
    draft-ietf-aipref-attach
    robots.txt              License: URL                                RSL 1.0; its file is not read
    header, meta            X-Robots-Tag: noai                          may be addressed to one
    crawler
    header, meta, file      TDM-Reservation: 1, TDM-Policy: URL         TDMRep,
    /.well-known/tdmrep.json
    header, link            Link: <URL>; rel="license"
    llms.txt                License: URL

Each is a `Declaration`. Of several for one purpose the strictest counts. What this project makes is
input for models, so what says no to a purpose of `OPT_OUT` is an opt-out; `ai-train=no` on its own
is not: it says nothing of other uses.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from llmsspider.web.foreign import bounded_robots, json_value
from llmsspider.web.page_forms import header_links

OPT_OUT = frozenset({"ai", "ai-all", "ai-input", "ai-output", "ai-use", "all", "bots", "tdm"})
"""Purposes whose refusal leaves a page out (`LLMS_OBEY_AI_OPTOUT`)."""

HEADERS = (
    "X-Robots-Tag",
    "TDM-Reservation",
    "TDM-Policy",
    "Content-Signal",
    "Content-Usage",
    "Link",
)
"""Headers that declare something."""

LICENCE = "licence"
"""The purpose of a declaration that is a licence; its line ends with the URL."""

SAME = {"train-ai": "ai-train", "train-genai": "ai-train", "genai": "ai"}
"""Names of AIPREF for purposes that the others name differently."""

WORDS = dict.fromkeys(("yes", "y", "allow", "allowed", "1", "true"), True) | dict.fromkeys(
    ("no", "n", "disallow", "disallowed", "deny", "0", "false"), False
)
_SIGNAL = re.compile(r"(?<![a-z-])([a-z-]{2,40})\s{0,9}=\s{0,9}\"?([a-z01]{1,10})(?![a-z-])")
_LLMS_LICENCE = re.compile(
    r"(?im)^[>\s*_-]{0,9}licen[cs]e[*_]{0,3}:[*_ ]{0,4}<?(https?://[^\s<>)]{1,2000})"
)
_WITH_VALUE = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
MAX_LICENCES = 10
MAX_DECLARATIONS = 200  # of one file
MAX_ADDRESS = 2000  # characters of a path or URL that is declared


class Declaration(NamedTuple):
    """One thing that was said: for which purpose, whether that is allowed (None: a licence), by
    which line of what.

    What a file of a host says holds for the paths that `path` fits, a pattern as in robots.txt.
    """

    purpose: str
    allowed: bool | None
    line: str
    path: str = ""


def signals(text: str, where: str) -> Iterator[Declaration]:
    """Yield what a value of Content-Signal or Content-Usage says.

    >>> [one[:2] for one in signals("ai-input=disallow train-ai=n", "x")]
    [('ai-input', False), ('ai-train', False)]
    """
    for name, word in _SIGNAL.findall(text[:4000].lower()):
        if word in WORDS:
            yield Declaration(SAME.get(name, name), WORDS[word], f"{where}: {name}={word}")


def of_page(
    headers: Mapping[str, Sequence[str]],
    meta_robots: frozenset[str] = frozenset(),
    licences: Iterable[str] = (),
    *,
    url: str = "",
    user_agent: str = "llmsspider",
) -> list[Declaration]:
    """Return what an answer and its page declare; `headers` maps lower-case names to all their
    values.

    `meta_robots` are the directives of `<meta name="robots">`, with `tdm-reservation` where that
    meta is 1, `licences` the URLs that the page names, `user_agent` is the crawler's product token.

    >>> of_page({"x-robots-tag": ["noai"]})
    [Declaration(purpose='ai', allowed=False, line='X-Robots-Tag: noai', path='')]
    """
    said = {
        Declaration("ai", False, "X-Robots-Tag: noai"): "noai"
        in robots_directives(headers.get("x-robots-tag", ()), user_agent),
        Declaration("ai", False, "meta robots: noai"): "noai" in meta_robots,
        Declaration("tdm", False, "meta tdm-reservation: 1"): "tdm-reservation" in meta_robots,
    }
    found = [one for one, is_said in said.items() if is_said]
    reserved = {value.strip() for value in headers.get("tdm-reservation", ())} & {"0", "1"}
    found += [
        Declaration("tdm", value == "0", f"TDM-Reservation: {value}") for value in sorted(reserved)
    ]
    for name in ("Content-Signal", "Content-Usage"):
        found += signals(", ".join(headers.get(name.lower(), ())), name)
    links = header_links(", ".join(headers.get("link", ())), url)
    named = [
        ("Link", link.url) for link in links if "license" in link.rel and isinstance(link.url, str)
    ]
    named += [("TDM-Policy", value.strip()) for value in headers.get("tdm-policy", ())]
    named += [("link rel=license", target) for target in licences]
    return found + [
        one for where, target in named[:MAX_LICENCES] if (one := licence(target, where, url))
    ]


def licence(target: str, where: str, base: str) -> Declaration | None:
    """Return the declaration of a licence, None where it has no http(s) URL of usual length."""
    if len(target) > MAX_ADDRESS:
        return None
    try:
        address = urljoin(base, target.strip())
        is_web = urlsplit(address).scheme in {"http", "https"}
    except ValueError:
        return None
    is_plain = is_web and " " not in address and address.isprintable()
    return Declaration(LICENCE, None, f"{where}: {address}") if is_plain else None


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


def opt_out(declared: Iterable[Declaration]) -> str | None:
    """Return the line by which a page may not be used as input for models, None where none says so."""
    return next(
        (one.line for one in declared if one.allowed is False and one.purpose in OPT_OUT), None
    )


def summary(declared: Iterable[Declaration], robots: str | None = None) -> dict[str, Any] | None:
    """Return `Document.rights`: licences, signals by purpose with where each was said, the decision
    of robots.txt.

    None where nothing is declared. Of several lines for one purpose those of the strictest are
    named.
    """
    licences: dict[str, None] = {}
    found: dict[str, dict[str, Any]] = {}
    for purpose, allowed, line, _ in declared:
        if purpose == LICENCE:
            licences[line.partition(": ")[2]] = None
            continue
        signal = found.setdefault(purpose, {"allowed": allowed, "said": []})
        if signal["allowed"] and not allowed:
            signal.update(allowed=allowed, said=[])
        if signal["allowed"] == allowed and line not in signal["said"]:
            signal["said"].append(line)
    if not licences and not found:
        return None
    return {"licences": list(licences), "signals": found, "robots": robots}


# --- a host: its robots.txt and tdmrep.json ---

_FIELDS = {
    "content-signal": "Content-Signal",
    "content-usage": "Content-Usage",
    "license": "License",
}
_IN_ROBOTS = " in robots.txt"


def of_robots(robots_txt: str, user_agent: str, url: str) -> list[Declaration]:
    """Return what a robots.txt declares for a crawler: by the groups that RFC 9309 chooses; lines
    before any count.
    """
    groups = _groups(bounded_robots(robots_txt, user_agent))
    found = []
    for where, value in groups[None] + groups.get(user_agent.lower(), groups.get("*", [])):
        if where.startswith("License"):
            found += [one] if (one := licence(value, where, url)) else []
        else:
            path, _, rest = value.partition(" ") if value.startswith("/") else ("", "", value)
            found += [one._replace(path=path) for one in signals(rest, where)]
    return list(dict.fromkeys(found))[:MAX_DECLARATIONS]


def _groups(robots_txt: str) -> dict[str | None, list[tuple[str, str]]]:
    """Return where each line declares something, and its value, by lower-case user agents; those
    before any are of None.
    """
    groups: dict[str | None, list[tuple[str, str]]] = {None: []}
    agents: list[str | None] = [None]
    has_rules = True
    for text in robots_txt.splitlines():
        name, _, value = (part.strip() for part in text.partition("#")[0].partition(":"))
        if name.lower() == "user-agent":
            agent = value.partition("/")[0].lower()
            agents = [agent] if has_rules else [*agents, agent]
            has_rules = False
            groups.setdefault(agent, [])
        elif name and name.lower() != "sitemap":
            has_rules = True
            for named in set(agents) if name.lower() in _FIELDS else ():
                groups[named].append((_FIELDS[name.lower()] + _IN_ROBOTS, value))
    return groups


def of_tdmrep(body: bytes) -> list[Declaration]:
    """Return what `/.well-known/tdmrep.json` says.

    Raises `UnreadableError` where it is no JSON.
    """
    rules = json_value(body)
    found = []
    for rule in rules[:MAX_DECLARATIONS] if isinstance(rules, list) else ():
        path = rule.get("location") if isinstance(rule, dict) else None
        reserved = rule.get("tdm-reservation") if isinstance(rule, dict) else None
        if not isinstance(path, str) or len(path) > MAX_ADDRESS or reserved not in (0, 1):
            continue
        policy = rule.get("tdm-policy")
        line = f"tdmrep.json: tdm-reservation={reserved} for {path[:200]}"
        found.append(Declaration("tdm", not reserved, line, path))
        one = licence(policy, "tdm-policy in tdmrep.json", "") if isinstance(policy, str) else None
        found += [one._replace(path=path)] if one else []
    return found


def of_llms_txt(text: str, url: str) -> list[Declaration]:
    """Return the licence that an llms.txt names in a line of its own, for what lies below its
    directory.
    """
    found = _LLMS_LICENCE.search(text[:20_000])
    one = licence(found[1], "License in llms.txt", url) if found else None
    return [one._replace(path=urlsplit(url).path.rpartition("/")[0] + "/")] if one else []


def fits(pattern: str, path: str) -> bool:
    """Return whether `path` begins with `pattern`: `*` is any text, `$` at the end ends the path
    (RFC 9309, 2.2.3).

    Each part is looked for once, leftmost: a regular expression would try every way to share a path
    among its stars.
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


@dataclass(slots=True, frozen=True)
class SiteDeclaration:
    """What a site declares for the paths of a host; `allowed` is None for a licence."""

    host: str
    path: str
    purpose: str
    allowed: bool | None
    line: str

    def describe(self) -> str:
        """Return it in one line."""
        said = {
            None: "licence",
            True: f"{self.purpose} allowed",
            False: f"{self.purpose} not allowed",
        }
        return f"{said[self.allowed]} for {self.host}{self.path} ({self.line})"


class SiteRights:
    """What the files of a site's hosts declare, by host; `kept` is what `to_json` gave to the
    store.
    """

    def __init__(self, kept: object = None):
        self._hosts: dict[str, list[Declaration]] = {}
        for host, rows in kept.items() if isinstance(kept, dict) else ():
            self._hosts[str(host)] = [Declaration(*row) for row in rows]

    def add(self, host: str, declared: Iterable[Declaration]) -> None:
        """Add what a file of a host says; one that says nothing says that the host was asked."""
        self._hosts.setdefault(host, []).extend(declared)

    def at(self, url: str) -> list[Declaration]:
        """Return what holds for a URL; of the lines of one robots.txt on a purpose the longest path
        that fits wins.
        """
        parts = urlsplit(url)
        declared = self._hosts.get(parts.netloc)
        if not declared:
            return []
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        fitting = sorted(
            (one for one in declared if fits(one.path, path)), key=lambda one: len(one.path)
        )
        chosen = {}
        for number, one in enumerate(fitting):
            where = one.line.partition(":")[0]
            is_signal = where.endswith(_IN_ROBOTS) and one.purpose != LICENCE
            chosen[(where, one.purpose) if is_signal else number] = one
        return list(chosen.values())

    def of(self, url: str, declared: Iterable[Sequence[Any]]) -> dict[str, Any] | None:
        """Return `Document.rights` of a page: what its host declares, and the page itself
        (`of_page`).
        """
        robots = "allowed" if urlsplit(url).netloc in self._hosts else None
        return summary([*self.at(url), *(Declaration(*one) for one in declared)], robots)

    def table(self) -> list[SiteDeclaration]:
        """Return all that is declared, by host."""
        return [
            SiteDeclaration(host, one.path or "/", one.purpose, one.allowed, one.line)
            for host, declared in self._hosts.items()
            for one in declared
        ]

    def to_json(self) -> dict[str, list[list[Any]]]:
        """Return what the store keeps."""
        return {host: [list(one) for one in declared] for host, declared in self._hosts.items()}
