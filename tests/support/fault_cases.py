"""The fault matrix: one page a fault, and what the project promises for it (docs/lab/faults.md).

`run_matrix` crawls one site five times: as it is (the healthy twin), with every fault from the start, as it is again,
with every fault and one page really gone, and as it is, every page edited.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crawling import Outcome, crawl
from fault_server import MODIFIED, Authority, FaultSite, script, serving_faults
from fault_timeouts import cut_short
from site_server import Reply

DOCS = "docs.example.com"
NEVER = 60
"""Seconds that an answer takes which never comes: its download is given one."""


@dataclass(frozen=True)
class Case:
    """One fault.

    `script` is what the page's URL does. `outcome` is `same` where the fault costs nothing, else the kind of the
    error that the page is reported with, or `unseen`: nobody can tell that the answer is wrong, the next good one
    repairs it; `for good`: not even that, as the site says that nothing changed. `host` is a name below example.com;
    refusals pause a host, so those have one each.
    """

    name: str
    script: str
    outcome: str
    host: str = "docs"
    markdown: bool = False
    """The fault is that of the page's Markdown twin; `outcome` is that of the page."""
    again: str | None = None
    """The outcome in a recrawl, where it is another one."""

    @property
    def path(self) -> str:
        """The page's path."""
        return f"/{self.name}.html"

    @property
    def never(self) -> int | None:
        """How many downloads of it never end, None for all."""
        first = script(self.script)[0]
        return first.times if first.argument == str(NEVER) else 0


def all_cases() -> list[Case]:
    """Return every fault of the matrix."""
    return [
        *_TIME,
        *_CONNECTION,
        *_FRAMING,
        *_STATUS,
        *_REDIRECT,
        *_ENCODING,
        *_TYPES,
        *_VALIDATORS,
        *_TWINS,
        *_HOSTS,
        *_TLS,
    ]


