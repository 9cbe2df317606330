"""Search indexes by their shape: where a page says that they are, and what they say of each page."""

import asyncio
import json
import zlib

import pytest

from llmsspider.site import witnesses
from llmsspider.site.discovered import FetchResult
from llmsspider.site.witnesses import (
    MAX_BYTES,
    Place,
    UnreadableError,
    Witness,
    by_build,
    by_deploy,
    by_lastmod,
    find,
    places,
    read,
)

ROOT = "https://docs.example.com/kit/"
A, B = "https://docs.example.com/kit/guide/install", "https://docs.example.com/kit/guide/use"


def mkdocs(text: str) -> str:
    docs = [
        {"location": "guide/install/", "title": "Install", "text": text},
        {"location": "guide/install/#pip", "title": "With pip", "text": "pip install kit"},
        {"location": "guide/use/", "title": "Use", "text": "how"},
    ]
    return json.dumps({"config": {"lang": ["en"]}, "docs": docs})


def sphinx(text: str, *, bare: bool = False) -> str:
    terms = {word: [0] for word in text.split()} | {"how": 1, "kit": [0, 1]}
    names, titles = ["guide/install", "guide/use"], ["Install", "Use"]
    if bare:
        words = ",".join(f"{word}:{json.dumps(pages)}" for word, pages in terms.items())
        named = f"docnames:{json.dumps(names)},envversion:{{sphinx:56}},titles:{json.dumps(titles)}"
        return f"Search.setIndex({{{named},terms:{{{words}}}}})"
    return f"Search.setIndex({json.dumps({'docnames': names, 'terms': terms, 'titles': titles})});"


def quarto(text: str) -> str:
    rows = [
        ("guide/install.html", text),
        ("guide/install.html#pip", "pip"),
        ("guide/use.html", "how"),
    ]
    return json.dumps(
        [
            {"objectID": href, "href": href, "title": "T", "section": "", "text": said}
            for href, said in rows
        ]
    )


def pkgdown(text: str) -> str:
    rows = [("guide/install.html", text), ("guide/install.html", "pip"), ("guide/use.html", "how")]
    return json.dumps(
        [
            {"path": []},
            *(
                {"path": ROOT + path, "id": str(n), "what": "W", "text": said}
                for n, (path, said) in enumerate(rows)
            ),
        ]
    )


def documenter(text: str) -> str:
    rows = [("guide/install/#Install", text), ("guide/install/#pip", "pip"), ("guide/use/", "how")]
    docs = [
        {"location": at, "page": "P", "title": "T", "text": said, "category": "page"}
        for at, said in rows
    ]
    return f'var documenterSearchIndex = {{"docs":\n{json.dumps(docs)}\n}}\n'


def mdbook(text: str, *, parsed: bool = False) -> str:
    docs = {
        "0": {"body": text, "breadcrumbs": "Install", "id": "0", "title": "Install"},
        "1": {"body": "it's how", "id": "1", "title": "Use"},
    }
    data = json.dumps(
        {
            "doc_urls": ["guide/install.html#install", "guide/use.html#use"],
            "index": {"documentStore": {"docs": docs}},
        }
    )
    if parsed:
        escaped = data.replace("\\", "\\\\").replace("'", "\\'")
        return f"window.search = Object.assign(window.search, JSON.parse('{escaped}'));"
    return f"Object.assign(window.search, {data});"


def just_the_docs(text: str) -> str:
    rows = [("guide/install/", text), ("guide/install/#pip", "pip"), ("guide/use/", "how")]
    return json.dumps(
        {
            str(n): {
                "doc": "D",
                "title": "T",
                "content": said,
                "url": f"/kit/{at}",
                "relUrl": f"/{at}",
            }
            for n, (at, said) in enumerate(rows)
        }
    )


