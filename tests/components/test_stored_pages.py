"""What an earlier run read of a start page."""

from __future__ import annotations

import pytest

from llmsspider.config.arguments import DocsArguments
from llmsspider.config.settings import Config
from llmsspider.crawler.run import Run
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
                run.known.stored.save_page(record(name), "new")
            run.end("finished")
            run.close(delivered=None)
    yield run
    run.end("finished")
    run.close(delivered=None)


@pytest.mark.parametrize("section", [None, Section("/docs/", "its base")])
def test_a_start_page_is_known_as_it_was_read_while_its_body_is_the_same(run, section):
    url, body = "https://e.com/", b"<html>1</html>"
    page = Page(
        "",
        [Link("a", url)],
        [f"{url}a", "https://e.com/\ud800"],
        PageMeta(hreflang={"de": f"{url}de"}),
    )
    page.meta.section = section
    assert run.readings.start_page(body, url) is None
    run.readings.keep_start_page(page, body, url)
    run.known.flush()
    known = run.readings.start_page(body, url)
    assert (known.follow, known.meta.hreflang, known.meta.section) == (
        page.follow,
        page.meta.hreflang,
        section,
    )
    assert run.readings.start_page(body + b" ", url) is None
    run.known.trusted = False
    assert run.readings.start_page(body, url) is None