_TIME = [
    Case("slow", "delay:0.7", "same"),
    Case("late-twice", f"delay:{NEVER}*2,ok", "same"),
    Case("too-late", f"delay:{NEVER}", "network"),
    Case("drip", "drip:0.8", "same"),
    Case("drip-too-long", f"drip:{NEVER}", "network"),
    Case("stall", f"stall:{NEVER}", "network"),
    Case("stall-once", f"stall:{NEVER}*1,ok", "same"),
]
_CONNECTION = [
    Case("reset", "reset", "network"),
    Case("reset-twice", "reset*2,ok", "same"),
    Case("hangup", "hangup", "network"),
    Case("hangup-twice", "hangup*2,ok", "same"),
    Case("reset-midway", "reset-midway", "network"),
    Case("reset-midway-once", "reset-midway*1,ok", "same"),
]
_FRAMING = [
    Case("truncated", "truncated", "network"),
    Case("truncated-once", "truncated*1,ok", "same"),
    Case("length-short", "length-short", "for good"),
    Case("length-twice", "length-twice", "network"),
    Case("length-garbage", "length-garbage", "network"),
    Case("no-length", "no-length", "same"),
    Case("no-length-cut", "no-length-cut", "unseen", again="network"),
    Case("http10", "http10", "same"),
    Case("http09", "http09", "network"),
    Case("chunked", "chunked", "same"),
    Case("chunked-cut", "chunked-cut", "network"),
    Case("chunked-cut-once", "chunked-cut*1,ok", "same"),
    Case("chunked-bad", "chunked-bad", "network"),
    Case("endless", "endless", "blocked"),
    Case("status-line-bad", "status-bad", "network"),
    Case("header-long", "header-long", "network"),
    Case("header-many", "header-many", "same"),
    Case("header-bad", "header-bad", "same"),
    Case("early-hints", "early-hints", "same"),
]
_STATUS = [
    Case("server-error", "500", "network"),
    Case("server-error-twice", "500*2,ok", "same"),
    Case("bad-gateway-burst", "502*1,504*1,ok", "same"),
    Case("cloud-525", "525", "network"),
    Case("needs-a-password", "401", "auth"),
    Case("forbidden-once", "403*1,ok", "auth"),
    Case("teapot", "418", "http"),
    Case("timeout-408-once", "408*1,ok", "same"),
    Case("unasked-304", "304", "http", again="same"),
    Case("no-content", "204", "http"),
    Case("reset-content", "205", "http"),
    Case("accepted", "202", "http"),
    Case("partial", "partial", "http"),
    Case("non-authoritative", "203", "same"),
    Case("empty", "empty", "http"),
    Case("blank", "blank", "http"),
]
_REDIRECT = [
    Case("redirect-self", "redirect-self", "http"),
    Case("redirect-loop", "redirect-loop", "http"),
    Case("redirect-storm", "redirect-storm", "http"),
    Case("redirect-nowhere", "redirect-nowhere", "http"),
    Case("redirect-bad", "redirect-bad", "invalid_url"),
    Case("redirect-to-error", "redirect:/broken.html", "network"),
    Case("redirect-to-nobody", "redirect:http://gone.example.com/x.html", "network"),
]
_ENCODING = [
    *(Case(f"{label}", label, "same") for label in ("gzip", "deflate", "br", "zstd")),
    *(Case(f"{label}-lie", f"{label}-lie", "same") for label in ("gzip", "deflate", "br", "zstd")),
    *(
        Case(f"{label}-cut", f"{label}-cut", "network")
        for label in ("gzip", "deflate", "br", "zstd")
    ),
    *(
        Case(f"{label}-bad", f"{label}-bad", "network")
        for label in ("gzip", "deflate", "br", "zstd")
    ),
    Case("gzip-cut-once", "gzip-cut*1,ok", "same"),
    Case("gzip-bomb", "gzip-bomb", "blocked"),
    Case("encoding-unknown", "encoding:klingon", "same"),
    Case("encoding-identity", "encoding:identity", "same"),
    Case("encoding-utf8", "encoding:utf-8", "same"),
]
_TYPES = [
    Case("charset-lie", "charset:iso-8859-1", "same"),
    Case("charset-unknown", "charset:klingon", "same"),
    Case("latin-1-undeclared", "latin-1", "same"),
    Case("latin-1-as-utf-8", "latin-1:utf-8", "same"),
    Case("bom", "bom", "same"),
    Case("nul", "nul", "same"),
    Case("no-type", "type", "same"),
    Case("type-stream", "type:application/octet-stream", "same"),
    Case("type-plain", "type:text/plain", "same"),
    Case("type-image", "type:image/png", "same"),
    Case("type-garbage", "type:nonsense", "same"),
    Case("html-as-markdown", "type:text/markdown", "same"),
]
_VALIDATORS = [
    Case("etag-weak", "etag-weak", "same"),
    Case("etag-unquoted", "etag:abc", "same"),
    Case("etag-half-quoted", 'etag:"abc', "same"),
    Case("etag-empty", 'etag:""', "same"),
    Case("etag-new-each-time", "etag-new", "same"),
    Case("modified-tomorrow", "modified:86400", "same"),
    Case("modified-in-2099", "modified:2300000000", "same"),
    Case("modified-epoch", "modified:-1700000000", "same"),
    Case("modified-garbage", "modified:yesterday_at_noon", "same"),
]
_TWINS = [
    Case("twin-error", "500", "same", host="twins", markdown=True, again="network"),
    Case("twin-reset", "reset", "same", host="twins", markdown=True, again="network"),
    Case("twin-late", f"delay:{NEVER}", "same", host="twins", markdown=True, again="network"),
    Case("twin-truncated", "truncated", "same", host="twins", markdown=True, again="network"),
    Case("twin-empty", "empty", "same", host="twins", markdown=True, again="http"),
    Case("twin-blank", "blank", "same", host="twins", markdown=True, again="http"),
    Case("twin-partial", "partial", "same", host="twins", markdown=True, again="http"),
    Case("twin-is-html", "maintenance", "same", host="twins", markdown=True, again="html"),
    Case("twin-as-html", "type:text/html", "same", host="twins", markdown=True),
    Case("twin-as-stream", "type:application/octet-stream", "same", host="twins", markdown=True),
    Case("twin-unasked-304", "304", "same", host="twins", markdown=True),
    Case("twin-gzip-cut", "gzip-cut", "same", host="twins", markdown=True, again="network"),
    Case("twin-latin-1", "latin-1", "same", host="latin", markdown=True),
]
_HOSTS = [
    Case("refused-once", "429*1,ok", "same", host="busy1"),
    Case("refused-for-a-second", "429:1*1,ok", "same", host="busy2"),
    Case("refused-flapping", "429:0*1,503:0*1,ok", "same", host="busy3"),
    Case("refused-for-good", "429:0", "rate_limited", host="busy4"),
    Case("refused-for-hours", "429:7200", "rate_limited", host="busy5"),
    Case("refused-with-nonsense", "429:soon*1,ok", "same", host="busy6"),
    Case("refused-until-yesterday", "429:Mon_01_Jan_2024_00.00.00_GMT*1,ok", "same", host="busy7"),
    Case("busy", "503:0", "network", host="busy8"),
    Case("busy-once", "503*1,ok", "same", host="busy9"),
    *(Case(f"crowd-{number}", "crowd:2", "same", host="crowd") for number in range(8)),
    Case("name-unknown", "ok", "network", host="gone"),
    Case("name-unknown-once", "ok", "same", host="flaky"),
]
_TLS = [
    Case("tls", "ok", "same", host="tls-good"),
    Case("tls-unknown-authority", "ok", "network", host="tls-unknown"),
    Case("tls-expired", "ok", "network", host="tls-expired"),
    Case("tls-not-yet-valid", "ok", "network", host="tls-early"),
    Case("tls-other-name", "ok", "network", host="tls-name"),
    Case("tls-handshake-reset", "ok", "network", host="tls-reset"),
]


