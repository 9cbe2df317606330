"""Kill a crawl at random moments: `python benchmarks/kills.py --rounds 20 [--kinds crawl,refresh,mirror]`.

Each round: a process that is killed (SIGKILL) at a random moment, then the same command again without a kill. What
is there in the end has to be what an undisturbed process leaves. The moment is a number of requests that the site has
seen, and a while after it: as long as an undisturbed process takes to its first request, or from its last one to its
end. A round in which the process had ended before the signal came is not counted: its exit code says so. The seed is
printed, so that a failure can be run again.

    crawl    a first crawl into an empty store, every other one with a JOBDIR: the documents, none of them deleted
    refresh  `mode=refresh` after the site changed: the documents, and those of a consumer who read by number
    mirror   a crawl after the site changed, into a folder of Markdown: the files, text for text, and no other file
    chunks   a feed of chunks, `emit=changes`, after the site changed: a consumer's index as docs/how-to/chunks.md says
    lancedb  a crawl after the site changed, into a table of LanceDB: its rows, which are the chunks of the store
    export   `scrapy export --format chunks` over yesterday's file: the old file or the new one, then the new one
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tests" / "support")]

import crawling  # noqa: E402
from generated_site import SiteWriter  # noqa: E402
from site_server import Site, serving  # noqa: E402

Rows = list[dict[str, Any]]
VECTORS = (
    "-s", 'ITEM_PIPELINES={"llmsspider.integrations.lancedb.LanceDBPipeline": 950}',
    "-s", "LLMS_VECTOR_STORE=vectors#docs", "-s", "LLMS_EMBEDDER=own_classes.HashedWords",
)  # fmt: skip


@dataclass(frozen=True)
class Moment:
    """When a process is killed: so many seconds after the site has seen so many requests."""

    requests: int
    secs: float
    phase: str


@dataclass(frozen=True)
class Course:
    """How an undisturbed process went: its requests, the seconds before the first one and after the last one."""

    requests: int
    head_secs: float
    tail_secs: float

    def moment(self, chance: random.Random) -> Moment:
        """Choose a moment: one in six before the first request, one in three after the last one."""
        share = chance.random()
        if share < 1 / 6 or not self.requests:
            return Moment(0, chance.uniform(0.05, 1) * self.head_secs, "before the first request")
        if share < 1 / 2:
            return Moment(self.requests, chance.random() * self.tail_secs, "after the last request")
        return Moment(
            chance.randrange(1, self.requests), chance.uniform(0, 0.02), "between requests"
        )


class Work:
    """The commands of one round, in a folder of their own."""

    def __init__(self, site: Site, folder: Path):
        self.site = site
        self.folder = folder
        self.source = site.url.removeprefix("http://")
        self.settings = (
            "-s",
            "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
            "-s",
            f"LLMS_DATA_DIR={folder / 'store'}",
        )

    def crawl(self, *options: str, feed: str = "documents.jsonl") -> tuple[str, ...]:
        """The arguments of a crawl as a user would give them."""
        fast = ("-s", "LLMS_CONVERT_WORKERS=0", "-s", "DOWNLOAD_DELAY=0.005")
        return (
            "crawl",
            "docs",
            "-a",
            f"url={self.site.url}/",
            "-O",
            feed,
            *self.settings,
            *fast,
            *options,
        )

    def export(self, *options: str) -> tuple[str, ...]:
        """The arguments of an export."""
        return ("export", self.source, *self.settings, *options)

    def run(self, *arguments: str) -> crawling.Outcome:
        """Run a command to its end."""
        outcome = crawling.command(*arguments, cwd=self.folder, timeout=300)
        if outcome.exit_code:
            raise SystemExit(
                f"scrapy {' '.join(arguments)}: exit code {outcome.exit_code}\n{outcome.log[-3000:]}"
            )
        return outcome

    def killed(self, arguments: tuple[str, ...], moment: Moment) -> bool:
        """Start a command and kill it at its moment; returns whether it was killed, and had not ended before."""
        log = self.folder / "killed.log"
        self.site.clear()
        process = crawling.begin(*arguments, cwd=self.folder, stdout=log, stderr=log)
        while process.exitcode is None and len(self.site.requests) < moment.requests:
            time.sleep(0.001)
        wait([process.sentinel], moment.secs)
        process.kill()
        return process.exitcode == -signal.SIGKILL

    def timed(self, arguments: tuple[str, ...]) -> Course:
        """Run a command and say how it went."""
        log = self.folder / "timed.log"
        self.site.clear()
        began, seen = time.monotonic(), [time.monotonic()]
        process = crawling.begin(*arguments, cwd=self.folder, stdout=log, stderr=log)
        while process.exitcode is None:
            seen += [time.monotonic()] * (len(self.site.requests) >= len(seen))
            time.sleep(0.001)
        if process.exitcode:
            raise SystemExit(process.log[-3000:])
        requests = len(self.site.requests)
        first = seen[1] if len(seen) > 1 else time.monotonic()
        return Course(requests, first - began, time.monotonic() - seen[-1])

    def rows(self, name: str) -> Rows:
        """The lines of a file."""
        return [
            json.loads(line)
            for line in (self.folder / name).read_text(encoding="utf-8").splitlines()
        ]

    def exported(self, *options: str) -> Rows:
        """What an export gives."""
        self.run(*self.export("-o", "exported.jsonl", *options))
        return self.rows("exported.jsonl")


def living(rows: Rows) -> dict[str, str]:
    """Content hash by URL of the documents that are not deleted."""
    return {row["url"]: row["content_hash"] for row in rows if row["change"] != "deleted"}


def applied(index: dict[str, dict[str, Any]], rows: Rows) -> dict[str, dict[str, Any]]:
    """An index of chunks after the rows, as docs/how-to/chunks.md tells a consumer."""
    for row in rows:
        if row["change"] != "deleted":
            index[row["id"]] = row
        elif row["id"] is not None:
            index.pop(row["id"], None)
        else:
            index = {key: kept for key, kept in index.items() if kept["page"] != row["page"]}
    return index


def no_day_before(work: Work) -> None:
    """A first crawl starts from nothing."""


def crawl_the_day_before(work: Work) -> None:
    """Documents, chunks and a tree of the site as it was."""
    work.run(*work.crawl("-O", "chunks.jsonl:chunks", "-s", "LLMS_MIRROR_DIR=tree"))
    shutil.copy(work.folder / "documents.jsonl", work.folder / "yesterday.jsonl")
    shutil.copy(work.folder / "chunks.jsonl", work.folder / "chunks-yesterday.jsonl")


def crawl_both_days(work: Work) -> None:
    """A complete store, and beside it the export of the day before."""
    crawl_the_day_before(work)
    change(work.site)
    work.run(*work.crawl())


def documents_of(work: Work) -> Any:
    """The documents a crawl delivered, and those in the store; a deletion would be a difference."""
    both = (work.rows("documents.jsonl"), work.exported())
    return [(living(rows), sum(row["change"] == "deleted" for row in rows)) for rows in both]


def refreshed(work: Work) -> Any:
    """The documents, and what a consumer has who applies the changes by number to those of yesterday."""
    yesterday = work.rows("yesterday.jsonl")
    held = {row["id"]: row["content_hash"] for row in yesterday}
    changes = work.exported("--since", str(max(row["seq"] for row in yesterday)))
    for row in changes:
        if row["change"] == "deleted":
            held.pop(row["id"], None)
        else:
            held[row["id"]] = row["content_hash"]
    kinds = sorted((row["url"], row["change"]) for row in changes)
    return living(work.rows("documents.jsonl")), held, kinds


def tree_of(work: Work) -> Any:
    """Every file of the tree with its text; when a page was fetched differs from run to run."""
    tree = work.folder / "tree"
    texts = {
        path.relative_to(tree).as_posix(): path.read_text(encoding="utf-8")
        for path in tree.rglob("*")
        if path.is_file()
    }
    manifest = json.loads(texts.pop(".llmsspider.json"))
    return {
        name: re.sub(r"(?m)^fetched_at: .*\n", "", text) for name, text in texts.items()
    }, manifest.keys()


def index_of(work: Work) -> Any:
    """The index of a consumer of changes: yesterday's chunks, the feed, and the replay that is asked for."""
    index: dict[str, dict[str, Any]] = {}
    for name in ("chunks-yesterday.jsonl", "chunks-killed.jsonl", "chunks.jsonl"):
        if (work.folder / name).exists():
            index = applied(index, work.rows(name))
    (source,) = json.loads(work.run("sources", "--json", *work.settings).stdout)
    if source["undelivered_since"] is not None:
        replay = ("--format", "chunks", "--since", str(source["undelivered_since"]))
        index = applied(index, work.exported(*replay))
    complete = applied({}, work.exported("--format", "chunks"))
    told = sorted((key, row["url"], row["text"]) for key, row in index.items())
    return told, sorted((key, row["url"], row["text"]) for key, row in complete.items())


