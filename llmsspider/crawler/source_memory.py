"""What a run knows from earlier runs of its source, and what it leaves for the next: the source's
record. No Scrapy.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from pathlib import Path
from typing import Any

from llmsspider.config.arguments import DocsArguments
from llmsspider.config.settings import Config
from llmsspider.crawler.addresses import Addresses
from llmsspider.crawler.bot_walls import CONFIRM_RUNS, Suspect, Wall
from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.known_pages import KnownPages, RecordedPages
from llmsspider.crawler.learn import Learners
from llmsspider.crawler.learn.base import End
from llmsspider.crawler.learn.start_page import place_of
from llmsspider.crawler.link_bases import LinkBases
from llmsspider.crawler.records import Records
from llmsspider.crawler.report import Reporter
from llmsspider.crawler.revisit import Ledger
from llmsspider.crawler.second_requests import Judged
from llmsspider.crawler.site import SiteKnowledge
from llmsspider.crawler.uses import UsesRun
from llmsspider.items import LlmsEntry
from llmsspider.site.discovered import Fetch, FetchResult
from llmsspider.site.llmstxt import directory_url, is_llms_url
from llmsspider.site.llmstxt_parser import LlmsTxt
from llmsspider.store import RunRecord, SourceRecord
from llmsspider.web.rights import SiteRights
from llmsspider.web.urls import directory, host, page_key

OF_ONE_RUN = frozenset({"mode", "retry", "full", "emit", "save", "confirm_deletions"})
"""Arguments of one run, never kept (docs/reference/arguments.md); all others say what the source
is.
"""

OWN_FIELDS = frozenset({"url", "source", "llms_txt", "scope"})
"""Arguments that have a place of their own in `SourceRecord`."""


def updated_record(
    arguments: DocsArguments,
    record: SourceRecord | None,
    *,
    preset: Mapping[str, Any],
    extractor_version: str,
) -> SourceRecord:
    """Return what the store keeps of the source after this run; `preset` are the arguments of its
    profile.

    The first crawl keeps its arguments; later ones override them for themselves, and keep theirs
    with `save=true`.
    """
    keeps = record is None or arguments.save
    record = record or SourceRecord(name=arguments.source or "", url=arguments.url or "")
    if keeps:
        record.llms_txt = arguments.llms_txt
        record.scope = arguments.scope
        record.arguments = {
            name: value
            for name, value in arguments.model_dump(mode="json", exclude_unset=True).items()
            if not (value is None or name in OF_ONE_RUN | OWN_FIELDS)
            and not (name in preset and preset[name] == value)  # the profile is kept by its name
        }
        if arguments.profile.endswith(".toml"):
            record.arguments["profile"] = str(Path(arguments.profile).absolute())
    record.extractor_version = extractor_version
    return record


def kept_line(arguments: DocsArguments, record: SourceRecord) -> str | None:
    """Return one line on the arguments in force that the store keeps of the source, None where
    there are none.
    """
    given = arguments.model_dump(mode="json", exclude_unset=True)
    kept = {name: value for name, value in record.arguments.items() if given.get(name) == value}
    if not kept:
        return None
    shown = {
        name: ",".join(value) if isinstance(value, list) else value for name, value in kept.items()
    }
    listed = ", ".join(f"{name}={value}" for name, value in shown.items())
    return f"kept with the source: {listed} (-a overrides it for this run, -a save=true for good)"


class Doubts:
    """Odd answers, each with the number of runs in a row in which its page gave it: it counts after
    enough of them.

    `before` is as the store keeps it: key in hex to [what, runs].
    """

    def __init__(self, before: object = None):
        self._before: dict[str, tuple[str, int]] = {}
        for key, value in before.items() if isinstance(before, Mapping) else ():
            match value:
                case [what, int(runs)]:
                    self._before[str(key)] = str(what), runs
        self.now: dict[str, tuple[str, int]] = {}

    def again(self, key: bytes, what: str) -> int:
        r"""Note an odd answer of this run; return the number of runs in a row with it, this one
        included.

        >>> doubts = Doubts({"01": ["empty", 1]})
        >>> doubts.again(b"\x01", "empty"), doubts.again(b"\x02", "empty")
        (2, 1)
        """
        before, runs = self._before.get(key.hex(), (what, 0))
        self.now[key.hex()] = what, (runs if before == what else 0) + 1
        return self.now[key.hex()][1]

    @property
    def arrivals(self) -> set[bytes]:
        """The keys of pages that others moved to, as runs before this one doubted."""
        doubted = (what.partition(" ") for what, _ in self._before.values())
        return {bytes.fromhex(target) for reason, _, target in doubted if reason == "moved"}

    def last(self, key: bytes) -> tuple[str, int]:
        """Return the odd answer of runs before this one, and in how many in a row it came."""
        return self._before.get(key.hex(), ("", 0))

    def to_keep(
        self, *, complete: bool, listed: bool = True, seen: Set[str] = frozenset()
    ) -> dict[str, Any]:
        """Return what the store keeps: of answers that the run did not see, those that it could not
        see.

        `complete` says that it saw the answers of all pages, `listed` that it saw lists and links;
        `seen` has the keys (hex) of pages that are named and answered as they should.
        """
        unlinked = (
            ()
            if listed
            else [key for key, one in self._before.items() if one[0].startswith("unlinked")]
        )
        unseen = {*unlinked, *(() if complete else self._before.keys() - seen)}
        return {key: self._before[key] for key in unseen} | self.now


ABSENT_RUNS = 3
ASKED_AGAIN = 10
"""Runs in a row in which a file was not there, after which it is requested in one of so many runs
only: files take turns, so that each run requests about as many.
"""
LLMS_ASKED_AGAIN = 3
"""The same of llms files."""


MOVED_TOO = 2
"""Number of stored pages that have to be found beside a start page that moved."""
LOST_LIST_RUNS = 10
"""Runs in a row in which a list answers with something else, after which it counts as gone."""


class SourceMemory(UsesRun):
    """What runs of one source remember from one to the next, besides pages."""

    addresses: Addresses
    arguments: DocsArguments
    bounds: Bounds
    config: Config
    known: KnownPages
    learned: Learners
    ledger: Ledger
    recorded: RecordedPages
    records: Records
    report: Reporter
    rights: SiteRights
    site: SiteKnowledge

    def __init__(self, run: object, source: SourceRecord | None):
        super().__init__(run)
        self._source = source
        version = self.records.extractor_version
        self.same_extractor = source is not None and source.extractor_version == version
        """Whether the stored pages were made as this run makes them."""
        self._kept: Mapping[str, Any] = {}
        self.files_before: list[str] = []
        self.unread_files: list[str] = []
        """Files that gave seeds in the run before and were not read, or break off, in this one:
        nothing is deleted.
        """
        self.doubts = Doubts()
        """What pages answered in earlier runs that was not accepted, and in this one."""
        self.lagging: set[bytes] = set()
        """The keys of the pages of full-text files that are not believed; `full=true` believes them
        again.
        """
        self._turns = Counter[int]()
        """Files that are requested in one of so many runs, of those that this run has met."""
        self.llms_entries: dict[str, LlmsEntry] = {}
        """An entry of each llms.txt as pipelines of the user left it, by the file's URL."""

    @cached_property
    def link_bases(self) -> LinkBases:
        """What the relative links of the site's Markdown are relative to; made with the first page
        of Markdown.
        """
        discovery = self.site.discovery
        bases = LinkBases(self.known_urls, self.site.page_of)
        bases.remember(self._kept.get("link_bases"))
        if discovery is not None:
            probed = discovery.discovered_file_type == "llms.txt" and discovery.discovered_file
            bases.root = directory_url(probed or discovery.start_url)
        return bases

    def learn_links(self, urls: Iterable[str], page_url: str) -> None:
        """Take the pages that a page's HTML links to as known ones, to which links of Markdown may
        lead.
        """
        if "link_bases" in vars(self):  # else all known pages are taken when they are needed
            self.link_bases.learn(urls, page_url)

    def known_urls(self) -> Iterator[str]:
        """Yield the pages known before the crawl: listed, linked by the start page, stored."""
        yield from self.site.known_pages()
        yield from (state.url for state in self.known.states.values())

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Use what earlier runs kept, and log what is different this time."""
        self._kept = kept
        self.files_before = kept.get("files", [])
        self.doubts = Doubts(kept.get("doubts"))
        self.learned.remember(kept)
        self.site.remember(kept)
        self.bounds.learned.remember(kept.get("shapes"))
        self.ledger.remember(kept.get("witnesses"))
        if self.arguments.full:
            self.site.judged = Judged()
        source = self._source
        if source is None:
            return
        if source.extractor_version and not self.same_extractor:
            self.report.note(
                "stored pages were made by another version, converter or pipelines: they are made"
                " again, and those that differ for it are changed, whatever the site did"
            )
            if self.config.own_code:
                source.says = {}
        if (line := kept_line(self.arguments, source)) is not None:
            self.report.note(line)

    def updated_record(self) -> SourceRecord:
        """Return the record of the source as it is stored: the one before with what discovery
        found, if it did.
        """
        discovery = self.site.discovery
        source = self._source = updated_record(
            self.arguments,
            self._source,
            preset=self.config.preset,
            extractor_version=self.records.extractor_version,
        )
        if discovery is not None:
            source.rights = dict(self.rights.to_json())
            main = discovery.main_file
            if main is not None and (says := self.description_of(main)) is not None:
                source.says = dict(says)
        return source

    def to_keep(self, end: End) -> dict[str, Any]:
        """Return what the next run needs, by name; what is not in it stays as it is stored.

        What discovery found, and what only a run that saw the whole site knows, is kept of such
        runs.
        """
        discovery = self.site.discovery
        listed = self.arguments.mode != "refresh"
        known = self.addresses.requested_pages & self.recorded.keys
        seen = {key.hex() for key in known if key not in self.known.outcomes}
        kept = self.learned.keep(end) | self.site.keep()
        kept["doubts"] = self.doubts.to_keep(complete=end.has_decided, listed=listed, seen=seen)
        if "link_bases" in vars(self):
            kept["link_bases"] = self.link_bases.learned()
        if discovery is not None:
            kept["shapes"] = self.bounds.learned.to_json()
            kept["witnesses"] = self.ledger.to_json()
            kept["files"] = list(dict.fromkeys([*discovery.read_files(), *self.unread_files]))
        return kept

    def description_of(self, file: LlmsTxt) -> dict[str, str | None] | None:
        """Return title, summary and notes of an llms.txt: as pipelines of the user left them, where
        there are any.

        None for a file whose pages have not passed them.
        """
        if not self.config.own_code:
            return {"title": file.title, "summary": file.summary, "notes": file.notes}
        if (own := self.llms_entries.get(file.url)) is None:
            return None
        return {"title": own.file_title, "summary": own.file_summary, "notes": own.file_notes}

    # --- odd answers, which count after enough runs ---

    def unread(self, *files: str) -> None:
        """Note files that could not be read now, or break off; those that gave no seeds before do
        not matter.
        """
        self.unread_files += [file for file in files if file in self.files_before]

    def unreadable(self, files: Iterable[str]) -> None:
        """Note lists that answered with something else: not read, until enough runs in a row had
        that.
        """
        for file in set(self.files_before).intersection(files):
            if not self.is_accepted(page_key(file) + b"list", "no list", LOST_LIST_RUNS):
                self.unread(file)

    def passes_over(self, file: str) -> str:
        """Return how a file that discovery looks for was not there lately (`note_absent`), where it
        is left out in this run; '' where it is not.
        """
        key = page_key(file) + b"absent"
        every = LLMS_ASKED_AGAIN if is_llms_url(file) else ASKED_AGAIN
        how, runs = self.doubts.last(key)
        if self.arguments.full or not self.config.revisit or runs < ABSENT_RUNS:
            return ""
        self._turns[every] += 1
        if (self._turns[every] + self.known.number) % every == 0:
            return ""
        self.doubts.again(key, how)
        return how

    def note_absent(self, file: str, how: str) -> None:
        """Note that a file that discovery looks for is not there: `absent`, or the start page came
        in its place (`shell`).
        """
        self.doubts.again(page_key(file) + b"absent", how)

    async def doubts_start(
        self, answer: FetchResult, statuses: Sequence[object], fetch: Fetch
    ) -> bool:
        """Say whether the start page leads elsewhere for the first time, and not for good with
        stored pages of its section. Two requests at most, in such a crawl.
        """
        page = self.learned.start_page.history.led_elsewhere(answer, statuses)
        if page is None:
            return False
        runs = self.doubts.again(page_key(answer.url) + b"start", f"leads to {place_of(page)}")
        is_for_good = {301, 308}.issuperset(statuses)
        return runs < 2 and not (is_for_good and await self._moved_with_pages(answer, fetch))

    async def _moved_with_pages(self, start: FetchResult, fetch: Fetch) -> bool:
        """Say whether the first stored pages lead to others in the section that a start page moved
        to.
        """
        own = page_key(start.url)
        others = (state.url for state in self.known.states.values() if state.key != own)
        answers = [await fetch(url) for url in sorted(others)[:MOVED_TOO]]
        targets = {one.final_url for one in answers if one.ok and one.final_url != one.url}
        begins = f"//{host(start.final_url)}{directory(start.final_url)}"
        return len(targets) == MOVED_TOO and all(begins in url for url in targets)

    def is_accepted(self, key: bytes, what: str, runs: int = CONFIRM_RUNS) -> bool:
        """Note an odd answer of this run; say whether it counts, as it came in enough runs in a
        row.
        """
        return self.doubts.again(key, what) >= runs

    def accepts(self, suspect: Suspect, wall: Wall) -> bool:
        """Say whether an answer that looks like a wall is accepted: it came in enough runs, or is
        confirmed.
        """
        if self.arguments.confirm_deletions:
            return True
        is_accepted = self.is_accepted(suspect.key, f"wall {suspect.text}", wall.accepted_runs)
        return is_accepted and wall.accepted_runs > 0

    # --- what was stored ---

    @property
    def keeps_findings(self) -> bool:
        """True when stored pages are requested by themselves: how they were found and listed stays
        as it was stored.
        """
        discovery = self.site.discovery
        failed = discovery is not None and bool(discovery.start.error)
        return self.arguments.mode == "refresh" or failed

    def failed_before(self) -> list[str]:
        """Return the URLs that failed in the run before this one, as far as the store kept them."""
        earlier = self.run_before()
        errors = self.known.stored.errors(earlier) if earlier else []
        return list(dict.fromkeys(error.url for error in errors if error.kind != "invalid_url"))

    def run_before(self) -> RunRecord | None:
        """Return the run before this one, None in the first."""
        runs = reversed(self.known.stored.runs())
        return next((one for one in runs if one.id != self.records.run_id), None)
