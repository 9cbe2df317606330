"""HTML that breaks off without a sign: the end tag it had before is missing. No Scrapy here.

A body with the Content-Length of its half looks whole. `</html>` may be left out (HTML, section 13.1.2.4), so its
absence says nothing of a page by itself: it does where the page had one.
"""

from __future__ import annotations

from collections.abc import Mapping

END_TAG = b"</html"


def has_end_tag(body: bytes) -> bool:
    """Say whether HTML has its end tag.

    >>> has_end_tag(b"<html><p>Text</HTML>"), has_end_tag(b"<html><p>Te")
    (True, False)
    """
    return END_TAG in body.lower()


class MissingEndTags:
    """The stored pages that came without their end tag, each with the number of runs in a row in which it did.

    Args:
        before: `counts` of the run before this one.
        runs: runs in a row after which a page is believed, as a site may stop to write the tag; 0 for never.
    """

    def __init__(self, before: Mapping[bytes, int], runs: int):
        self._before = before
        self._runs = runs
        self.counts = dict(before)

    def breaks_off(self, key: bytes, body: bytes) -> bool:
        """Say whether HTML is only the beginning of a stored page, which had its end tag."""
        times = 0 if has_end_tag(body) else self._before.get(key, 0) + 1
        if times == 0 or (self._runs and times >= self._runs):
            self.counts.pop(key, None)
            return False
        self.counts[key] = times
        return True
