"""What a crawl would do, from discovery alone: the data behind `scrapy plan`."""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from llmsspider import errors
from llmsspider.crawl.link_bases import WORDS
from llmsspider.reasons import FilterReason
from llmsspider.web.locales import tree_of
from llmsspider.web.url_gate import INVALID_URL, InvalidUrl, parse, usable
from llmsspider.web.urls import host, identity

if TYPE_CHECKING:
    from llmsspider.crawl.run import Run
    from llmsspider.discovery import Discovery
    from llmsspider.items import Page
    from llmsspider.web.scope import Scope

Plan = dict[str, Any]
"""JSON-ready; the keys are those of `make_plan`."""

MAX_SAMPLE = 5
"""URLs named for each reason."""


def make_plan(run: Run, discovery: Discovery, scope: Scope, start_page: Page) -> Plan:
    """Return the plan of a run whose discovery is done: nothing is fetched."""
    pages = _pages(run, discovery, start_page)
    sections: Counter[str] = Counter()
    left_out: dict[str, list[tuple[str, str]]] = defaultdict(list)
    counts: Counter[str] = Counter()
    links = 0

    def leave_out(url: str, reason: FilterReason, rule: str) -> None:
        counts[reason] += 1
        if len(left_out[reason]) < MAX_SAMPLE:
            left_out[reason].append((url, rule))

    for cut in discovery.cut:
        if cut.reason == INVALID_URL:
            leave_out(cut.url, cut.reason, cut.rule)
    for link in dict.fromkeys(map(parse, start_page.follow)):
        if isinstance(link, InvalidUrl):
            leave_out(link.display, INVALID_URL, link.why)
    for page, (section, is_listed) in pages.items():
        verdict = run.bounds.verdict(page, listed=run.bounds.is_listed(page))
        if not verdict.allowed:
            leave_out(page, verdict.reason, verdict.rule)
        elif is_listed:
            sections[section or "(sitemap or no section)"] += 1
        else:
            links += 1
    trees = [tree_of(page) for page in pages if host(page) == host(discovery.start_url)]
    return {
        "url": run.arguments.url,
        "start": {
            "url": discovery.start.final_url,
            "status": discovery.start.status,
            "error": discovery.start.error,
            "message": discovery.start.message,
        },
        "found": {"type": discovery.discovered_file_type, "file": discovery.discovered_file},
        "files": [
            {"url": file.url, "kind": file.kind, "entries": len(file.entries)} for file in discovery.files
        ],
        "sitemaps": list(discovery.sitemaps),
        "tried": [
            {"url": tried.url, "outcome": tried.outcome, "reason": tried.reason} for tried in discovery.tried
        ],
        "scope": {"kind": scope.kind, "section": scope.section, "text": scope.describe()},
        "seeds": sum(sections.values()),
        "sections": dict(sections),
        "full_text_pages": sum(
            text.report.pages for text in discovery.full_texts if text.report and text.is_usable
        ),
        "start_links": links,
        "markdown_links": {group: WORDS[base] for group, base in run.link_bases.learned().items()},
        "languages": dict(Counter(tree["language"] for tree in trees if "language" in tree)),
        "versions": dict(Counter(tree["version"] for tree in trees if "version" in tree)),
        "left_out": {
            reason: {"count": counts[reason], "sample": [{"url": url, "rule": rule} for url, rule in sample]}
            for reason, sample in left_out.items()
        },
        "requests": discovery.requests,
        "arguments": _arguments(run, scope, counts),
    }


def _pages(run: Run, discovery: Discovery, start_page: Page) -> dict[str, tuple[str | None, bool]]:
    """Return each page known by its identity, with its section and whether it is listed."""
    pages: dict[str, tuple[str | None, bool]] = {}
    for seed in discovery.seeds:
        pages.setdefault(identity(run.page_of(seed.url)), (seed.llms.section if seed.llms else None, True))
    for url in usable(start_page.follow):
        pages.setdefault(identity(run.page_of(url)), (None, False))
    return pages


def _arguments(run: Run, scope: Scope, left_out: Counter[str]) -> dict[str, str]:
    """Return ready-to-paste commands by what they do."""
    start = errors.command("crawl", "docs", "-a", f"url={run.arguments.url}")
    suggestions = {"as planned": start}
    if left_out["out-of-scope"]:
        suggestions["the whole host"] = f"{start} -a scope={'domain' if scope.section == '/' else 'host'}"
    if left_out["version"]:
        suggestions["every version"] = f"{start} -a versions=all"
    if left_out["language"]:
        suggestions["every language"] = f"{start} -a language=all"
    if scope.section == "/":
        suggestions["one part only"] = f"{start} -a 'allow=/docs/**' -a 'block=/docs/archive/**'"
    return suggestions


def with_options(commands: dict[str, str], options: Sequence[str]) -> dict[str, str]:
    """Return the commands of a plan with the options that it was asked for with, before those that they add.

    >>> with_options({"as planned": "scrapy crawl docs -a url=https://e.com/ -a scope=host"}, ["-s", "A=b c"])
    {'as planned': "scrapy crawl docs -a url=https://e.com/ -s 'A=b c' -a scope=host"}
    """
    if not options:
        return commands
    url = re.compile(r"-a (?:'url=.*?'|url=\S+)")
    return {
        what: url.sub(lambda found: f"{found[0]} {shlex.join(options)}", text, count=1)
        for what, text in commands.items()
    }


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yield the plan as text for a terminal."""
    start = plan["start"]
    yield f"start page   {start['url']}" + (
        f" ({start['error']}: {start['message']})" if start["error"] else ""
    )
    found = plan["found"]
    yield f"found        {found['type']}" + (
        f" at {found['file']}" if found["file"] else ", links are followed"
    )
    for file in plan["files"]:
        yield f"  {file['kind']:<6} {file['url']} ({file['entries']} entries)"
    for url in plan["sitemaps"]:
        yield f"  sitemap {url}"
    if plan["full_text_pages"]:
        yield f"full text    {plan['full_text_pages']} pages that need not be fetched"
    yield plan["scope"]["text"].replace("scope ", "scope        ", 1)
    yield f"seeds        {plan['seeds']}, and {plan['start_links']} more links on the start page"
    for section, number in plan["sections"].items():
        yield f"  {number:>5}  {section}"
    for group, base in plan["markdown_links"].items():
        name, _, origin = group.partition(" ")
        yield f"links        of the Markdown of {name} ({origin}) begin at {base}"
    for axis in ("languages", "versions"):
        if plan[axis]:
            yield f"{axis:<12} " + ", ".join(f"{name} {number}" for name, number in plan[axis].items())
    if plan["left_out"]:
        yield "left out"
        for reason, entry in plan["left_out"].items():
            yield f"  {entry['count']:>5}  {reason}"
            for example in entry["sample"]:
                yield f"         {example['url']} ({example['rule']})"
    yield "commands"
    for what, command in plan["arguments"].items():
        yield f"  {command}   # {what}"
