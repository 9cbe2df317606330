"""Disks that are full at some moment of a crawl, and stores that can only be read (docs/how-to/backup.md)."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import program_text
from forked import ROOT
from services import REQUIRED
from sites import html
from stores import NAME, Place

from llmsspider.store import open_store
from llmsspider.store.database import source_file

WORKER = ROOT / "tests" / "support" / "store_worker.py"
CHANCE = random.Random(1)
SAYS = "What each of these pages says, whatever stands in the paragraph that comes after this one."


class Disk:
    """A small disk of its own."""

    def __init__(self, folder: Path):
        self.folder = folder

    def mount(self, *options: str) -> None:
        words = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(self.folder)]
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        if done.returncode and not os.environ.get(REQUIRED):
            pytest.skip(f"a disk of its own needs the right to mount: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    yield Disk(folder)
    subprocess.run(["umount", str(folder)], check=False, capture_output=True)


@pytest.fixture
def llmsspider(disk: Disk) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `llmsspider` on the disk."""

    def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return program_text(*words, cwd=disk.folder, **env)

    return run


def pages(number: int) -> dict[str, str]:
    texts = {
        f"/p{n}.html": html(f"P{n}", f"<p>{SAYS}</p><p>{CHANCE.randbytes(10_000).hex()}</p>")
        for n in range(number)
    }
    return {
        "/": html("Home", "".join(f"<a href='{path}'>x</a> " for path in texts) + "<p>Home.</p>"),
        **texts,
    }


OPTIONS = ("-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1", "-s", "LLMS_CONVERT_WORKERS=0")
STORE_FAILED = "store_failed: the page store took no more: make room or free it, and crawl again; what was stored"
NO_TREE = "the Markdown tree was not written: docs: No space left on device"


@pytest.mark.parametrize(
    ("room", "store_elsewhere", "line"),
    [
        pytest.param(
            40, False, "store_failed: nothing was fetched: page store", id="opening the store"
        ),
        pytest.param(300, False, STORE_FAILED, id="the first pages"),
        pytest.param(700, False, STORE_FAILED, id="in the middle"),
        pytest.param(1600, False, NO_TREE, id="the tree, beside the store"),
        pytest.param(500, True, NO_TREE, id="the tree alone"),
    ],
)
def test_a_disk_that_fills_up_is_one_line_and_the_next_crawl_has_everything(
    serve, disk, llmsspider, tmp_path, room, store_elsewhere, line
):
    site = serve(pages(60))
    disk.mount(f"size={room}k")
    env = {"LLMS_DATA_DIR": str(tmp_path / "store")} if store_elsewhere else {}
    full = llmsspider(f"{site.url}/", "-o", "docs", *OPTIONS, **env)
    lines = full.stderr.splitlines()
    assert full.returncode == 1
    assert sum(line in one for one in lines) == 1, full.stderr
    assert sum("disk is full" in one for one in lines) <= 1, full.stderr
    assert "Traceback" not in full.stderr
    assert "Logging error" not in full.stderr
    assert len(lines) <= 7, full.stderr
    disk.mount("remount", "size=50m")
    after = llmsspider(f"{site.url}/", "-o", "docs", *OPTIONS, **env)
    assert after.returncode == 0, after.stderr
    assert len(list((disk.folder / "docs").glob("p*.md"))) == 60
    assert "deleted" not in after.stdout


def test_a_disk_that_is_full_at_the_next_crawl_loses_nothing(serve, disk, llmsspider):
    site = serve(pages(20))
    disk.mount("size=4m")
    assert llmsspider(f"{site.url}/", "-o", "docs", *OPTIONS).returncode == 0
    before = {path.name: path.read_bytes() for path in (disk.folder / "docs").glob("*.md")}
    site.pages = pages(20)
    filler = disk.folder / "filler"
    fill = f"head -c 9000000 /dev/zero > {filler}"
    subprocess.run(["sh", "-c", fill], check=False, capture_output=True)
    full = llmsspider(f"{site.url}/", "-o", "docs", *OPTIONS)
    assert (full.returncode, full.stdout) == (1, ""), full.stderr
    assert (
        full.stderr.count("store_failed: nothing was fetched: page store"),
        len(full.stderr.splitlines()),
    ) == (1, 2), full.stderr
    assert {path.name: path.read_bytes() for path in (disk.folder / "docs").glob("*.md")} == before
    filler.unlink()
    after = llmsspider(f"{site.url}/", "-o", "docs", *OPTIONS)
    assert (after.returncode, "changed 20" in after.stdout) == (0, True), after.stdout


# Stores that can only be read


