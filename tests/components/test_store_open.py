"""Opening a store: where it lies, and what is refused instead of being written over."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import inspect
from stores import NAME, SITE, Place, record

from llmsspider.errors import StoreError, UnknownSourceError
from llmsspider.store import SourceRecord, Store, Stores, open_store, resolve_data_dir
from llmsspider.store.database import open_postgresql, open_sqlite, source_file, source_slug
from llmsspider.store.schema import STEPS, migrate

FIXTURES = Path(__file__).parents[1] / "fixtures"

# Where


def test_the_data_dir_is_beside_scrapy_cfg_from_any_folder_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "scrapy.cfg").touch()
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.delenv("LLMS_DATA_DIR", raising=False)
    monkeypatch.chdir(deep)
    assert resolve_data_dir() == tmp_path / ".scrapy" / "llmsspider"


def test_without_scrapy_cfg_it_is_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("LLMS_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert resolve_data_dir() == tmp_path / ".scrapy" / "llmsspider"


@pytest.mark.parametrize(
    ("setting", "environ", "expected"),
    [
        pytest.param("/set", {"LLMS_DATA_DIR": "/env"}, "/set", id="setting before environment"),
        pytest.param(None, {"LLMS_DATA_DIR": "/env"}, "/env", id="environment"),
        pytest.param(
            "", {"LLMS_DATA_DIR": ""}, "{cwd}/.scrapy/llmsspider", id="empty ones do not count"
        ),
        pytest.param("data", {}, "{cwd}/data", id="relative"),
        pytest.param("~/data", {}, "{home}/data", id="home"),
    ],
)
def test_the_data_dir_may_be_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting, environ, expected
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LLMS_DATA_DIR", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    wanted = expected.format(cwd=tmp_path, home=Path.home())
    assert resolve_data_dir(setting) == Path(wanted)


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "..",
        ".",
        "",
        "a/../b",
        "C:\\x",
        "\0",
        "-rf",
        "x" * 5000,
        "\ud800",
        "日本",
    ],
    ids=lambda name: repr(name[:20]),
)
def test_a_hostile_name_stays_in_the_data_dir(tmp_path: Path, name: str):
    path = source_file(tmp_path, name)
    assert path.parent == tmp_path
    assert path.resolve().parent == tmp_path.resolve()
    assert len(path.name) < 120
    assert path.name[0].isalnum()
    path.touch()


@given(st.text(), st.text())
def test_different_names_have_different_files(one: str, two: str):
    assert (source_slug(one) == source_slug(two)) == (one == two)
    assert source_slug(one).isascii()
    assert source_slug(one) == source_slug(one).lower()


def test_a_source_is_found_by_its_start_url(place: Place):
    place.open("one")
    assert Stores(place.url, place.data_dir).find("https://e.com/other") is None
    for spelling in (SITE, SITE + "#part", SITE.replace("e.com", "E.COM")):
        found = Stores(place.url, place.data_dir).find(spelling)
        assert found is not None
        assert found.name == "one"


def test_sources_are_listed_by_name(place: Place):
    assert Stores(place.url, place.data_dir).list() == []
    for name in ("b", "A", "../c"):
        place.open(name)
    assert [found.name for found in Stores(place.url, place.data_dir).list()] == ["../c", "A", "b"]


# What is refused


def refused(path: Path, match: str) -> StoreError:
    """Opening the store at `path` fails in one line and leaves the file as it is."""
    before = path.read_bytes()
    with pytest.raises(StoreError, match=match) as caught:
        open_store(None, path.parent, NAME)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    return caught.value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a store with one page."""
    with Place(None, tmp_path).open() as store:
        store.begin_run("crawl", {})
        store.save_page(record(), "new")
    return source_file(tmp_path, NAME)


def test_a_file_that_is_no_database_is_refused(path: Path):
    path.write_bytes(b"# my notes\n" * 100)
    refused(path, "file is not a database")


def test_a_damaged_file_is_refused(path: Path):
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    refused(path, "malformed")


