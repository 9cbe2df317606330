"""Reading ahead the stored pages that unchanged answers stand for."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from llmsspider.config.arguments import DocsArguments
from llmsspider.config.settings import Config
from llmsspider.crawl.known_pages import AT_ONCE
from llmsspider.crawl.run import Run
from llmsspider.items import Link, Page, PageMeta, Section
from tests.support.stores import record


@pytest.fixture
def run(tmp_path):
    """An open run; pages a to h are stored by the run before."""
    config = Config.from_settings({"LLMS_DATA_DIR": str(tmp_path)})
    for number in range(2):
        arguments = DocsArguments(url="https://e.com/", source="s")
        run = Run(arguments, None, config, lambda _stat, _number: None, lambda: 0)
        run.open()
        if number == 0:
            for name in "abcdefgh":
                run.store.save_page(record(name), "new")
            run.end("finished")
            run.close(delivered=None)
    yield run
    run.end("finished")
    run.close(delivered=None)


def selects(run):
    """The SELECTs that the store sends from now on."""
    sent = []
    event.listen(
        run.store._database.engine,
        "before_cursor_execute",
        lambda _connection, _cursor, statement, *_: sent.append(statement),
    )
    return sent


def test_pages_that_are_under_way_are_read_with_one_select(run):
    sent = selects(run)
    for name in "abcd":
        run.recorded.expect(record(name).key)
    found = [run.recorded.load(record(name).key) for name in "cadb"]
    assert found == [run.store.load_page(record(name).key) for name in "cadb"]
    assert [page.url for page in found] == [record(name).url for name in "cadb"]
    assert len(sent) == 1 + 4


def test_a_page_that_nobody_expects_is_read_alone_and_one_that_is_not_stored_is_none(run):
    assert run.recorded.load(record("h").key).url == record("h").url
    assert run.recorded.load(record("nowhere").key) is None


def test_a_page_that_this_run_has_written_is_read_as_it_is_now(run):
    for name in "ab":
        run.recorded.expect(record(name).key)
    run.recorded.load(record("a").key)
    changed = record("b", content="Other text.\n")
    run.recorded.write(changed, confirmed=False)
    assert run.recorded.load(changed.key).content == "Other text.\n"


def test_what_is_read_ahead_is_bounded_and_what_is_not_wanted_is_not_read(run):
    for name in ["a", *map(str, range(AT_ONCE + 5)), "b", "c"]:
        run.recorded.expect(record(name).key)
    run.recorded.forget(record("b").key)
    sent = selects(run)
    run.recorded.load(record("c").key)
    assert 1 < sent[0].count("?") <= AT_ONCE + 2
    run.recorded.load(record("b").key)
    assert len(sent) == 2


@pytest.mark.parametrize("section", [None, Section("/docs/", "its base")])
def test_a_start_page_is_known_as_it_was_read_while_its_body_is_the_same(run, section):
    url, body = "https://e.com/", b"<html>1</html>"
    page = Page(
        "", [Link("a", url)], [f"{url}a", "https://e.com/\ud800"], PageMeta(hreflang={"de": f"{url}de"})
    )
    page.meta.section = section
    assert run.readings.start_page(body, url) is None
    run.readings.keep_start_page(page, body, url)
    run.flush()
    known = run.readings.start_page(body, url)
    assert (known.follow, known.meta.hreflang, known.meta.section) == (
        page.follow,
        page.meta.hreflang,
        section,
    )
    assert run.readings.start_page(body + b" ", url) is None
    run.known.trusted = False
    assert run.readings.start_page(body, url) is None
