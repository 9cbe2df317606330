"""Links that are named like files: a page may be called `Node.js`, though most such links lead to
files.

One address of each directory and extension is requested, and only the headers of what is no page
are downloaded. The others wait for what it shows. Listed pages are seeds, and always requested.
"""

from collections import defaultdict
from typing import Any

from llmsspider.crawler.learn.base import End, Learner
from llmsspider.crawler.settle import Drop, ReadPage, Verdict
from llmsspider.web.page_forms import classify, skipped_extension
from llmsspider.web.urls import directory, host

MAX_DIRECTORIES = 20
"""So many directories are tried for an extension; where none held a page, the others hold none."""

MAX_STORED = 5000
"""Maximum number of directories that the store remembers."""

Group = tuple[str, str]
"""A directory with its host, and an extension."""


class FileNames(Learner):
    """Whether links with the extension of a file are pages, by directory and extension.

    `read` are the extensions that a content handler reads as linked files, `read_listed` those of
    listed ones. Without `trusted` (`full=true`) nothing of earlier runs counts.
    """

    name = "file_names"

    def __init__(
        self,
        *,
        trusted: bool = True,
        read: frozenset[str] = frozenset(),
        read_listed: frozenset[str] = frozenset(),
    ):
        self._trusted = trusted
        self._read = read
        self._read_listed = read_listed
        self._has_pages: dict[Group, bool] = {}
        self._tried: defaultdict[str, set[str]] = defaultdict(set)
        """The directories of which an address was requested, by extension."""

    def remember(self, kept: Any) -> None:
        """Take over which directories of files were tried."""
        for group in kept if self._trusted and isinstance(kept, list) else ():
            match group:
                case [str(place), str(extension)]:
                    self._has_pages[place, extension] = False
                    self._tried[extension].add(place)

    def keep(self, end: End) -> list[Group]:
        """Return the directories that hold files; one that holds pages shows it again."""
        files = [group for group, has_pages in self._has_pages.items() if not has_pages]
        return files[-MAX_STORED:]

    def page_read(self, page: ReadPage, verdict: Verdict) -> None:
        """Learn what an address that is named like a file is."""
        group = self._group(page.url)
        if group is not None:
            is_file = isinstance(verdict, Drop) and verdict.reason == "unsupported-type"
            self._has_pages[group] = self._has_pages.get(group, False) or not is_file

    # --- questions ---

    def is_page(self, url: str) -> bool | None:
        """Say whether a link is a page as far as its name tells; None while that is not known."""
        group = self._group(url)
        return True if group is None else self._has_pages.get(group)

    def takes_sample(self, url: str) -> bool:
        """Say whether to request this link, to see what those like it are; remember it then."""
        group = self._group(url)
        if group is None:
            return True
        place, extension = group
        tried = self._tried[extension]
        if place in tried:
            return False
        if len(tried) >= MAX_DIRECTORIES and not self._is_ever_page(extension):
            return False
        tried.add(place)
        return True

    def is_file(self, url: str, mime_type: str | None, *, listed: bool) -> bool:
        """Say whether an answer is no page, by the name and the media type of it."""
        extension = skipped_extension(url, listed=False)
        if extension is None or extension in self._read:
            return False
        if listed and extension in self._read_listed:
            return False
        kind = classify(mime_type, b"", markdown_form=False)
        return kind == "binary" or (kind == "text" and not listed)

    def _is_ever_page(self, extension: str) -> bool:
        return any(self._has_pages.get((place, extension)) for place in self._tried[extension])

    def _group(self, url: str) -> Group | None:
        extension = skipped_extension(url, listed=False)
        if extension is None or extension in self._read:
            return None
        return f"{host(url)}{directory(url)}", extension