def killed_run(folder: Path) -> None:
    """Leave a store as a killed process does: with its log, and the index of that."""
    Place(None, folder).open().close()
    words = [sys.executable, WORKER, "-", folder, "killed", "100000"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{WORKER.parent}"}
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        for _ in range(1500):
            process.stdout.readline()
        process.kill()


def clean_run(folder: Path) -> None:
    """Leave a store as a crawl does that ends."""
    from stores import record

    with Place(None, folder).open() as store:
        store.begin_run("crawl", {})
        for number in range(600):
            store.save_page(record(f"p{number}", f"# P{number}\n\nA text about walruses.\n"), "new")
        store.finish_run("finished", complete=True, why=None, counts={})


@pytest.mark.parametrize(
    ("leave", "lost"),
    [
        pytest.param(clean_run, (), id="a clean end"),
        pytest.param(killed_run, (), id="a killed run"),
        pytest.param(killed_run, ("-shm",), id="a killed run without the index of its log"),
    ],
)
def test_a_store_on_a_read_only_disk_is_read_whole(disk, llmsspider, leave, lost):
    disk.mount("size=50m")
    folder = disk.folder / "store"
    leave(folder)
    file = source_file(folder, NAME)
    for suffix in lost:
        file.with_name(file.name + suffix).unlink()
    disk.mount("remount", "ro")
    before = sorted(path.name for path in folder.iterdir())
    env = {"LLMS_DATA_DIR": str(folder)}
    listed = json.loads(llmsspider("sources", "--json", **env).stdout)
    assert listed[0]["pages"] == 600 if leave is clean_run else listed[0]["pages"] > 0, (
        "what was committed"
    )
    exported = llmsspider("export", NAME, **env)
    assert (exported.returncode, len(exported.stdout.splitlines())) == (0, listed[0]["pages"])
    for words in (("status", NAME), ("search", NAME, "text"), ("diff", NAME, "--since", "0")):
        done = llmsspider(*words, **env)
        assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr
    crawled = llmsspider("recrawl", NAME, *OPTIONS, **env)
    assert (
        crawled.returncode,
        crawled.stderr.count("it cannot be written; choose another LLMS_DATA_DIR"),
    ) == (1, 1)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_tree_with_its_store_on_a_read_only_disk_is_read(serve, disk, llmsspider):
    site = serve(pages(3))
    disk.mount("size=20m")
    assert llmsspider(f"{site.url}/", "-o", "docs", *OPTIONS).returncode == 0
    disk.mount("remount", "ro")
    for words in (("sources",), ("status", "docs"), ("export", "docs"), ("search", "docs", "home")):
        done = llmsspider(*words)
        assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr
    again = llmsspider(f"{site.url}/", "-o", "docs", *OPTIONS)
    assert (again.returncode, again.stderr.count("it cannot be written")) == (1, 1)
    assert "Traceback" not in again.stderr


def test_a_store_of_an_earlier_version_that_cannot_be_written_says_what_to_do(disk, llmsspider):
    disk.mount("size=20m")
    clean_run(disk.folder)
    with sqlite3.connect(source_file(disk.folder, NAME)) as connection:
        connection.execute("UPDATE meta SET value = '6' WHERE key = 'version'")
    connection.close()
    disk.mount("remount", "ro")
    done = llmsspider("export", NAME, LLMS_DATA_DIR=str(disk.folder))
    assert done.returncode == 1
    assert (
        done.stderr.count(
            "is of an earlier version, and its folder cannot be written: copy the folder"
        )
        == 1
    )


def test_a_store_that_is_written_is_no_read_only_one(tmp_path):
    clean_run(tmp_path)
    with open_store(None, tmp_path, NAME, create=False) as store:
        assert not store._database.read_only


# Backups: the commands of docs/how-to/backup.md


def commands_for(heading: str) -> list[str]:
    """The blocks of commands below a heading of the page, in its order."""
    text = (
        (ROOT / "docs" / "how-to" / "backup.md")
        .read_text()
        .partition(f"## {heading}\n")[2]
        .partition("\n## ")[0]
    )
    lines = [
        line.removeprefix("    ") if line.startswith("    ") else "" for line in text.splitlines()
    ]
    return [block for block in "\n".join(lines).split("\n\n") if block.strip()]


def test_a_store_is_restored_from_the_copy_that_was_made_while_it_was_written(tmp_path):
    folder = tmp_path / ".scrapy" / "llmsspider"
    python = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{python}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    env |= {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings"}
    (tmp_path / "scrapy.cfg").touch()
    program = tmp_path / "bin" / "llmsspider"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m llmsspider "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    env["PATH"] = f"{program.parent}:{env['PATH']}"
    clean_run(folder)
    _, copy, restore = (block for block in commands_for("SQLite") if block.strip())
    with open_store(None, folder, NAME) as store:
        store.begin_run("crawl", {})
        store.flush()
        subprocess.run(["sh", "-ec", copy], cwd=tmp_path, env=env, check=True)
    source_file(folder, NAME).write_bytes(b"damaged")
    done = subprocess.run(
        ["sh", "-ec", restore], cwd=tmp_path, env=env, check=True, capture_output=True, text=True
    )
    assert NAME in done.stdout
    with open_store(None, folder, NAME, create=False) as store:
        assert store.count_pages() == 600
