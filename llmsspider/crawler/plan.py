"""What a crawl would do, from discovery alone (`scrapy plan`), and what is said of one that has
ended in one line.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain, islice
from urllib.parse import urlsplit

from llmsspider import errors
from llmsspider.config.arguments import DocsArguments
from llmsspider.config.sources import default_name
from llmsspider.crawler.addresses import Addresses
from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.known_pages import KnownPages
from llmsspider.crawler.progress import Coverage, Progress
from llmsspider.crawler.records import Records
from llmsspider.crawler.revisit import Night
from llmsspider.crawler.site import SiteKnowledge
from llmsspider.crawler.uses import UsesRun
from llmsspider.errors import ErrorKind
from llmsspider.items import Page
from llmsspider.site.discovered import Discovery, FetchResult, Probe
from llmsspider.store import PageState
from llmsspider.web.loading import missing_extra
from llmsspider.web.outcomes import remedied
from llmsspider.web.rights import SiteDeclaration, SiteRights
from llmsspider.web.scope import Scope
from llmsspider.web.trees import Axis, tree_of
from llmsspider.web.urls import INVALID_URL, InvalidUrl, host, identity, parse, usable

MAX_SAMPLE = 5
"""Number of URLs named for each reason."""


@dataclass(slots=True, frozen=True)
class StartPage:
    """The response of the start page, or the kind of error and its message."""

    url: str
    status: int | None
    error: str | None
    message: str | None


@dataclass(slots=True, frozen=True)
class FoundFile:
    """The file that the crawl would follow."""

    type: str
    file: str | None


@dataclass(slots=True, frozen=True)
class PlanFile:
    """An llms.txt or llms-full.txt that discovery read."""

    url: str
    kind: str
    entries: int


@dataclass(slots=True, frozen=True)
class PlanScope:
    """The scope of the crawl; `text` is what the log says of it."""

    kind: str
    section: str | None
    text: str


@dataclass(slots=True, frozen=True)
class FilteredSample:
    """A URL that would be filtered, and the rule that filters it."""

    url: str
    rule: str


@dataclass(slots=True)
class FilteredPages:
    """URLs that would be filtered for one reason: all of them counted, and some of them."""

    count: int = 0
    sample: list[FilteredSample] = field(default_factory=list)

    def add(self, url: str, rule: str) -> None:
        """Count a URL, and keep it while there is room."""
        self.count += 1
        if len(self.sample) < MAX_SAMPLE:
            self.sample.append(FilteredSample(url, rule))


@dataclass(slots=True, frozen=True)
class PlanNight:
    """How many `pages` of the source are stored, and how many of them are requested for which of
    the `reasons`, or left out; `why_all` where each is requested. `sample` has URLs of requested
    ones by reason. `witness` is the file that says what changed, and what it has shown.
    """

    pages: int
    reasons: dict[str, int]
    sample: dict[str, list[str]]
    why_all: str | None
    witness: str | None


@dataclass(slots=True)
class Plan:
    """What a crawl would do, as `llmsspider plan --json` gives it."""

    url: str | None
    start: StartPage
    found: FoundFile
    files: list[PlanFile]
    sitemaps: list[str]
    tried: list[Probe]
    scope: PlanScope
    seeds: int
    sections: dict[str, int]
    full_text_pages: int
    start_links: int
    learned: list[str]
    languages: dict[str, int]
    versions: dict[str, int]
    left_out: dict[str, FilteredPages]
    rights: list[SiteDeclaration]
    requests: int
    arguments: dict[str, str]
    night: PlanNight | None  # of a stored source


def _plan_night(night: Night, states: Mapping[bytes, PageState]) -> PlanNight:
    reasons = dict(Counter(map(str, night.why.values())).most_common())
    sample = {
        why: [states[key].url for key, one in night.why.items() if one == why][:MAX_SAMPLE]
        for why in reasons
        if why != "left out"
    }
    return PlanNight(night.pages, reasons, sample, night.why_all, night.proof)


class Planner(UsesRun):
    """Makes the plan of a run."""

    addresses: Addresses
    arguments: DocsArguments
    bounds: Bounds
    known: KnownPages
    rights: SiteRights

    def plan(
        self, discovery: Discovery, scope: Scope, start_page: Page, night: Night | None
    ) -> Plan:
        """Return the plan of a run whose discovery is done: nothing is fetched."""
        start = discovery.start
        pages = self._pages(discovery, start_page)
        filtered: dict[str, FilteredPages] = defaultdict(FilteredPages)
        for url, rule in _invalid(discovery, start_page):
            filtered[INVALID_URL].add(url, rule)
        sections = self._sections(pages, filtered)
        links = sections.pop(None, 0)
        trees = [tree_of(page) for page in pages if host(page) == host(discovery.start_url)]
        usable_texts = [
            text.report for text in discovery.full_texts if text.report and text.is_usable
        ]
        return Plan(
            url=self.arguments.url,
            start=StartPage(start.final_url, start.status, start.error, start.message),
            found=FoundFile(discovery.discovered_file_type, discovery.discovered_file),
            files=[PlanFile(file.url, file.kind, len(file.entries)) for file in discovery.files],
            sitemaps=list(discovery.sitemaps),
            tried=discovery.tried,
            scope=PlanScope(scope.kind, scope.section, scope.describe()),
            seeds=sections.total(),
            sections={section: sections[section] for section in sections if section is not None},
            full_text_pages=sum(report.pages for report in usable_texts),
            start_links=links,
            learned=list(self.bounds.learned.lines()),
            languages=_counts(trees, "language"),
            versions=_counts(trees, "version"),
            left_out=dict(filtered),
            rights=self.rights.table(),
            requests=discovery.requests,
            arguments=_commands(self.arguments, scope, filtered),
            night=night and _plan_night(night, self.known.states),
        )

    def _sections(
        self, pages: Mapping[str, str | None], filtered: Mapping[str, FilteredPages]
    ) -> Counter[str | None]:
        """Return the number of pages that the bounds take in, by section; the others are
        `filtered`.
        """
        sections: Counter[str | None] = Counter()
        self.bounds.trees.accept_undecided(pages)
        for page, section in pages.items():
            why = self.bounds.refusal(page, listed=self.bounds.is_listed(page))
            if why is None:
                sections[section] += 1
            else:
                filtered[why.reason].add(page, why.rule)
        return sections

    def _pages(self, discovery: Discovery, start_page: Page) -> dict[str, str | None]:
        """Return the sections of the pages by identity, None for those that the start page links to
        alone.
        """
        pages: dict[str, str | None] = {}
        for seed in discovery.seeds:
            section = (seed.llms and seed.llms.section) or "(sitemap or no section)"
            pages.setdefault(identity(self.addresses.page_of(seed.url)), section)
        for url in usable(start_page.follow):
            pages.setdefault(identity(self.addresses.page_of(url)), None)
        return pages


def _counts(trees: Sequence[Mapping[Axis, str]], axis: Axis) -> dict[str, int]:
    return dict(Counter(tree[axis] for tree in trees if axis in tree))


def _invalid(discovery: Discovery, start_page: Page) -> Iterator[tuple[str, str]]:
    """Yield the invalid URLs of lists and the start page, and why they are."""
    for cut in discovery.cut:
        if cut.reason == INVALID_URL:
            yield cut.url, cut.rule
    for link in dict.fromkeys(map(parse, start_page.follow)):
        if isinstance(link, InvalidUrl):
            yield link.display, link.why


def _commands(arguments: DocsArguments, scope: Scope, filtered: Container[str]) -> dict[str, str]:
    """Return ready-to-paste commands by what they do."""
    url = str(arguments.url)
    is_named = arguments.source not in {None, default_name(url)}
    source = ["-a", f"source={arguments.source}"] if is_named else []
    start = errors.command("crawl", "docs", "-a", f"url={url}", *source)
    commands = {"as planned": start}
    if "out-of-scope" in filtered:
        commands["the whole host"] = (
            f"{start} -a scope={'domain' if scope.section == '/' else 'host'}"
        )
    if "version" in filtered:
        commands["every version"] = f"{start} -a versions=all"
    if "language" in filtered:
        commands["every language"] = f"{start} -a language=all"
    if scope.section == "/":
        commands["one part only"] = f"{start} -a 'allow=/docs/**' -a 'block=/docs/archive/**'"
    return commands


def with_options(commands: dict[str, str], options: Sequence[str]) -> dict[str, str]:
    """Return the commands of a plan with the options that it was asked for with, before those that
    they add.

    >>> commands = {"as planned": "crawl -a url=https://e.com/", "all": "crawl -a url=https://e.com/ -a scope=host"}
    >>> with_options(commands, ["-s", "A=b c"])["all"]
    "crawl -a url=https://e.com/ -s 'A=b c' -a scope=host"
    """
    start = commands["as planned"]
    planned = " ".join(filter(None, [start, shlex.join(options)]))
    return {what: planned + text.removeprefix(start) for what, text in commands.items()}


def _night_lines(night: PlanNight | None) -> Iterator[str]:
    if night is None:
        return
    reasons = ", ".join(f"{number} {why}" for why, number in night.reasons.items())
    what = reasons if night.why_all is None else f"each is requested, as {night.why_all}"
    yield f"night        {night.pages} pages are stored: {what}"
    if night.witness is not None:
        yield f"             by {night.witness}"
    for why, urls in night.sample.items():
        yield f"  {night.reasons[why]:>5}  {why}"
        yield from (f"         {url}" for url in urls)


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yield the plan as text for a terminal."""
    start = plan.start
    yield f"start page   {start.url}" + (
        f" ({start.error}: {start.message})" if start.error else ""
    )
    found = plan.found
    yield f"found        {found.type}" + (
        f" at {found.file}" if found.file else ", links are followed"
    )
    for file in plan.files:
        yield f"  {file.kind:<6} {file.url} ({file.entries} entries)"
    for url in plan.sitemaps:
        yield f"  sitemap {url}"
    if plan.full_text_pages:
        yield f"full text    {plan.full_text_pages} pages that need not be fetched"
    yield from _night_lines(plan.night)
    yield plan.scope.text.replace("scope ", "scope        ", 1)
    yield f"seeds        {plan.seeds}, and {plan.start_links} more links on the start page"
    for section, number in plan.sections.items():
        yield f"  {number:>5}  {section}"
    for axis, counts in (("languages", plan.languages), ("versions", plan.versions)):
        if counts:
            yield f"{axis:<12} " + ", ".join(f"{name} {number}" for name, number in counts.items())
    yield from plan.learned
    if plan.left_out:
        yield "filtered"
        for reason, entry in plan.left_out.items():
            yield f"  {entry.count:>5}  {reason}"
            for example in entry.sample:
                yield f"         {example.url} ({example.rule})"
    yield from (f"rights       {one.describe()}" for one in plan.rights)
    yield "commands"
    for what, command in plan.arguments.items():
        yield f"  {command}   # {what}"