def docusaurus(text: str) -> str:
    titles = [
        {"i": 1, "t": "Install", "u": "/kit/guide/install", "b": ["Guide"]},
        {"i": 4, "t": "Use", "u": "/kit/guide/use", "b": []},
    ]
    texts = [{"i": 2, "t": text, "s": "Install", "u": "/kit/guide/install", "h": "#x", "p": 1}]
    index = {"version": "2.3.9", "fields": ["t"], "invertedIndex": [["kit", {"_index": 0}]]}
    return json.dumps([{"documents": titles, "index": index}, {"documents": texts, "index": index}])


def docusaurus_of_a_plugin(text: str) -> str:
    rows = [("guide/install", text), ("guide/install#pip", "pip"), ("guide/use", "how")]
    documents = [
        {"id": n, "pageTitle": "T", "sectionTitle": said, "sectionRoute": f"/kit/{at}"}
        for n, (at, said) in enumerate(rows)
    ]
    return json.dumps({"documents": documents, "index": {"version": "2.3.9"}})


def inventory(text: str) -> bytes:
    lines = [f"kit.{word} py:function 1 guide/install.html#$ -" for word in text.split()]
    lines += ["guide/use std:doc -1 guide/use.html How to use it", "no entry"]
    head = b"# Sphinx inventory version 2\n# Project: kit\n# Version: 1\n# zlib\n"
    return head + zlib.compress("\n".join(lines).encode())


def docfx(text: str) -> str:
    rows = {"guide/install.html": text, "guide/use.html": "how"}
    return json.dumps(
        {path: {"href": path, "title": "T", "summary": said} for path, said in rows.items()}
    )


def exdoc(text: str) -> str:
    rows = [
        ("guide/install.html", text),
        ("guide/install.html#start/1", "starts"),
        ("guide/use.html", "how"),
    ]
    items = [{"type": "function", "title": "t", "doc": said, "ref": ref} for ref, said in rows]
    return "searchData=" + json.dumps({"items": items, "content_type": "text/markdown"})


def hugo(text: str) -> str:
    rows = [("guide/install/", text), ("guide/use/", "how")]
    return json.dumps(
        [
            {"title": "T", "permalink": ROOT + at, "content": said, "date": "2026-01-01"}
            for at, said in rows
        ]
    )


def antora(text: str) -> str:
    rows = [("guide/install.html", text), ("guide/use.html", "how")]
    documents = {
        str(n): {"id": n, "title": "T", "text": said, "url": f"/kit/{at}"}
        for n, (at, said) in enumerate(rows)
    }
    data = json.dumps({"index": {"version": "2"}, "store": {"documents": documents}})
    return f"antoraSearch.initSearch(lunr, {data})"


def vitepress(text: str) -> str:
    return json.dumps(
        {"guide_install.md": f"B{len(text)}x", "guide_use.md": "Cd3", "index.md": "Zz1"}
    )


def honkit(text: str) -> str:
    rows = {"guide/install.html": text, "guide/use.html": "how"}
    return json.dumps(
        {
            "index": {"version": "0.5"},
            "store": {
                at: {"url": at, "title": "T", "keywords": "", "body": said}
                for at, said in rows.items()
            },
        }
    )


def nextra(text: str) -> str:
    return json.dumps(
        {
            "/kit/guide/install": {
                "title": "Install",
                "data": {"": f"Kit\n{text}", "pip#With pip": "pip"},
            },
            "/kit/guide/use": {"title": "Use", "data": {"": "how"}},
        }
    )


def as_bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