def test_damage_found_later_is_a_store_error_too(path: Path):
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    with sqlite3.connect(path) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'content'"
        ).fetchone()
    connection.close()
    data[(root - 1) * size : root * size] = b"\xff" * size
    path.write_bytes(data)
    with open_store(None, path.parent, NAME) as store, pytest.raises(StoreError, match="malformed"):
        store.load_page(record().key)


def test_a_newer_store_is_refused(path: Path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'version'")
    connection.close()
    refused(path, "version 99.*upgrade llmsspider")


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE page (id INTEGER)", "CREATE TABLE meta (key TEXT, value TEXT)"],
    ids=["other tables", "a meta table without a version"],
)
def test_another_programs_database_is_refused(tmp_path: Path, statement: str):
    path = source_file(tmp_path, NAME)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(statement)
    connection.close()
    refused(path, "not a page store of llmsspider")


def test_the_file_of_another_source_is_refused(path: Path):
    path.rename(source_file(path.parent, "another"))
    with pytest.raises(StoreError, match=f"belongs to the source '{NAME}'"):
        open_store(None, path.parent, "another")


def test_a_directory_in_place_of_the_file_is_refused(tmp_path: Path):
    source_file(tmp_path, NAME).mkdir()
    with pytest.raises(StoreError, match="unable to open"):
        open_store(None, tmp_path, NAME)


def test_a_data_dir_that_cannot_be_made_is_refused(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="choose another LLMS_DATA_DIR"):
        open_store(None, tmp_path / "file" / "data", NAME)


def test_an_empty_file_is_a_store_that_was_never_written(tmp_path: Path):
    source_file(tmp_path, NAME).touch()
    with Place(None, tmp_path).open() as store:
        assert store.page_states() == {}


def test_an_unknown_source_is_not_made_by_asking_for_it(place: Place):
    for ask in (
        lambda: place.open(create=False),
        lambda: Stores(place.url, place.data_dir).delete(NAME),
    ):
        with pytest.raises(UnknownSourceError, match="is not known"):
            ask()
    assert Stores(place.url, place.data_dir).list() == []


def test_one_damaged_file_does_not_hide_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    place = Place(None, tmp_path)
    place.open("good").close()
    source_file(tmp_path, "bad").write_bytes(b"x" * 2000)
    found, problems = Stores(None, tmp_path).list_sources()
    assert [record.name for record in found] == ["good"]
    assert len(problems) == 1
    assert "not a database" in problems[0]
    assert [record.name for record in Stores(None, tmp_path).list()] == ["good"]
    assert "not a database" in caplog.text


@pytest.mark.parametrize(
    ("url", "match"),
    [
        pytest.param("nonsense", "LLMS_STORE_URL is not a URL", id="not a URL"),
        pytest.param(
            "mysql://user:secret@host/x", "'mysql' is not supported", id="another database"
        ),
        pytest.param("sqlite:////tmp/x", "'sqlite' is not supported", id="SQLite by URL"),
        pytest.param(
            "postgresql://me:secret@127.0.0.1:1/x", r"me:\*\*\*@.*refused", id="nobody answers"
        ),
    ],
)
def test_a_wrong_store_url_is_one_line_without_the_password(tmp_path: Path, url: str, match: str):
    with pytest.raises(StoreError, match=match) as caught:
        open_store(url, tmp_path, NAME)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.postgresql
def test_a_wrong_password_is_one_line_without_it(postgresql_url: str, tmp_path: Path):
    with pytest.raises(StoreError, match="password authentication failed") as caught:
        open_store(postgresql_url.replace("secret", "guess"), tmp_path, NAME)
    assert "guess" not in str(caught.value)
    assert "\n" not in str(caught.value)


# Deleting