def chunk_file(work: Work) -> Any:
    """The exported file, byte for byte but for the run that made it."""
    return sorted((row["id"], row["text"]) for row in work.rows("chunks.jsonl"))


def crawl_into_vectors(work: Work) -> None:
    """A LanceDB table of the chunks of the site as it was."""
    work.run(*work.crawl(*VECTORS))


def vectors_of(work: Work) -> Any:
    """The rows of the table, and the chunks that the store has."""
    import lancedb  # noqa: PLC0415  # an extra

    found = lancedb.connect(str(work.folder / "vectors")).open_table("docs").search().to_list()
    chunks = work.exported("--format", "chunks")
    return [
        sorted((row["id"], row["url"], row["text"]) for row in rows) for rows in (found, chunks)
    ]


@dataclass(frozen=True)
class Kind:
    """What is killed: how the day before went, the command, and what is compared."""

    before: Callable[[Work], None]
    command: Callable[[Work], tuple[str, ...]]
    state: Callable[[Work], Any]
    changes: bool = True


KINDS = {
    "crawl": Kind(no_day_before, lambda work: work.crawl(), documents_of, changes=False),
    "refresh": Kind(crawl_the_day_before, lambda work: work.crawl("-a", "mode=refresh"), refreshed),
    "mirror": Kind(
        crawl_the_day_before, lambda work: work.crawl("-s", "LLMS_MIRROR_DIR=tree"), tree_of
    ),
    "chunks": Kind(
        crawl_the_day_before,
        lambda work: work.crawl("-a", "emit=changes", feed="chunks.jsonl:chunks"),
        index_of,
    ),
    "lancedb": Kind(crawl_into_vectors, lambda work: work.crawl(*VECTORS), vectors_of),
    "export": Kind(
        crawl_both_days,
        lambda work: work.export("--format", "chunks", "-o", "chunks.jsonl"),
        chunk_file,
    ),
}


