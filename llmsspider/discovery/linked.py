"""Which of the llms files that an llms.txt links are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from llmsspider import domains
from llmsspider.discovery.model import Cut, LlmsFile, Options
from llmsspider.llmstxt import Entry, directory_url, is_llms_url
from llmsspider.reasons import FilterReason

_FULL_NAME = re.compile(r"/llms-(?:full|ctx)[^/]*\.txt$", re.IGNORECASE)


class LinkedFiles:
    """Hands out the linked files level by level, each URL once.

    Followed are llms files on the registrable domain of the first file; from the second level on only
    below its directory. What is not followed lands in `cut` with its reason or in `external`.
    """

    def __init__(self, main: str, options: Options):
        self.cut: list[Cut] = []
        self.external: list[str] = []
        self._main = main
        self._below = directory_url(main)
        self._options = options
        self._seen = {main}
        self._level = 0
        self._taken = 0

    def next_level(self, read: Sequence[LlmsFile]) -> list[str]:
        """Return the files to read next, which the files of the last level link, in their order."""
        self._level += 1
        self._seen.update(file.url for file in read)
        level = []
        for file in read:
            for entry in file.entries:
                if is_llms_url(entry.url) and entry.url not in self._seen:
                    self._seen.add(entry.url)
                    if self._takes(entry):
                        level.append(entry.url)
        return level

    def _takes(self, entry: Entry) -> bool:
        if not domains.same_site(entry.url, self._main):
            self.external.append(entry.url)
            return False
        reason = self._reason_against(entry)
        if reason is not None:
            self.cut.append(Cut(entry.url, reason))
            return False
        self._taken += 1
        return True

    def _reason_against(self, entry: Entry) -> FilterReason | None:
        if self._level > self._options.link_depth:
            return "link-depth"
        if self._level > 1 and not entry.url.startswith(self._below):
            return "outside-directory"
        if entry.optional and self._options.optional == "skip":
            return "optional"
        if not self._options.full_text and _FULL_NAME.search(urlsplit(entry.url).path):
            return "full-text-off"
        if self._taken >= self._options.max_linked_files:
            return "max-linked-files"
        return None
