"""Hosts that refuse `Accept: text/markdown`: which they are, and how often HTML is asked for in
vain.

A host that answers 406 to it is not at fault (RFC 9110, section 15.5.7), others answer 404, 500, an
empty body, JSON, XML or a redirect to their llms.txt or login. The page is asked for once more as
HTML; a host that has it then gets no other Accept any more, in later runs neither.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from llmsspider.crawler.bot_walls import leads_to_login
from llmsspider.crawler.learn.base import End, Learner
from llmsspider.site.llmstxt import is_llms_url
from llmsspider.web.page_forms import bare_type
from llmsspider.web.urls import host

MAX_IN_VAIN = 3
"""Pages of one host that are asked for as HTML without being there in a first run; one in later
ones, of those that are stored.
"""

OF_ACCEPT = frozenset({300, 406, 415})
"""Statuses that speak of the Accept header, whatever else the host answers."""

NOT_OF_ACCEPT = frozenset({401, 407, 408, 425, 426, 429, 451, 503, 504})
"""Statuses that speak of other things: credentials, pace, law, an outage."""


_DATA = re.compile(r".*[/+]json|(?:text|application)/xml")


class AcceptRefusals(Learner):
    """What is learned of hosts by their answers to `Accept: text/markdown`; without `trusted`
    (`full=true`) of this run alone.
    """

    name = "accept_refusals"

    def __init__(self, *, trusted: bool = True):
        self._trusted = trusted
        self._refusing = set[str]()
        self._honest = set[str]()
        """Hosts where HTML was asked for in vain: of those only stored pages are, from then on."""
        self._in_vain = Counter[str]()

    def remember(self, kept: Any) -> None:
        """Take over the hosts of earlier runs."""
        if self._trusted and isinstance(kept, dict):
            self._refusing = set(map(str, kept.get("refusing", ())))
            self._honest = set(map(str, kept.get("honest", ())))

    def refuses(self, url: str) -> bool:
        """Return whether pages of this host are requested as HTML."""
        return host(url) in self._refusing

    def may_be_refusal(
        self,
        url: str,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        *,
        is_stored: Callable[[], bool],
    ) -> bool:
        """Return whether an answer may be one to the Accept header and not to the URL, and is worth
        another request; `headers` by lower-case names, `body` as it came. `is_stored` is asked only
        where it matters.
        """
        name = host(url)
        is_honest = name in self._honest
        if self._in_vain[name] >= (1 if is_honest else MAX_IN_VAIN):
            return False
        if status in OF_ACCEPT:
            return True
        return _is_odd(url, status, headers, body) and (not is_honest or is_stored())

    def learn(self, url: str, *, has_html: bool) -> None:
        """Note whether a page came when it was requested as HTML."""
        if has_html:
            self._refusing.add(host(url))
            self._in_vain[host(url)] = 0
        else:
            self._in_vain[host(url)] += 1

    def keep(self, end: End) -> dict[str, list[str]]:
        """Return the hosts that are known."""
        honest = {name for name, number in self._in_vain.items() if number}
        honest = (honest | self._honest) - self._refusing
        return {"refusing": sorted(self._refusing), "honest": sorted(honest)}


def _is_odd(url: str, status: int, headers: Mapping[str, str], body: bytes) -> bool:
    if status >= 400:
        return status not in NOT_OF_ACCEPT
    if status >= 300:
        target = urljoin(url, headers.get("location", ""))
        return (is_llms_url(target) and not is_llms_url(url)) or leads_to_login(url, target)
    kind = bare_type(headers.get("content-type"))
    if status != 200 or is_llms_url(url):
        return False
    is_compressed = body.startswith(b"\x1f\x8b") and "content-encoding" not in headers
    is_data = _DATA.fullmatch(kind) and not urlsplit(url).path.endswith((".json", ".xml"))
    return not body.strip() or is_data or (is_compressed and kind.startswith("text/"))