def change(site: Site) -> None:
    """The next day: a tenth of the pages edited, two gone with the links to them, one new."""
    paths = sorted(path for path in site.pages if path != "/")
    for path in paths[::10]:
        site.pages[path] = site.pages[path].replace(
            b"</h1>", b"</h1><p>Edited since yesterday, in a sentence.</p>", 1
        )
    for path in paths[5:27:11]:
        del site.pages[path]
        name = path.rpartition("/")[2].encode()
        for other, body in site.pages.items():
            site.pages[other] = re.sub(
                rb'<a [^>]*href="[^"]*' + re.escape(name) + rb'[^"]*"[^>]*>', b"<a>", body
            )
    site.pages["/new.html"] = (
        b"<html><body><main><h1>New</h1><p>A page that came today.</p></main></body></html>"
    )
    site.pages["/"] = site.pages["/"].replace(
        b"</h1>", b'</h1><p><a href="/new.html">what is new</a></p>', 1
    )


class Rounds:
    """The rounds of every kind over one site."""

    def __init__(self, site: Site, place: Path, chance: random.Random):
        self.site = site
        self.place = place
        self.chance = chance
        self.days = [dict(site.pages)]
        change(site)
        self.days.append(dict(site.pages))
        self.expected: dict[str, Any] = {}
        self.course: dict[str, Course] = {}
        self.phases: Counter[str] = Counter()

    def work(self, name: str, kind: Kind, number: str) -> Work:
        """A folder as it is before the command, and the site as it is then."""
        folder = self.place / f"{name}-{number}"
        prepared = self.place / f"{kind.before.__name__}"
        if not prepared.exists():
            prepared.mkdir()
            self.site.pages = dict(self.days[0])
            kind.before(Work(self.site, prepared))
        shutil.copytree(prepared, folder)
        self.site.pages = dict(self.days[kind.changes])
        return Work(self.site, folder)

    def undisturbed(self, name: str, kind: Kind) -> None:
        """What an undisturbed process leaves, and how long it takes."""
        work = self.work(name, kind, "undisturbed")
        self.course[name] = work.timed(kind.command(work))
        self.expected[name] = kind.state(work)
        print(f"{name}: undisturbed {self.course[name]}", flush=True)

    def round(self, name: str, kind: Kind, number: int) -> tuple[bool, bool]:
        """Kill once and run again; returns whether the process was going, and whether all is as it should be."""
        work = self.work(name, kind, str(number))
        jobdir = ("-s", f"JOBDIR={work.folder / 'job'}") if name == "crawl" and number % 2 else ()
        arguments = (*kind.command(work), *jobdir)
        old = (work.folder / "chunks.jsonl").read_bytes() if name == "export" else b""
        moment = self.course[name].moment(self.chance)
        going = work.killed(arguments, moment)
        if not going:  # it had ended: the same again would be one more night
            shutil.rmtree(work.folder)
            return False, True
        self.phases[moment.phase] += 1
        good = True
        # a consumer reads the file after each run: it is that of yesterday or a whole new one
        if name == "chunks":
            shutil.copy(work.folder / "chunks.jsonl", work.folder / "chunks-killed.jsonl")
        if name == "export":
            good = (work.folder / "chunks.jsonl").read_bytes() == old or kind.state(
                work
            ) == self.expected[name]
        work.run(*arguments)
        found = kind.state(work)
        good = good and found == self.expected[name]
        with_jobdir = " (JOBDIR)" if jobdir else ""
        print(
            f"{number:>3} {name:<8} {'ok' if good else 'DIFFERS'}  killed {moment.secs:.2f} s after "
            f"{moment.requests} requests, {moment.phase}{with_jobdir}",
            flush=True,
        )
        if good:
            shutil.rmtree(work.folder)
        else:
            print(
                f"    expected {str(self.expected[name])[:2000]}\n    found    {str(found)[:2000]}",
                flush=True,
            )
        return True, good


def main() -> None:
    """Run the rounds; exit code 1 when one differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=20, help="kills, shared by the kinds")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument(
        "--keep", metavar="DIR", help="an empty folder for the rounds; what differs stays there"
    )
    options = parser.parse_args()
    names = options.kinds.split(",")
    print(f"seed {options.seed}", flush=True)
    pages = SiteWriter(options.pages).site()
    kills, failures, number = dict.fromkeys(names, 0), 0, 0
    with serving(Site(pages)) as site, contextlib.ExitStack() as stack:
        folder = options.keep or stack.enter_context(tempfile.TemporaryDirectory())
        site.etags = True
        rounds = Rounds(site, Path(folder), random.Random(options.seed))
        for name in names:
            rounds.undisturbed(name, KINDS[name])
        while sum(kills.values()) < options.rounds:
            name = names[number % len(names)]
            going, good = rounds.round(name, KINDS[name], number // len(names))
            kills[name] += going
            failures += not good
            number += 1
    print(f"{sum(kills.values())} kills {kills} in {number} rounds, {failures} left something else")
    print(", ".join(f"{phase}: {count}" for phase, count in sorted(rounds.phases.items())))
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