def text(name: str, edition: int) -> str:
    """The text of a page, which no other page has."""
    filler = " ".join(f"{name} word {number}" for number in range(40))
    return f"The page {name}, edition {edition}, caf\u00e9 na\u00efve r\u00e9sum\u00e9. {filler}."


def html_page(name: str, edition: int, more: str = "") -> str:
    """A page as HTML; its Markdown is `markdown_page`."""
    return (
        f"<!doctype html><html lang='en'><head><title>{name} - Faults</title></head><body>"
        f"<nav><a href='/'>Home</a></nav><main><h1>{name}</h1><p>{text(name, edition)}</p>{more}</main></body></html>"
    )


def markdown_page(name: str, edition: int) -> str:
    """A page as Markdown."""
    return f"# {name}\n\n{text(name, edition)}\n"


@dataclass
class Matrix:
    """What the crawls of the matrix gave: documents by case name, and the errors of the faulty ones."""

    cases: list[Case]
    healthy: dict[str, dict[str, Any]] = field(default_factory=dict)
    first: dict[str, dict[str, Any]] = field(default_factory=dict)
    healed: dict[str, dict[str, Any]] = field(default_factory=dict)
    again: dict[str, dict[str, Any]] = field(default_factory=dict)
    edited: dict[str, dict[str, Any]] = field(default_factory=dict)
    fresh: dict[str, dict[str, Any]] = field(default_factory=dict)
    first_errors: dict[str, str] = field(default_factory=dict)
    again_errors: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    struck: Counter[str] = field(default_factory=Counter)
    duplicates: list[str] = field(default_factory=list)

    def problems(self, case: Case) -> list[str]:
        """Return what was not as promised for one fault, in words."""
        found = []
        healthy, fresh = self.healthy[case.name], self.fresh[case.name]
        first, again = self.first.get(case.name), self.again.get(case.name)
        unseen = case.outcome in {"unseen", "for good"}
        expected = None if case.outcome == "same" or unseen else case.outcome
        expected_again = case.again or expected
        if case.again in {"same", "html"}:
            expected_again = None
        if self.first_errors.get(case.name) != expected:
            found.append(f"first crawl: error {self.first_errors.get(case.name)}, not {expected}")
        if self.again_errors.get(case.name) != expected_again:
            found.append(f"recrawl: error {self.again_errors.get(case.name)}, not {expected_again}")
        if (first is None) != (expected is not None):
            found.append(f"first crawl: {'no' if first is None else 'a'} document")
        elif first is not None and not unseen and not case.markdown and not same(first, healthy):
            found.append("first crawl: another document")
        # made of its HTML, which says the same: that text stays
        if case.markdown and first is not None:
            healthy = first
        if not same(self.healed.get(case.name), healthy) and case.outcome != "for good":
            found.append("healthy crawl after the faults: not the healthy document")
        if again is None or again["change"] == "deleted":
            found.append("recrawl: lost" if again is None else "recrawl: false deletion")
        elif (
            (not unseen or case.again)
            and case.again != "html"
            and (again["change"], same(again, healthy)) != ("unchanged", True)
        ):
            found.append(f"recrawl: {again['change']}, content equal: {same(again, healthy)}")
        if not same(self.edited.get(case.name), fresh):
            found.append("after the edit: not the edited document")
        return found


