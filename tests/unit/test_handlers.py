"""Content handlers: which files they make pages of, what they may return, and the examples of the docs."""

from __future__ import annotations

import importlib
import json
import linecache
import re
import sys
from pathlib import Path

import pytest

from llmsspider.content import conversion
from llmsspider.content.conversion import handle
from llmsspider.content.formats import Handlers, check_handlers
from llmsspider.crawler.records import Records
from llmsspider.errors import ArgumentsError, ConversionError
from llmsspider.items import Link, Page, PageMeta

DOCS = Path(__file__).resolve().parents[2] / "docs"
URL = "https://e.com/docs/api.json"


def example(page: str) -> dict:
    """What the Python on a page of the docs defines."""
    found: dict = {}
    exec(
        re.search(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)[1],
        found,
    )
    return found


def read_by(monkeypatch, made) -> Page:
    handler = type("Handler", (), {"read": lambda self, *_arguments: made})
    monkeypatch.setattr(conversion, "_handler", lambda _path: handler())
    return handle("mine.Handler", b"", URL, "application/json", None)


def test_the_handler_of_the_docs():
    api = {
        "info": {"title": "Pets"},
        "paths": {"/pets": {"get": {"summary": "All pets"}, "post": {}}},
    }
    made = example("how-to/handlers.md")["Endpoints"]().read(
        json.dumps(api).encode(), URL, "application/json", None
    )
    assert made == (
        "# Pets\n\n| method | path | |\n|---|---|---|\n| GET | `/pets` | All pets |\n| POST | `/pets` |  |\n"
    )


def test_markdown_is_read_like_that_of_a_site(monkeypatch):
    page = read_by(monkeypatch, "---\ntitle: From the front\n---\n# T\n\n[a](b.html#c)\r\n")
    assert page.meta.title == "From the front"
    assert page.markdown == "# T\n\n[a](https://e.com/docs/b.html#c)\n"
    assert page.follow == ["https://e.com/docs/b.html"]


def test_a_page_is_taken_as_it_is_but_for_its_line_ends(monkeypatch):
    link = Link("x", "https://e.com/x")
    page = read_by(
        monkeypatch, Page("\r\n# T\r\n", [link], ["https://e.com/y"], PageMeta(title="Mine"))
    )
    assert page == Page("# T\n", [link], ["https://e.com/y"], PageMeta(title="Mine"))
    assert read_by(monkeypatch, Page(" \n", [], [], PageMeta())).markdown == ""


@pytest.mark.parametrize(
    "made", [None, b"# T", 7, Page("# T", [], [], None), Page(None, [], [], PageMeta())]
)
def test_anything_else_is_an_error_of_the_page(monkeypatch, made):
    with pytest.raises(ConversionError, match=r"handler mine\.Handler: "):
        read_by(monkeypatch, made)


def test_files_of_a_handled_type_are_pages():
    known = Handlers(
        dict.fromkeys(("application/pdf", "application/yaml", "application/x-ipynb+json"), "m.H")
    )
    assert known.extensions == {"pdf", "yaml", "yml", "ipynb"}
    assert Handlers().extensions == frozenset()


def test_other_handlers_make_other_content():
    one, two = Handlers({"application/json": "m.A"}), Handlers({"application/json": "m.B"})
    assert (
        len(
            {
                Records("", "native" + given.fingerprint).extractor_version
                for given in (Handlers(), one, two)
            }
        )
        == 3
    )
    assert Handlers().fingerprint == ""


def test_every_wrong_handler_is_named_at_once_and_none_takes_one_out():
    assert check_handlers({"application/json": None}) == Handlers()
    with pytest.raises(ArgumentsError) as error:
        check_handlers(
            {
                "application/json": "nowhere.H",
                "Text/CSV": "builtins.dict",
                "text/csv": "builtins.dict",
            }
        )
    assert len(error.value.problems) == 3


def test_new_code_in_the_module_of_a_handler_is_another_handler(tmp_path, monkeypatch):
    """A process reads the code that it starts with: here the module is imported anew."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = []
    for text in ("one", "twice", "one"):
        code = f"class Reader:\n    def read(self, *_):\n        return {text!r}\n"
        (tmp_path / "of_mine.py").write_text(code)
        monkeypatch.delitem(sys.modules, "of_mine", raising=False)
        linecache.clearcache()
        importlib.invalidate_caches()
        found.append(Handlers({"text/x-mine": "of_mine.Reader"}).fingerprint)
    assert found[0] == found[2] != found[1]
    assert Handlers({"text/x": "llmsspider.content.openapi.OpenApiHandler"}).fingerprint