# What is said of the outcome of a run in one line: why nothing came of it, what it missed, and what
# to do.

ALLOWS = "LLMS_ALLOW_PRIVATE_ADDRESSES"
"""The setting that lists the addresses that are allowed though they are not public."""

MAX_COMPARED = 20_000
"""Maximum number of listed pages whose addresses are compared with one that is not found."""

FEW_DOCUMENTS = 3
MANY_LINKS = 5
"""With so few documents and so many links out of scope a run says how to widen its scope."""


WHAT_TO_DO = {
    "empty": "the pages hold no text, nor does a browser draw any: check the address in one",
    "needs-browser": "the pages need JavaScript, a browser and -a render=auto",
    "out-of-scope": "widen the scope with -a scope=host or -a scope=domain",
    "ai-opt-out": "its publisher asks to be left out of AI use",
    "noindex": "the pages are marked noindex: -s LLMS_OBEY_NOINDEX=False takes them",
    "unsupported-type": "it is no page: name an HTML or Markdown page of the documentation",
}
"""What to do where no document came of the pages, by the reason that filtered most of them."""


NO_BROWSER = {
    "empty": 'the pages hold no text without JavaScript: install the extra "browser" and Chromium',
    "needs-browser": 'the pages need JavaScript: install the extra "browser" and Chromium',
}
"""The same, where the extra is not installed."""

