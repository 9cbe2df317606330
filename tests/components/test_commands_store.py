"""`scrapy sources`, `scrapy export`, `scrapy delete`: what they print, write, refuse, and their exit codes."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest
from stores import NAME, SITE, Place, full_record, record

from llmsspider.items import Document
from llmsspider.output.exports import staged
from llmsspider.store.database import source_file

ROOT = Path(__file__).parents[2]


def real_project(folder: Path) -> dict[str, str]:
    """Make `folder` a project of its own; gives the environment for `python -m scrapy` in it."""
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n")
    (folder / "project_settings.py").write_text('COMMANDS_MODULE = "llmsspider.commands"\n')
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LLMS")}
    return environment | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project whose store holds a changed page, a page with everything, and a tombstone."""
    with Place(None, tmp_path / ".scrapy" / "llmsspider").open() as store:
        store.begin_run("crawl", {})
        store.save_page(record("a"), "new")
        store.save_page(full_record(), "new")
        store.save_page(record("gone"), "new")
        store.finish_run("finished", complete=True, why=None, counts={})
        store.begin_run("crawl", {})
        store.save_page(record("a", "# A2\n"), "changed")
        store.delete_page(record("gone").key, "not_found")
        store.finish_run("finished", complete=True, why=None, counts={})
    return tmp_path


def documents(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_sources_are_listed(scrapy, folder: Path):
    done = scrapy(folder, "sources")
    assert (done.returncode, done.stderr) == (0, "")
    header, line = done.stdout.splitlines()
    assert header.split() == ["SOURCE", "STATUS", "PAGES", "URL"]
    assert line.split() == [NAME, "INDEXED", "2", SITE]
    (found,) = json.loads(scrapy(folder, "sources", "--json").stdout)
    assert (found["name"], found["status"], found["pages"], found["url"]) == (
        NAME,
        "INDEXED",
        2,
        SITE,
    )


def test_no_sources_is_said(scrapy, tmp_path: Path):
    done = scrapy(tmp_path, "sources")
    assert (done.returncode, done.stdout) == (0, "no sources yet\n")
    assert not (tmp_path / ".scrapy").exists()


def test_a_damaged_source_is_named_beside_the_others(scrapy, folder: Path):
    source_file(folder / ".scrapy" / "llmsspider", "bad").write_bytes(b"x" * 3000)
    done = scrapy(folder, "sources")
    assert done.returncode == 1
    assert NAME in done.stdout
    assert "bad-" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_status_of_a_damaged_source_is_one_line_and_exit_code_1(scrapy, folder: Path):
    source_file(folder / ".scrapy" / "llmsspider", "bad").write_bytes(b"x" * 3000)
    done = scrapy(folder, "status", "bad")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "file is not a database" in done.stderr


@pytest.mark.parametrize(
    "words", [("search", NAME, "a"), ("lint", NAME), ("delete", NAME)], ids=lambda words: words[0]
)
def test_a_store_of_a_newer_version_is_one_line_and_exit_code_1(
    scrapy, folder: Path, words: tuple[str, ...]
):
    with (
        closing(
            sqlite3.connect(source_file(folder / ".scrapy" / "llmsspider", NAME))
        ) as connection,
        connection,
    ):
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'version'")
    done = scrapy(folder, *words)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "has version 99" in done.stderr


def test_a_source_that_cannot_be_deleted_is_one_line_and_exit_code_1(
    scrapy, folder: Path, monkeypatch
):
    def read_only(self: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "unlink", read_only)
    done = scrapy(folder, "delete", "--yes", NAME)
    assert done.returncode == 1
    assert (
        done.stderr.count("\n") == 1 and "cannot be deleted: Operation not permitted" in done.stderr
    )


def test_a_full_export_holds_the_current_pages(scrapy, folder: Path):
    done = scrapy(folder, "export", NAME)
    assert (done.returncode, done.stderr) == (0, "")
    found = documents(done.stdout)
    assert [(row["url"], row["change"], row["seq"]) for row in found] == [
        (SITE + "a", "changed", 4),
        (SITE + "guide", "new", 2),
    ]
    assert list(found[0]) == [field.name for field in fields(Document)]
    assert found[0]["content"] == "# A2\n"
    assert {row["source"] for row in found} == {NAME}
    assert found[0]["run"] != found[1]["run"]
    guide = full_record()
    assert found[1]["llms"] == {
        "file": SITE + "llms.txt",
        "section": "Docs",
        "title": "Guide",
        "description": None,
        "order": 7,
        "optional": True,
        "file_title": None,
        "file_summary": None,
        "file_notes": None,
    }
    assert found[1]["links"] == [
        {"text": "Home", "url": SITE},
        {"text": "", "url": SITE + "b#part"},
    ]
    assert found[1]["content"] == guide.content


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("0", [("guide", "new", 2), ("a", "new", 4), ("gone", "deleted", 5)]),
        ("3", [("a", "changed", 4), ("gone", "deleted", 5)]),
        ("5", []),
        ("999", []),
    ],
)
def test_an_export_since_a_number_replays_what_came_after(
    scrapy, folder: Path, since: str, expected
):
    done = scrapy(folder, "export", NAME, "--since", since)
    assert done.returncode == 0
    found = [
        (str(row["url"]).removeprefix(SITE), row["change"], row["seq"])
        for row in documents(done.stdout)
    ]
    assert found == expected