def _edited(document: dict[str, Any]) -> dict[str, Any]:
    """The healthy document of a page, as it is after the edit."""
    content = document["content"].replace("edition 1", "edition 2")
    return {
        **document,
        "content": content,
        "content_hash": hashlib.sha256(content.encode()).hexdigest(),
    }


def same(one: dict[str, Any] | None, other: dict[str, Any]) -> bool:
    """Whether two documents say the same."""
    return one is not None and all(
        one[key] == other[key] for key in ("content", "title", "content_hash")
    )


def run_matrix(folder: Path, chosen: list[Case] | None = None) -> Matrix:
    """Crawl the site of the chosen faults, all by default; `folder` is for stores and certificates."""
    matrix = Matrix(all_cases() if chosen is None else chosen)
    authority = Authority(folder)
    site = FaultSite({})
    with contextlib.ExitStack() as stack:
        stack.enter_context(serving_faults(site))
        ports = _tls_ports(stack, authority, site)
        places = _Places(site.port, ports)
        crawler = _Crawler(folder, places, authority)
        fill(site, matrix.cases, places, edition=1)
        matrix.healthy = crawler.documents(matrix, "healthy")
        faulty = {places.key(case): case.script for case in matrix.cases if case.script != "ok"}
        faulty |= {f"{DOCS}/broken.html": "500"}
        names = ",".join(
            f"{name}.example.com{times}" for name, times in (("gone", ""), ("flaky", "*1"))
        )
        site.set_faults(faulty)
        site.closed_ports = {ports[host] for host in ports if host == "tls-reset"}
        matrix.first = crawler.documents(matrix, "first", names=names)
        matrix.first_errors = crawler.errors(matrix, "first")
        site.set_faults({})
        site.closed_ports = set()
        matrix.healed = crawler.documents(matrix, "healed")
        site.set_faults(faulty)
        site.closed_ports = {ports[host] for host in ports if host == "tls-reset"}
        del site.pages["/really-gone.html"]  # with its link
        lines = str(site.pages["/llms.txt"]).splitlines(keepends=True)
        site.pages["/llms.txt"] = "".join(line for line in lines if "really-gone" not in line)
        matrix.again = crawler.documents(matrix, "again", names=names)
        matrix.again_errors = crawler.errors(matrix, "again")
        site.set_faults({})
        site.closed_ports = set()
        fill(site, matrix.cases, places, edition=2)
        matrix.edited = crawler.documents(matrix, "edited")
        matrix.fresh = {name: _edited(document) for name, document in matrix.healthy.items()}
        matrix.struck = site.struck
    return matrix


def _tls_ports(
    stack: contextlib.ExitStack, authority: Authority, site: FaultSite
) -> dict[str, int]:
    certificates = {
        "tls-good": authority.server("tls-good.example.com"),
        "tls-unknown": authority.server("tls-unknown.example.com", trusted=False),
        "tls-expired": authority.server("tls-expired.example.com", days=(-3, -1)),
        "tls-early": authority.server("tls-early.example.com", days=(1, 3)),
        "tls-name": authority.server("other.example.com"),
        "tls-reset": authority.server("tls-reset.example.com"),
    }
    ports = {}
    for host, certificate in certificates.items():
        url = stack.enter_context(serving_faults(site, certificate))
        ports[host] = int(url.rpartition(":")[2])
    return ports


@dataclass(frozen=True)
class _Places:
    """Where the page of a case is; healthy, the certificate cases lie on plain http."""

    port: int
    tls: dict[str, int]

    def url(self, case: Case, *, markdown: bool = False) -> str:
        path = f"{case.path}.md" if markdown else case.path
        if case.host in self.tls:
            return f"https://{case.host}.example.com:{self.tls[case.host]}{path}"
        return f"http://{case.host}.example.com:{self.port}{path}"

    def key(self, case: Case) -> str:
        return f"{case.host}.example.com{case.path}{'.md' if case.markdown else ''}"


