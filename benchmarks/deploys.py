"""The deploys of a real site as nights: `python benchmarks/deploys.py REPOSITORY BRANCH`.

A branch of a repository holds the built site; each of its last commits is one night, and the last one is crawled again
on `--quiet` nights, when nothing changes. A row says what was told, and what became of the files: a page is edited where
the text of its `<main>` (or `<article>`, or body) is another one, moved where git says so, gone where its file is.
Crude, so look at each difference: breadcrumbs count as text, levels of headings and addresses do not.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from pathlib import Path

import lxml.html

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "support"), str(HERE.parent)]

from crawling import crawl  # noqa: E402
from site_server import Reply, Seen, Site, serving  # noqa: E402

LINK = "120000"
"""Mode of a symbolic link, such as mike makes of an alias."""
AROUND = "//script | //style | //nav | //header | //footer | //aside | //form | //button"
TEXT = (".html", ".md", ".txt", ".xml", ".json", ".js", ".inv")


class Repository:
    """The commits of a repository, read by one process of git."""

    def __init__(self, folder: str):
        self._folder = folder
        self._lock = threading.Lock()
        self._blobs = subprocess.Popen(
            ["git", "-C", folder, "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, *words: str) -> str:
        """Return what a command of git prints."""
        done = subprocess.run(["git", "-C", self._folder, *words], check=True, capture_output=True)
        return done.stdout.decode("utf-8", "replace")

    def blob(self, name: str) -> bytes:
        """Return the content of a file by its object's name."""
        assert self._blobs.stdin is not None
        assert self._blobs.stdout is not None
        with self._lock:  # the server answers in several threads
            self._blobs.stdin.write(f"{name}\n".encode())
            self._blobs.stdin.flush()
            size = int(self._blobs.stdout.readline().split()[2])
            return self._blobs.stdout.read(size + 1)[:-1]

    def files(self, commit: str) -> dict[str, str]:
        """Return the names of the objects of a commit's files, by path; links to folders are followed."""
        found, links = {}, {}
        for line in self.run("ls-tree", "-r", commit).splitlines():
            about, path = line.split("\t")
            mode, _, name = about.split()
            if mode == LINK:
                links[path] = posixpath.normpath(
                    posixpath.join(posixpath.dirname(path), self.blob(name).decode())
                )
            elif path.endswith(TEXT):
                found[path] = name
        for path, target in links.items():
            below = [(one, name) for one, name in found.items() if one.startswith(f"{target}/")]
            found |= {path + one[len(target) :]: name for one, name in below}
        return found

    def renamed(self, before: str, now: str) -> int:
        """Return how many pages git takes to have moved between two commits."""
        changes = self.run("diff", "-M", "--name-status", before, now, "--", "*.html")
        return len(re.findall(r"^R", changes, re.MULTILINE))


class Deploys(Site):
    """A static host of one commit at a time."""

    def __init__(self, repository: Repository, base: str, origin: str):
        super().__init__({})
        self.etags = True
        self.repository, self.base, self.origin = repository, base, origin.encode()
        self.files: dict[str, str] = {}

    def file_of(self, path: str) -> str | None:
        """Return the path of the file that answers an address."""
        if not path.startswith(f"{self.base}/"):
            return None
        own = path[len(self.base) + 1 :]
        names = [f"{own}index.html"] if own == "" or own.endswith("/") else [own, f"{own}.html"]
        return next((name for name in names if name in self.files), None)

    def reply(self, seen: Seen) -> Reply:
        """Answer as hosts of static files do: `/x` leads to `/x/` where that is a folder."""
        path = seen.path.partition("?")[0]
        name = self.file_of(path)
        if name is not None:
            body = self.repository.blob(self.files[name])
            return Reply(body.replace(self.origin, self.url.encode()) if self.origin else body)
        if self.file_of(f"{path}/") is not None:
            return Reply("", 301, headers={"Location": f"{path}/"})
        return Reply("not here", 404, "text/html")

    def text(self, name: str) -> str:
        """Return the text of a page, without what stands around it."""
        root = lxml.html.fromstring(self.repository.blob(self.files[name]) or b"<p>")
        for part in root.xpath(AROUND):
            if part.getparent() is not None:
                part.drop_tree()
        mains = root.xpath("//main | //article") or root.xpath("//body") or [root]
        return " ".join(mains[0].text_content().split())


def replay(options: argparse.Namespace) -> list[dict[str, object]]:
    """Crawl each night; return a row for each."""
    repository = Repository(options.repository)
    commits = options.commits.split(",") if options.commits else []
    if not commits:
        last = repository.run("log", "--format=%H", options.branch).split()
        commits = last[: options.nights * options.stride : options.stride][::-1]
    site = Deploys(repository, options.base, options.origin)
    rows: list[dict[str, object]] = []
    texts: dict[str, str] = {}
    with serving(site), tempfile.TemporaryDirectory() as folder:
        start = site.url + (options.start or f"{options.base}/")
        for night, commit in enumerate([*commits, *commits[-1:] * options.quiet]):
            site.files = repository.files(commit)
            site.clear()
            outcome = crawl(start, Path(folder), timeout=1800)
            before, texts = texts, {}
            told: defaultdict[str, set[str]] = defaultdict(set)
            for path, one in outcome.by_path(site.url).items():
                told[one["change"]].add(path)
                name = site.file_of(path)
                if one["change"] != "deleted" and name is not None and name.endswith(".html"):
                    texts[path] = site.text(name)
            edited = {path for path in texts.keys() & before.keys() if texts[path] != before[path]}
            moves = sum(
                bool(one["moved_from"]) for one in outcome.documents if one["change"] == "new"
            )
            row: dict[str, object] = {
                "night": night,
                "requests": len(site.requests),
                **Counter(one["change"] for one in outcome.documents),
                "edited": len(edited),
                "noise": len(told["changed"] - edited) if night else 0,
                "missed": len(edited - told["changed"]),
                "there": sum(site.file_of(path) is not None for path in told["deleted"]),
                "moves": moves,
                "renamed": repository.renamed(commits[night - 1], commit)
                if 0 < night < len(commits)
                else 0,
            }
            print(
                json.dumps(row), sorted(told["changed"] ^ edited)[:3] if night else "", flush=True
            )
            rows.append(row)
    return rows


def main() -> None:
    """Replay the deploys, and print the sums."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repository", help="folder of a clone")
    parser.add_argument("branch")
    parser.add_argument("--base", default="", help="path below which the site is served: /kit")
    parser.add_argument("--start", default="", help="path of the start page, if it is another one")
    parser.add_argument("--origin", default="", help="address that the pages name as their own")
    parser.add_argument("--nights", type=int, default=10)
    parser.add_argument("--stride", type=int, default=1, help="each so many commits")
    parser.add_argument("--commits", default="", help="these, in place of the last of the branch")
    parser.add_argument("--quiet", type=int, default=5)
    rows = replay(parser.parse_args())
    names = ("edited", "changed", "noise", "missed", "deleted", "there", "moves", "renamed")
    total = {name: sum(int(str(row.get(name, 0))) for row in rows[1:]) for name in names}
    print(json.dumps(total | {"requests": [row["requests"] for row in rows]}), flush=True)


if __name__ == "__main__":
    main()