def test_an_export_to_a_file_replaces_it(scrapy, folder: Path):
    target = folder / "out.jsonl"
    target.write_text("yesterday\n")
    done = scrapy(folder, "export", NAME, "-o", str(target))
    assert (done.returncode, done.stdout) == (0, "")
    assert len(documents(target.read_text())) == 2
    assert sorted(path.name for path in folder.glob("*out*")) == ["out.jsonl"]


def test_an_export_that_fails_leaves_yesterdays_file(scrapy, folder: Path):
    target = folder / "out.jsonl"
    target.write_text("yesterday\n")
    path = source_file(folder / ".scrapy" / "llmsspider", NAME)
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    done = scrapy(folder, "export", NAME, "-o", str(target))
    assert done.returncode == 1
    assert "malformed" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert target.read_text() == "yesterday\n"
    assert sorted(path.name for path in folder.glob(".*.part")) == []


def test_a_staged_file_appears_only_when_all_is_written(tmp_path: Path):
    target = tmp_path / "out"
    target.write_text("yesterday")
    target.chmod(0o640)

    def half() -> None:
        with staged(target) as out:
            out.write(b"half")
            assert target.read_text() == "yesterday"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert target.read_text() == "yesterday"
    with staged(target) as out:
        out.write(b"today")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("today", 0o640)


def test_the_real_command_line(folder: Path):
    environment = real_project(folder)
    command = [sys.executable, "-m", "scrapy", "sources"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert NAME in done.stdout


def test_a_reader_that_leaves_early_is_no_fault(folder: Path):
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        store.begin_run("crawl", {})
        for number in range(50):
            store.save_page(record(f"{number}", "text\n" * 10_000), "new")
    command = f'"{sys.executable}" -m scrapy export {NAME} | head -c 100'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        cwd=folder,
        env=real_project(folder),
        check=False,
    )
    assert (len(done.stdout), done.stderr, done.returncode) == (100, b"", 0)


@pytest.mark.parametrize(
    ("answer", "code"), [("y\n", 0), ("YES\n", 0), ("\n", 1), ("", 1), ("no\n", 1)], ids=repr
)
def test_delete_asks(scrapy, folder: Path, answer: str, code: int):
    done = scrapy(folder, "delete", NAME, answer=answer)
    assert done.returncode == code
    assert f"Delete source {NAME!r}" in done.stderr
    left = "no sources yet" not in scrapy(folder, "sources").stdout
    assert left == (code == 1)


def test_delete_with_yes_does_not_ask(scrapy, folder: Path):
    done = scrapy(folder, "delete", NAME, "--yes")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"deleted {NAME}: pages, runs and history\n",
        "",
    )
    assert list((folder / ".scrapy" / "llmsspider").iterdir()) == []


