"""How much larger than what was received a page may become: a small page cannot fill the machine."""

from __future__ import annotations

from collections.abc import Callable

from llmsspider.errors import TooLargePageError

MAX_GROWTH = 16
"""Characters that one byte of a page may become, beyond a million: real pages become one or two."""
SMALL_CHARS = 1_000_000
"""Characters that any page may have."""


class Growth:
    """Counts the characters that a page of `size` bytes becomes.

    `check` and `count` raise `TooLargePageError` beyond `factor` for each byte and `SMALL_CHARS` more.
    """

    def __init__(self, size: int, factor: int = MAX_GROWTH):
        self.size = size
        self.most = factor * size + SMALL_CHARS
        self._counted = 0

    def check(self, chars: int) -> None:
        """Raise for a part of the page that is as long as that."""
        if chars > self.most:
            raise TooLargePageError(
                f"too-large: {self.size:,} bytes became more than {self.most:,} characters"
            )

    def count(self, chars: int) -> None:
        """Add to what was counted before."""
        self._counted += chars
        if self._counted > self.most:
            self.check(self._counted)

    def counted(self, join: Callable[[str], str]) -> Callable[[str], str]:
        """Return `join` with the length of each URL counted: a long base makes many short hrefs long."""

        def joined(href: str) -> str:
            url = join(href)
            self.count(len(url))
            return url

        return joined