def fill(site: FaultSite, chosen: list[Case], places: _Places, *, edition: int) -> None:
    """Put the pages of an edition on the site."""
    site.pages.clear()
    names = [case.name for case in chosen]
    for name in [*names, "really-gone", "steady"]:
        site.pages[f"/{name}.html"] = html_page(name, edition)
    for case in chosen:
        if case.markdown:
            site.pages[case.path] = html_page(case.name, edition, more="<p>This is the HTML.</p>")
            site.pages[f"{case.path}.md"] = markdown_page(case.name, edition)
    for path in site.pages:
        site.modified[path] = MODIFIED if edition == 1 else MODIFIED + 50_000_000
    listed = [places.url(case, markdown=case.markdown) for case in chosen]
    own = [f"http://{DOCS}:{site.port}/{name}.html" for name in ("really-gone", "steady")]
    links = "".join(f"- [{url.rpartition('/')[2]}]({url})\n" for url in [*listed, *own])
    site.pages["/llms.txt"] = f"# Faults\n\n## Pages\n\n{links}"
    listed_home = html_page("Home", edition)  # of the other hosts there is no home page
    site.pages["/"] = lambda seen: listed_home if DOCS in seen.headers["host"] else Reply("", 404)
    site.pages["/broken.html"] = html_page("Broken", edition)


class _Crawler:
    """Crawls the site of the matrix; `healthy` has a store of its own."""

    def __init__(self, folder: Path, places: _Places, authority: Authority):
        self.folder = folder
        self.places = places
        self.authority = authority

    def documents(self, matrix: Matrix, run: str, *, names: str = "") -> dict[str, dict[str, Any]]:
        """Crawl and return the documents by case name; duplicates are noted in the matrix."""
        own, faulty = run == "healthy", bool(names)
        folder = self.folder / (run if own else "same")
        folder.mkdir(exist_ok=True)
        never = {
            urlsplit(self.places.url(c, markdown=c.markdown)).path: c.never for c in matrix.cases
        }
        short = cut_short(never if faulty else {})
        # the healthy twin trusts every certificate and finds every name; of those that are wrong it has plain pages
        outcome = crawl(
            f"http://{DOCS}:{self.places.port}/",
            folder,
            settings={
                "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
                "TWISTED_DNS_RESOLVER": "made_names.FaultNames",
                **short["settings"],
                "DOWNLOAD_MAXSIZE": 4_000_000,
                "AUTOTHROTTLE_MAX_DELAY": 3,
                "CONCURRENT_REQUESTS": 64,
                "CONCURRENT_REQUESTS_PER_DOMAIN": 24,
                "LLMS_REPORT": folder / "report.html",
                **({"DOWNLOAD_VERIFY_CERTIFICATES": "False"} if not names else {}),
            },
            constants={
                "llmsspider.crawler.run.MAX_FAILED_SHARE": 1
            },  # half of the site is out of order
            env={
                "PYTHONPATH": f"{Path(__file__).parents[2]}:{Path(__file__).parent}",
                "SSL_CERT_FILE": str(self.authority.path),
                "FAULT_NAMES": names,
                **short["env"],
            },
        )
        matrix.outcomes[run] = outcome
        counted = Counter(document["url"] for document in outcome.documents)
        contents = Counter(d["content_hash"] for d in outcome.documents if d["content_hash"])
        matrix.duplicates += [f"{run}: {url}" for url, times in counted.items() if times > 1]
        matrix.duplicates += [
            f"{run}: content {digest}" for digest, times in contents.items() if times > 1
        ]
        by_name = {}
        for document in outcome.documents:
            name = document["url"].partition("?")[0].rpartition("/")[2]
            by_name[name.removesuffix(".md").removesuffix(".html")] = document
        return by_name

    def errors(self, matrix: Matrix, run: str) -> dict[str, str]:
        """Return the error kind of each page that a run could not have, by case name."""
        report = json.loads((self.folder / "same" / "run.json").read_text(encoding="utf-8"))
        return {_name(url): kind for url, kind in _errors(report)}


def _name(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2].removesuffix(".md").partition(".html")[0]


def _errors(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(row["url"], row["kind"]) for row in report["run"]["errors"]["urls"]]