def test_delete_leaves_no_word_of_a_source(scrapy, folder: Path):
    data = folder / ".scrapy" / "llmsspider"
    scrapy(folder, "search", NAME, "words")
    assert list(data.glob("*.search"))
    slug = source_file(data, NAME).stem
    (data / f"{slug}.vectors").write_bytes(b"vectors")
    (data / f"{slug}.search-wal").write_bytes(b"words")
    (data / "logs").mkdir()
    (data / "logs" / f"{slug}.log").write_text("a log")
    done = scrapy(folder, "delete", NAME, "--yes")
    removed = "pages, runs and history, search index, vectors, log"
    assert (done.returncode, done.stdout) == (0, f"deleted {NAME}: {removed}\n")
    assert [path for path in data.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "words", [["delete", NAME], ["search", NAME, "a"], ["lint", NAME], ["status", NAME]]
)
def test_an_option_that_there_is_not_is_named(scrapy, folder: Path, words: list[str]):
    done = scrapy(folder, *words, "--foo")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--foo is no option (see --help); words that begin so stand after --" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        pytest.param(["sources", "x"], 2, "unexpected argument 'x'", id="sources takes none"),
        pytest.param(["export"], 2, "name one source", id="export of nothing"),
        pytest.param(["export", "a", "b"], 2, "name one source", id="export of two"),
        pytest.param(
            ["export", "nope"], 2, "'nope' is not known", id="export of an unknown source"
        ),
        pytest.param(
            ["export", NAME, "--since", "x"], 2, "--since 'x'", id="a number that is none"
        ),
        pytest.param(["export", NAME, "--since=-1"], 2, "--since '-1'", id="a negative number"),
        pytest.param(["export", NAME, "--since", "9" * 30], 2, "--since", id="a number too great"),
        pytest.param(
            ["export", NAME, "--format", "doc"], 2, "accepted are", id="an unknown format"
        ),
        pytest.param(
            ["export", NAME, "-o", "no/such/dir"],
            1,
            "No such file or directory",
            id="no such folder",
        ),
        pytest.param(["export", NAME, "-o", "."], 1, "irectory", id="a folder for a file"),
        pytest.param(["delete"], 2, "name one source", id="delete nothing"),
        pytest.param(["delete", "nope"], 2, "'nope' is not known", id="delete an unknown source"),
        pytest.param(["delete", "../..", "--yes"], 2, "'../..' is not known", id="delete a path"),
        pytest.param(
            ["sources", "-s", "LLMS_STORE_URL=mysql://u:secret@h/x"],
            1,
            "use postgresql://",
            id="a wrong store URL",
        ),
        pytest.param(
            ["export", NAME, "-s", "LLMS_DATA_DIR=elsewhere"],
            2,
            "is not known",
            id="another data dir",
        ),
    ],
)
def test_bad_input_is_one_line_and_an_exit_code(
    scrapy, folder: Path, words: list[str], code: int, problem: str
):
    done = scrapy(folder, *words)
    assert done.returncode == code
    assert problem in done.stderr
    assert done.stderr.startswith(f"scrapy {words[0]}: ")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert "secret" not in done.stderr


@pytest.mark.postgresql
def test_the_commands_work_on_postgresql(scrapy, postgresql_url: str, tmp_path: Path):
    with Place(postgresql_url, tmp_path).open() as store:
        store.begin_run("crawl", {})
        store.save_page(record(), "new")
        store.finish_run("finished", complete=True, why=None, counts={})
    setting = ["-s", f"LLMS_STORE_URL={postgresql_url}"]
    assert NAME in scrapy(tmp_path, "sources", *setting).stdout
    assert len(documents(scrapy(tmp_path, "export", NAME, *setting).stdout)) == 1
    scrapy(tmp_path, "search", NAME, "words", *setting)
    deleted = scrapy(tmp_path, "delete", NAME, "--yes", *setting).stdout
    assert deleted == f"deleted {NAME}: pages, runs and history, search index\n"
    assert scrapy(tmp_path, "sources", *setting).stdout == "no sources yet\n"


@pytest.mark.parametrize(
    "words", [("sources",), ("status",), ("status", NAME), ("status", NAME, "--json")], ids=" ".join
)
def test_of_a_store_that_cannot_be_read_nobody_says_that_there_is_none(scrapy, folder: Path, words):
    with closing(sqlite3.connect(next(folder.rglob("*.sqlite")))) as store, store:
        store.execute("UPDATE meta SET value = '99' WHERE key = 'version'")
    done = scrapy(folder, *words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert "has version 99" in done.stderr