HTTP2_ONLY = (
    "the server speaks HTTP/2 only: -s DOWNLOAD_HANDLERS="
    '\'{"https": "scrapy.core.downloader.handlers.http2.H2DownloadHandler"}\''
)

STORE_FAILED = (
    "the page store took no more: make room or free it, and crawl again; what was stored is whole,"
    " and nothing was deleted"
)


WITHOUT_DOCUMENTS = frozenset({"start_failed", "no_documents", "store_failed"})
"""The outcomes of runs that have no documents, or could not keep them."""


class Advice(UsesRun):
    """What is said of the outcome of a run in one line."""

    bounds: Bounds
    coverage: Coverage
    progress: Progress
    records: Records
    site: SiteKnowledge

    def of(self, outcome: str) -> str:
        """One line on why a run that has ended `WITHOUT_DOCUMENTS` has none, or could not keep
        them, and what to do.
        """
        fault = self.coverage.fault
        if outcome != "store_failed":
            return self.nothing_obtained()
        if not self.records.run_id:
            return f"nothing was fetched: {fault}"
        return f"{STORE_FAILED} ({fault})" if fault else STORE_FAILED

    @property
    def _start(self) -> FetchResult | None:
        return self.site.discovery.start if self.site.discovery is not None else None

    def _start_failure(self) -> str | None:
        """One line on a start page that failed while other pages came, or None."""
        start = self._start
        if start is None or not start.error or not self.progress.documents:
            return None
        why = start.message or (f"HTTP status {start.status}" if start.status else start.error)
        return (
            f"the start page failed: {start.final_url} ({start.error}: {why}); the documents come from"
            " other pages"
        )

    def notes(self) -> list[str]:
        """Return what a person should know of a run: its start page failed, or many links were out
        of scope.
        """
        return [line for line in (self._start_failure(), self._links_out_of_scope()) if line]

    def nothing_obtained(self) -> str:
        """One line on why a run came to nothing, and what to do; it says what the start page
        answered.
        """
        start = self._start
        progress = self.progress
        fault = self.coverage.fault
        if start is None or fault:
            return f"nothing was obtained from {self.records.source}: {fault or 'the crawl did not start'}"
        if start.error:
            why = _remedy_of(start, start.error) + _nearest(self.site.discovery)
            return f"nothing was obtained from {start.final_url}: {why}"
        what_to_do = WHAT_TO_DO | (NO_BROWSER if missing_extra("browser") else {})
        remedies = [
            what_to_do[reason]
            for reason, _ in progress.filtered.most_common()
            if reason in what_to_do
        ]
        if remedies:  # a shell: "no browser; why its OpenAPI file was not read"
            shells = progress.filtered_examples.get("needs-browser", ())
            details = [example.detail.partition("; ")[2] for example in shells]
        else:
            failed = chain.from_iterable(progress.error_examples.values())
            details = [example.detail for example in failed if example.url == start.final_url]
        why = "; ".join([*remedies[:1], *islice(filter(None, details), 1)])
        return f"{start.final_url} answered, but no document came of it" + f": {why}" * bool(why)

    def _links_out_of_scope(self) -> str | None:
        """One line where few documents came while many links of the site were out of scope, or
        None.
        """
        outside = self.progress.filtered["out-of-scope"]
        documents = self.progress.documents
        scope = self.bounds.scope
        if scope is None or documents > FEW_DOCUMENTS or outside < MANY_LINKS or not scope.wider:
            return None
        return (
            f"only {documents} document{'' if documents == 1 else 's'}, while {outside} links of the"
            f" site were out of scope: {scope.wider} takes them in, or -a allow=/PATH/** a part of them"
        )


def _remedy_of(start: FetchResult, kind: ErrorKind) -> str:
    """Return why a start page failed, and what to do, in words."""
    message = start.message or f"HTTP status {start.status}"
    if kind == "blocked" and ALLOWS in message:
        name = host(start.url)
        return f"{name} is not a public address: -s {ALLOWS}={name} allows it"
    return HTTP2_ONLY if b"ALPN" in start.body[:1000] else remedied(kind, message)


def _nearest(discovery: Discovery | None) -> str:
    """Return the listed pages whose addresses are most like that of a start page that is not found,
    in words.
    """
    if discovery is None or discovery.start.error != "not_found":
        return ""
    listed = {urlsplit(seed.url).path: seed.url for seed in islice(discovery.seeds, MAX_COMPARED)}
    nearest = [
        listed[path] for path in get_close_matches(urlsplit(discovery.start.url).path, listed)
    ]
    return f"; the nearest pages that the site lists: {', '.join(nearest)}" if nearest else ""
