"""Kill parts of a nightly sync at random moments: `python benchmarks/sync_kills.py --nights 20 [--store postgresql]`.

Each night some pages of ten sites are changed, added or deleted; then `scrapy sync` runs, and three times something
goes: a process that crawls (SIGKILL), the sync itself (SIGKILL; it is started again), or the PostgreSQL (stopped as by
a power failure, started again a second later). The sync is repeated until all sources are well. What is then stored
has to be what the store of an undisturbed sync holds, and what a consumer who reads by number has, too; nothing that
the site serves may ever be told as deleted. The seed is printed, so that a failure can be run again.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT), str(ROOT / "tests" / "support")]

from measuring import descendants  # noqa: E402
from postgresql_server import Server, new_database, running_server  # noqa: E402
from site_server import Seen, Site, serving  # noqa: E402

from llmsspider.api import stored as api  # noqa: E402
from llmsspider.errors import StoreError  # noqa: E402

PROJECT = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(ROOT)}
SITES, PAGES, KILLS, TRIES = 10, 40, 3, 8
ANSWER_SECS = 0.02
"""Time that a page takes: without it a night were over before anything is killed."""


class Night:
    """The sites as they are tonight, and the stores that were crawled into."""

    def __init__(
        self, sites: list[Site], folder: Path, server: Server | None, chance: random.Random
    ):
        self.sites, self.folder, self.server, self.chance = sites, folder, server, chance
        self.texts = [
            {f"/p{number}.html": f"The first text of page {number}." for number in range(PAGES)}
            for _ in sites
        ]
        self.stores = {
            name: new_database(server.url) if server else str(folder / name)
            for name in ("killed", "calm")
        }
        lines = [
            f'[[sources]]\nurl = "{site.url}/"\nsource = "s{n}"\n' for n, site in enumerate(sites)
        ]
        (folder / "sources.toml").write_text("".join(lines))
        self.told: dict[tuple[int, str], str] = {}
        self.read_to = [0] * len(sites)
        self.kills = Counter[str]()

    def change(self, number: int) -> None:
        """Change, add and delete pages of each site."""
        for texts in self.texts:
            for path in self.chance.sample(sorted(texts), 4):
                texts[path] = f"The text of night {number}, {self.chance.random()}."
            texts[f"/n{number}.html"] = f"A new page of night {number}."
            del texts[self.chance.choice(sorted(texts))]
        for site, texts in zip(self.sites, self.texts, strict=True):
            links = "".join(f"<a href='{path}'>{path}</a> " for path in texts)
            pages = {path: f"<p>{text}</p>" for path, text in texts.items()} | {
                "/": f"<p>Welcome.</p>{links}"
            }
            site.pages = {path: slow(path, body) for path, body in pages.items()}  # type: ignore[misc]

    def sync(self, name: str) -> subprocess.Popen[bytes]:
        """Start a sync into a store."""
        store = "LLMS_STORE_URL" if self.server else "LLMS_DATA_DIR"
        words = [
            "-s",
            f"{store}={self.stores[name]}",
            "-s",
            "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
        ]
        words += [
            "-s",
            "LLMS_CONVERT_WORKERS=0",
            "-s",
            "LLMS_REVISIT=always",
            "--jobs",
            "2",
            "sources.toml",
        ]
        return subprocess.Popen(
            [sys.executable, "-m", "scrapy", "sync", *words],
            cwd=self.folder,
            env={**os.environ, **PROJECT, "LLMS_DATA_DIR": str(self.folder / name)},
            stdout=(self.folder / f"{name}.txt").open("wb"),
            stderr=(self.folder / f"{name}.log").open("ab"),
        )

    def disturbed(self) -> None:
        """Sync with kills, until all sources are well."""
        left = KILLS
        for _ in range(TRIES):
            going = self.sync("killed")
            while going.poll() is None:
                time.sleep(self.chance.uniform(0.3, 2.5))
                if left and going.poll() is None and self.kill(going):
                    left -= 1
            if going.returncode == 0 and b" 0 skipped" in (self.folder / "killed.txt").read_bytes():
                return
            time.sleep(1)
        raise SystemExit(
            f"not well after {TRIES} syncs:\n{(self.folder / 'killed.txt').read_text()}"
        )

    def kill(self, going: subprocess.Popen[bytes]) -> bool:
        """End something; returns whether it was there."""
        what = self.chance.choice(
            ["process", "process", "sync", *(["postgresql"] if self.server else [])]
        )
        processes = [pid for pid in descendants(going.pid) if os.getpgid(pid) == pid]
        if what == "process" and not processes:
            return False
        if what == "process":
            os.kill(self.chance.choice(processes), signal.SIGKILL)
        elif what == "sync":
            going.kill()
            going.wait()
        elif self.server:
            self.server.stop()
            time.sleep(1)
            self.server.start()
        self.kills[what] += 1
        return True

    def differences(self) -> list[str]:
        """Compare what is stored, what was told and what the undisturbed store holds."""
        wrong = []
        for number, texts in enumerate(self.texts):
            base, source = self.sites[number].url, f"s{number}"
            found = {
                name: {
                    one.url: one.content_hash
                    for one in api.documents(source, store=self.stores[name])
                }
                for name in self.stores
            }
            if found["killed"] != found["calm"]:
                wrong.append(
                    f"{source}: {sorted(found['killed'].items() ^ found['calm'].items())[:4]}"
                )
            for one in api.changes(source, since=self.read_to[number], store=self.stores["killed"]):
                if one.change == "deleted" and one.url.removeprefix(base) in texts:
                    wrong.append(f"{source}: {one.url} was told as deleted")
                if one.change == "deleted":
                    self.told.pop((number, one.url), None)
                else:
                    self.told[number, one.url] = one.content_hash
                self.read_to[number] = max(self.read_to[number], one.seq)
            told = {url: text for (owner, url), text in self.told.items() if owner == number}
            if told != found["killed"]:
                wrong.append(
                    f"{source}: the consumer has {sorted(told.items() ^ found['killed'].items())[:4]}"
                )
        return wrong


def slow(path: str, body: str) -> object:
    """Return a page that takes its time."""

    def page(_seen: Seen) -> str:
        time.sleep(ANSWER_SECS)
        return f"<!doctype html><html lang=en><title>{path}</title><main><h1>{path}</h1>{body}</main></html>"

    return page


def main() -> None:
    """Let the nights pass; print what was killed, and differences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nights", type=int, default=20)
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.store}", flush=True)
    wrong = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sites = [stack.enter_context(serving(Site({}))) for _ in range(SITES)]
        for site in sites:
            site.etags = True
        server = stack.enter_context(running_server()) if options.store == "postgresql" else None
        night = Night(sites, folder, server, random.Random(options.seed))
        for number in range(options.nights):
            night.change(number)
            night.disturbed()
            if night.sync("calm").wait():
                raise SystemExit((folder / "calm.log").read_text())
            try:
                found = night.differences()
            except StoreError as error:
                found = [str(error)]
            wrong += found
            print(f"night {number + 1}: {dict(night.kills)}", *found, sep="\n  ", flush=True)
    print(f"{sum(night.kills.values())} kills, {len(wrong)} differences")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