def test_a_deleted_source_is_gone_and_its_neighbour_is_not(place: Place):
    for name in ("one", "two"):
        with place.open(name) as store:
            store.begin_run("crawl", {})
            store.save_page(record(), "new")
            store.add_alias(record("x").key, record().key, SITE)
            store.record_error("u", "network", "reset")
            store.record_filtered("u", "robots")
            store.finish_run("finished", complete=True, why=None, counts={})
    Stores(place.url, place.data_dir).delete("one")
    assert [found.name for found in Stores(place.url, place.data_dir).list()] == ["two"]
    assert place.open("two").count_pages() == 1
    if place.url is None:
        assert not list(place.data_dir.glob("one*"))


def test_a_source_that_is_being_crawled_is_not_deleted(place: Place):
    run = place.open().begin_run("crawl", {})
    with pytest.raises(StoreError, match=f"being crawled by run {run.id}"):
        Stores(place.url, place.data_dir).delete(NAME)
    assert len(Stores(place.url, place.data_dir).list()) == 1


# Versions


ADD_COLOUR = "ALTER TABLE page ADD COLUMN colour TEXT"


def database_of(place: Place):
    return (
        open_postgresql(place.url) if place.url else open_sqlite(source_file(place.data_dir, NAME))
    )


def page_columns(database) -> set[str]:
    schema = None if database.is_sqlite else "llmsspider"
    return {
        column["name"] for column in inspect(database.engine).get_columns("page", schema=schema)
    }


def with_page(place: Place) -> None:
    with place.open() as store:
        store.begin_run("crawl", {})
        store.save_page(record(), "new")


def test_an_older_store_is_taken_forward_with_its_pages(place: Place):
    with_page(place)
    database = database_of(place)
    migrate(database, (*STEPS, ADD_COLOUR))
    migrate(database, (*STEPS, ADD_COLOUR))
    assert "colour" in page_columns(database)
    with pytest.raises(StoreError, match="version 11, this llmsspider knows 10"):
        place.open()
    with Store(database, NAME) as store:
        assert store.load_page(record().key) == record(validators_url=record().url)


def test_a_step_that_fails_leaves_the_store_as_it_was(place: Place):
    with_page(place)
    database = database_of(place)
    with pytest.raises(StoreError, match="nonsense"):
        migrate(database, (*STEPS, f"{ADD_COLOUR}; SELECT nonsense FROM page"))
    assert "colour" not in page_columns(database)
    database.close()
    assert place.open().count_pages() == 1


def test_a_store_of_version_1_gets_the_tables_of_today(tmp_path: Path):
    old, new = tmp_path / "old.sqlite", tmp_path / "new.sqlite"
    with sqlite3.connect(old) as connection:
        connection.executescript((FIXTURES / "store_v1.sql").read_text())
    connection.close()
    found = []
    for path in (old, new):
        database = open_sqlite(path)
        migrate(database)
        tables = inspect(database.engine)
        found.append(
            {
                table: (
                    {
                        (column["name"], str(column["type"]), column["nullable"])
                        for column in tables.get_columns(table)
                    },
                    tables.get_pk_constraint(table)["constrained_columns"],
                    sorted(str(index["column_names"]) for index in tables.get_indexes(table)),
                )
                for table in tables.get_table_names()
            }
        )
        database.close()
    assert found[0] == found[1]
    assert len(found[0]) == 12


def test_a_file_that_another_is_making_is_waited_for(tmp_path: Path):
    path = source_file(tmp_path, NAME)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(open_store, None, tmp_path, NAME)
        with pytest.raises(TimeoutError):
            opening.result(0.5)
        other.execute("COMMIT")
        opening.result(30).close()
    other.close()


def test_those_who_make_a_source_at_once_all_get_it(place: Place):
    together = threading.Barrier(4)

    def opening(number: int) -> str:
        store = open_store(place.url, place.data_dir, NAME)
        place.opened.append(store)
        together.wait(60)
        store.upsert_source(SourceRecord(NAME, SITE))
        return store.begin_run("crawl", {"number": number}).id

    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(opening, range(4)))
    assert len(set(runs)) == 4
    assert sorted(run.number for run in place.open().runs()) == [1, 2, 3, 4]