SHAPES = {
    "Nextra": nextra,
    "MkDocs and Zensical": mkdocs,
    "Sphinx": sphinx,
    "Sphinx with bare keys": lambda text: sphinx(text, bare=True),
    "Quarto": quarto,
    "pkgdown": pkgdown,
    "Documenter": documenter,
    "mdBook": mdbook,
    "mdBook, parsed": lambda text: mdbook(text, parsed=True),
    "just-the-docs": just_the_docs,
    "Docusaurus": docusaurus,
    "Docusaurus, one of several": docusaurus_of_a_plugin,
    "an inventory of Sphinx": inventory,
    "DocFX": docfx,
    "ExDoc": exdoc,
    "Hugo": hugo,
    "Antora": antora,
    "HonKit": honkit,
    "VitePress": vitepress,
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_an_edit_is_seen_on_its_page_and_on_no_other(shape):
    place = Place(f"{ROOT}hashmap.json" if shape is vitepress else f"{ROOT}index.json", ROOT)
    one, same, other = (
        read(as_bytes(shape(text)), place) for text in ("old words", "old words", "quite new words")
    )

    assert one.stamp == same.stamp != other.stamp
    assert one.of(A) == one.of(f"{A}/") == one.of(f"{A}.html") == same.of(A) is not None
    assert other.of(A) != one.of(A)
    assert other.of(B) == one.of(B) is not None
    assert one.of(f"{ROOT}elsewhere") is None


def test_sphinx_names_its_pages_as_links_spell_them():
    body, place = sphinx("words").encode(), Place(f"{ROOT}searchindex.js", ROOT)

    assert read(body, place).urls == ()
    assert read(body, place, b'<a href="guide/use.html#x">').urls == (f"{A}.html", f"{B}.html")
    assert read(body, place, b'<a href="guide/use/">').urls == (f"{A}/", f"{B}/")


def test_a_stamp_speaks_for_the_whole_site():
    body = b'{"version":"1.1.0","languages":{"en":{"hash":"en_1a2b","page_count":3}}}'
    found = read(body, Place(f"{ROOT}pagefind/pagefind-entry.json", ROOT))

    assert found.name == "pagefind-entry.json"
    assert found.of(A) == found.stamp
    assert found.of("https://api.example.com/kit/") is None


def test_the_name_has_no_hash_of_the_build():
    assert (
        read(mkdocs("x").encode(), Place(f"{ROOT}dist/search_data-1A2B3C4D.js", ROOT)).name
        == "search_data.js"
    )


def test_pages_that_nothing_else_lists():
    found = Witness("index", "1", {}, (f"{A}.html", f"{B}.html", f"{ROOT}index.html"))

    assert found.unlisted([f"{A}.html"]) == [f"{B}.html", ROOT]
    assert found.unlisted([f"{A}/"]) == [], "they are spelled otherwise: they may be the same pages"
    assert found.unlisted([]) == []


def test_lastmod():
    dates = {
        A: "2026-01-01T10:00:00Z",
        B: "2026-01-02T10:00:00Z",
        f"{ROOT}c": "2026-01-02",
        f"{ROOT}d": "2026-01",
    }
    found = by_lastmod(dates, "2026-01-03")

    assert found is not None
    assert found.of(f"{A}/") == "2026-01-01T10:00:00Z"
    assert found.of(f"{ROOT}c") is None, "a day: it may be edited once more on the same"
    assert by_lastmod({A: "2026-01-01T10:00:00Z"}, "2026-01-03") is None
    later = by_lastmod(dates, "2026-01-04")
    assert later is not None
    assert later.of(f"{ROOT}c") == "2026-01-02"
    assert later.of(f"{ROOT}d") is None


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_words_of_pages_are_what_a_file_has_of_them(shape):
    place = Place(f"{ROOT}hashmap.json" if shape is vitepress else f"{ROOT}index.json", ROOT)
    found = read(as_bytes(shape("unheard words")), place)

    if shape is vitepress:
        assert found.hashes_pages
    else:
        assert found.words[found.key_of(A)] >= {"unhe", "word"}
        assert "unhe" not in found.words[found.key_of(B)]


BROKEN = {
    "no JSON": b"window.search = 1",
    "a page in its place": b"<html><script>x = {}</script>",
    "cut": mkdocs("words").encode()[:-40],
    "empty": b"",
    "no pages": b'{"docs": []}',
    "deep": b"[" * 200_000 + b"]" * 200_000,
    "a damaged inventory": inventory("words")[:-9],
    "no inventory": b"# Sphinx inventory version 2\n#\n#\n#\nwords",
    "wrong types": b'{"docnames": [1, 2], "terms": {}}',
    "other sites": b'[{"url": "https://other.example.org/a", "text": "x"}, {"url": "ftp://e.com/", "text": "x"}]',
    "too large": b" " * (MAX_BYTES + 1),
    "a script in a page": b"<script>x = " + mkdocs("words").encode(),
    "much before it": b" " * 1_001 + mkdocs("words").encode(),
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_used_is_said(body):
    with pytest.raises(UnreadableError, match=r"\w"):
        read(body, Place(f"{ROOT}index.json", ROOT))


def test_a_file_names_so_many_pages_at_most(monkeypatch):
    place = Place(f"{ROOT}index.json", ROOT)
    body = b" " * 1_000 + mkdocs("words").encode()
    monkeypatch.setattr(witnesses, "MAX_PAGES", 2)
    assert read(body, place).of(A) is not None
    monkeypatch.setattr(witnesses, "MAX_PAGES", 1)
    with pytest.raises(UnreadableError, match="more than 1 pages"):
        read(body, place)


@pytest.mark.parametrize(
    ("modified", "stored", "is_deploy"),
    [
        ("today", ["a"] * 20, True),
        ("today", ["a"] * 19 + ["b"], True),
        ("today", ["a"] * 18 + ["b"] * 2, False),
        ("today", ["a"] * 19 + [None], False),
        ("today", ["a"] * 2, True),
        ("today", ["a"], False),
        ("today", [], False),
        (None, ["a"] * 20, False),
    ],
)
def test_pages_that_share_their_date_have_that_of_the_deploy(modified, stored, is_deploy):
    found = by_deploy(f"{ROOT}start", modified, stored)
    assert (found is not None) is is_deploy
    if found is not None:
        assert (found.stamp, found.root, found.page) == ("today", ROOT, f"{ROOT}start")


PLACES = {
    "Material for MkDocs": ('<script src="../assets/javascripts/bundle.56ea9cef.min.js">', "search/search_index.json", "https://e.com/"),
    "MkDocs": ('<script src="../search/main.js">', "search/search_index.json", "https://e.com/"),
    "Sphinx": ('<script src="_static/documentation_options.js?v=1">', "searchindex.js", "https://e.com/d/"),
    "Quarto": ('<script src="../site_libs/quarto-search/fuse.min.js">', "search.json", "https://e.com/"),
    "pkgdown": ('<input data-search-index="search.json">', "search.json", "https://e.com/d/"),
    "Documenter": ('<script src="assets/documenter.js">', "search_index.js", "https://e.com/d/"),
    "mdBook": ('<script src="elasticlunr.min.js">', "searchindex.js", "https://e.com/d/"),
    "mdBook with hashes": (
        '<script>window.path_to_searchindex_js = "searchindex-1ab2c3d4.js";</script>',
        "searchindex-1ab2c3d4.js",
        "https://e.com/d/",
    ),
    "just-the-docs": ('<script src="/assets/js/just-the-docs.js">', "assets/js/search-data.json", "https://e.com/"),
    "Docusaurus": ('<script src="/assets/js/runtime~main.1a.js">', "search-index.json", "https://e.com/"),
    "Docusaurus with several": (
        '<meta name="docusaurus_tag" content="docs-default-current"><script src="/assets/js/runtime~main.1a.js">',
        "search-index.json",
        "https://e.com/",
    ),
    "Sphinx without its index": ('<link href="_static/pygments.css?v=2">', "objects.inv", "https://e.com/d/"),
    "Nextra in another language": (
        '<p class="nextra-toc"><script src="/_next/static/chunks/main.js"></script>{"locale":"de"}',
        "_next/static/chunks/nextra-data-de.json",
        "https://e.com/",
    ),
    "VitePress": ('<link rel=modulepreload href=/assets/chunks/theme.Ab1.js>', "hashmap.json", "https://e.com/"),
    "Pagefind": ('<link href="/pagefind/pagefind-ui.css">', "pagefind/pagefind-entry.json", "https://e.com/"),
    "Starlight": (
        '<meta name=generator content="Starlight"><link href="/_astro/x.css"><a class=starlight>',
        "pagefind/pagefind-entry.json",
        "https://e.com/",
    ),
    "Nextra": (
        '<div class="nextra-toc"></div><script src="/_next/static/chunks/main.js">',
        "_next/static/chunks/nextra-data-en-US.json",
        "https://e.com/",
    ),
    "DocFX": ('<link href="public/docfx.min.css">', "index.json", "https://e.com/d/"),
    "ExDoc": ('<script src="dist/sidebar_items-1A2B.js">', "search.html", "https://e.com/d/"),
    "Hugo": ('<meta name="generator" content="Hugo 0.140">', "index.json", "https://e.com/d/"),
    "Antora": ('<script src="../search-index.js">', "search-index.js", "https://e.com/"),
}  # fmt: skip


@pytest.mark.parametrize(("head", "path", "root"), PLACES.values(), ids=PLACES)
def test_a_page_says_where_the_file_is(head, path, root):
    assert places(head.encode(), "https://e.com/d/start.html")[:1] == [Place(root + path, root)]


def test_each_part_of_a_site_of_docusaurus_may_have_its_index():
    body = PLACES["Docusaurus with several"][0].encode()
    assert [one.url for one in places(body, "https://e.com/d/")] == [
        "https://e.com/search-index.json",
        "https://e.com/search-index-docs-default-current.json",
    ]


class Answers(dict):
    """Files of a host by URL; the requested ones in their order."""

    def __init__(self, files):
        super().__init__(files)
        self.requested = []

    async def __call__(self, url, most):
        self.requested.append(url)
        body = self.get(url)
        return FetchResult(
            url, url, 200 if body else 404, {}, body or b"", error=None if body else "not_found"
        )


def test_after_the_first_file_of_use_only_others_of_its_folder_are_requested():
    page = b"""<script src="/index/search-index-docs.json"></script><link href="_static/doctools.js">
    <script src="/index/search-index-blog.json"></script>"""
    get = Answers(
        {
            f"https://e.com/index/search-index-{name}.json": docfx(name).encode()
            for name in ("docs", "blog")
        }
    )

    async def names():
        return [said.name async for _, said in find(get, page, "https://e.com/")]

    found = asyncio.run(names())
    assert found == ["search-index-docs.json", "search-index-blog.json"]
    assert len(get.requested) == 2


def test_other_pages_lead_to_no_request():
    body = b'<script src="/js/app.js"></script><link href="/_astro/x.css"><script src="https://cdn.example.org/search.json">'

    assert places(body, "https://e.com/") == []


@pytest.mark.parametrize(
    ("head", "stamp", "root", "is_hash"),
    [
        (
            "<script src='/d/assets/js/runtime~main.1a2b3c4d.js'>",
            "1a2b3c4d",
            "https://e.com/d/",
            True,
        ),
        (
            '<script src="/_next/static/aB-c_12345/_buildManifest.js">',
            "aB-c_12345",
            "https://e.com/",
            False,
        ),
        (
            '<meta name="git-commit" content="1a2b3c4d5e6f">',
            "1a2b3c4d5e6f",
            "https://e.com/d/",
            False,
        ),
        ("<meta name=build-id content=2026.11.28>", "2026.11.28", "https://e.com/d/", False),
        ('<script>{"props":{},"buildId":"aB-c_12345"}', "aB-c_12345", "https://e.com/d/", False),
        (
            "window.__NUXT__={config:{app:{buildId:'1a2b-3c4d'}}}",
            "1a2b-3c4d",
            "https://e.com/d/",
            False,
        ),
    ],
)
def test_a_page_names_its_build(head, stamp, root, is_hash):
    found = by_build(head.encode(), "https://e.com/d/start")
    assert (found.stamp, found.root, found.hashes_pages) == (stamp, root, is_hash)
    assert found.of(f"{root}a") == stamp
    assert by_build(b"<script src='/main.js'>", "https://e.com/d/start") is None
