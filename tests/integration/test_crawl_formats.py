"""Files of other formats in a crawl: listed ones are documents, linked ones where a setting says so."""

from __future__ import annotations

import json

import pytest
from office_files import book, pdf, sheet, slides, word
from site_server import Reply
from sites import html

NOTEBOOK = json.dumps(
    {
        "nbformat": 4,
        "cells": [
            {"cell_type": "markdown", "source": "# Tour\n\nSee [the guide](guide.rst)."},
            {"cell_type": "code", "source": "run()", "outputs": []},
        ],
    }
)
API = json.dumps(
    {
        "openapi": "3.0.0",
        "info": {"title": "Pets"},
        "paths": {"/pets": {"get": {"summary": "All pets"}}},
    }
)
PAGES = {
    "/": html("Home", "<p>Welcome.</p><a href='/linked.ipynb'>N</a> <a href='/linked.adoc'>A</a>"),
    "/llms.txt": "# Site\n\n## Docs\n\n- [Tour](/tour.ipynb)\n- [Guide](/guide.rst)\n- [API](/api.json)\n"
    "- [Data](/data.json)\n- [Broken](/broken.ipynb)\n- [Notes](/notes.adoc)\n",
    "/tour.ipynb": Reply(NOTEBOOK, content_type="application/octet-stream"),
    "/guide.rst": Reply(
        "Guide\n=====\n\n.. code-block:: sh\n\n   run\n", content_type="text/plain"
    ),
    "/api.json": API,
    "/data.json": '{"rows": [1, 2]}',
    "/broken.ipynb": Reply('{"cells": [', content_type="application/json"),
    "/linked.ipynb": Reply(NOTEBOOK, content_type="application/json"),
    "/notes.adoc": Reply("= Notes\n\nSee link:a.md[].\n", content_type="application/octet-stream"),
    "/linked.adoc": Reply("= Linked\n\nText.\n", content_type="text/plain"),
}


def test_listed_files_are_documents_and_linked_ones_where_they_are_wanted(serve, run_crawl):
    site = serve(PAGES)
    outcome = run_crawl(f"{site.url}/", settings={"LLMS_FORMATS": "notebook=linked"})
    found = {path: document["content"] for path, document in outcome.by_path(site.url).items()}
    assert found.pop("/").startswith("# Home")
    assert found == {
        "/tour.ipynb": f"# Tour\n\nSee [the guide]({site.url}/guide.rst).\n\n```python\nrun()\n```\n",
        "/guide.rst": "Guide\n=====\n\n.. code-block:: sh\n\n   run\n",
        "/notes.adoc": "= Notes\n\nSee link:a.md[].\n",
        "/api.json": "# Pets\n\n## Operations\n\n### All pets\n\n`GET /pets`\n",
        "/data.json": '{"rows": [1, 2]}\n',
        "/linked.ipynb": f"# Tour\n\nSee [the guide]({site.url}/guide.rst).\n\n```python\nrun()\n```\n",
    }
    types = {path: row["mime_type"] for path, row in outcome.by_path(site.url).items()}
    assert (types["/guide.rst"], types["/notes.adoc"]) == ("text/x-rst", "text/asciidoc")
    assert {document["origin"] for document in outcome.documents} == {"html", "text"}
    assert outcome.stats["llms/errors/parse"] == 1
    assert outcome.stats["llms/filtered/unsupported-type"] == 1


def test_listed_documents_are_read_and_linked_ones_are_not(serve, run_crawl):
    listed = {
        "/manual.pdf": pdf("# Manual\n\nIt boils.\n"),
        "/guide.docx": word("# Guide", "It boils."),
        "/talk.pptx": slides(("Talk", "It boils.")),
        "/limits.xlsx": sheet("Limits", ("Plan", "Cups"), ("small", 2)),
        "/book.epub": book("Book", "<h1>Book</h1><p>It boils.</p>"),
        "/half.pdf": b"%PDF-1.7\n\0",
    }
    pages = {
        path: Reply(body, content_type="application/octet-stream") for path, body in listed.items()
    }
    pages |= {
        "/": html("Home", "<p>Welcome.</p><a href='/other.pdf'>Other</a>"),
        "/other.pdf": Reply(listed["/manual.pdf"], content_type="application/pdf"),
        "/llms.txt": "# Site\n\n## Docs\n\n" + "".join(f"- [x]({path})\n" for path in listed),
    }
    site = serve(pages)
    outcome = run_crawl(f"{site.url}/")
    found = {path: document["content"] for path, document in outcome.by_path(site.url).items()}
    assert found.pop("/").startswith("# Home")
    assert found == {
        "/manual.pdf": "# Manual\n\nIt boils.\n",
        "/guide.docx": "# Guide\n\nIt boils.\n",
        "/talk.pptx": "## Talk\n\nIt boils.\n",
        "/limits.xlsx": "## Limits\n\n| Plan | Cups |\n| --- | --- |\n| small | 2 |\n",
        "/book.epub": "# Book\n\nIt boils.\n",
    }
    assert outcome.stats["llms/errors/parse"] == 1
    assert outcome.stats["llms/filtered/unsupported-type"] == 1


def test_without_the_extra_documents_are_counted(serve, run_crawl):
    site = serve(
        {
            "/": html("Home", "<p>Welcome.</p>"),
            "/llms.txt": "# Site\n\n## Docs\n\n- [Guide](/guide.docx)\n",
            "/guide.docx": Reply(word("x"), content_type="application/octet-stream"),
        }
    )
    lacking = {"documents": {"no_such_package": "no-such-package>=1"}}
    outcome = run_crawl(f"{site.url}/", constants={"llmsspider.web.loading.EXTRAS": lacking})
    assert set(outcome.by_path(site.url)) == {"/"}
    assert outcome.stats["llms/filtered/unsupported-type"] == 1


SHELL = (
    '<html><head><title>Documentation</title><script>var baseUrl = "/kit/"</script>'
    '</head><body data-color-scheme="auto"><noscript>'
    f"<style>{'.noscript-title { color: #111; margin: 0 auto; }' * 20}</style><h1>This page requires JavaScript.</h1>"
    '</noscript><div id="app"></div><script src="/kit/js/index.js"></script></body></html>'
)


def words(*texts: str) -> list[dict]:
    """Inline content: text, and code where it is in backticks."""
    return [
        {"type": "codeVoice", "code": text[1:]}
        if text[0] == "`"
        else {"type": "text", "text": text}
        for text in texts
    ]


def paragraph(*texts: str) -> dict:
    return {"type": "paragraph", "inlineContent": words(*texts)}


WHEEL = {
    "schemaVersion": {"major": 0, "minor": 3, "patch": 0},
    "kind": "symbol",
    "metadata": {"title": "Wheel", "role": "symbol"},
    "abstract": words("A wheel of a ", "`Mill<T>", "."),
    "deprecationSummary": [paragraph("Use a gear.")],
    "primaryContentSections": [
        {
            "kind": "declarations",
            "declarations": [
                {"languages": ["swift"], "tokens": [{"text": "struct "}, {"text": "Wheel"}]}
            ],
        },
        {
            "kind": "parameters",
            "parameters": [{"name": "spokes", "content": [paragraph("How many.")]}],
        },
        {
            "kind": "content",
            "content": [
                {"type": "heading", "level": 2, "text": "Overview", "anchor": "overview"},
                {
                    "type": "paragraph",
                    "inlineContent": [
                        *words("See "),
                        {"type": "reference", "identifier": "doc://Kit/turn", "isActive": True},
                        {"type": "strong", "inlineContent": words(" first")},
                        {"type": "image", "identifier": "wheel.png"},
                    ],
                },
                {"type": "codeListing", "syntax": "swift", "code": ["let w = Wheel()", "w.turn()"]},
                {
                    "type": "aside",
                    "style": "note",
                    "name": "Note",
                    "content": [paragraph("It is round.")],
                },
                {
                    "type": "orderedList",
                    "items": [{"content": [paragraph("One")]}, {"content": [paragraph("Two")]}],
                },
                {
                    "type": "table",
                    "header": "row",
                    "rows": [
                        [[paragraph("A")], [paragraph("B")]],
                        [[paragraph("1")], [paragraph("`x|y")]],
                    ],
                },
                {
                    "type": "termList",
                    "items": [
                        {
                            "term": {"inlineContent": words("Hub")},
                            "definition": {"content": [paragraph("Its centre.")]},
                        }
                    ],
                },
                {
                    "type": "tabNavigator",
                    "tabs": [{"title": "Mac", "content": [paragraph("On a Mac.")]}],
                },
                {
                    "type": "row",
                    "columns": [
                        {"content": [paragraph("Left.")]},
                        {"content": [paragraph("Right.")]},
                    ],
                },
                {"type": "laterKind", "content": [paragraph("Later.")]},
            ],
        },
    ],
    "topicSections": [{"title": "Turning", "identifiers": ["doc://Kit/turn", "doc://Kit/lost"]}],
    "relationshipsSections": [],
    "seeAlsoSections": [{"title": "Turning", "generated": True, "identifiers": ["doc://Kit/turn"]}],
    "references": {
        "doc://Kit/turn": {
            "type": "topic",
            "kind": "symbol",
            "role": "symbol",
            "title": "turn(by:)",
            "fragments": [{"text": "func "}, {"text": "turn(by: Int)"}],
            "abstract": words("Turns it."),
            "url": "/documentation/kit/turn(by:)",
        },
        "wheel.png": {
            "type": "image",
            "alt": "A wheel",
            "variants": [{"url": "/images/wheel.png"}],
        },
    },
}
TURN = {"schemaVersion": {}, "metadata": {"title": "turn(by:)"}, "abstract": words("Turns it.")}
WRITTEN = """# Wheel

A wheel of a `Mill<T>`.

> [!WARNING]
> **Deprecated**
>
> Use a gear.

```swift
struct Wheel
```

## Parameters

`spokes`
: How many.

## Overview

See [`turn(by:)`]({base}/kit/documentation/kit/turn(by:)) **first**![A wheel]({base}/kit/images/wheel.png)

```swift
let w = Wheel()
w.turn()
```

> [!NOTE]
> It is round.

1. One
2. Two

| A | B |
| --- | --- |
| 1 | `x\\|y` |

Hub
: Its centre.

**Mac**

On a Mac.

Left.

Right.

Later.

## Topics

### Turning

[`func turn(by: Int)`]({base}/kit/documentation/kit/turn(by:))

Turns it.
"""


def test_pages_of_docc_are_read_from_their_data_without_a_browser(serve, run_crawl):
    site = serve(
        {
            "/kit/documentation/kit/": SHELL,
            "/kit/data/documentation/kit.json": json.dumps(WHEEL),
            "/kit/documentation/kit/turn(by:)": SHELL,
            "/kit/data/documentation/kit/turn(by:).json": json.dumps(TURN),
        }
    )
    outcome = run_crawl(f"{site.url}/kit/documentation/kit/", arguments={"render": "never"})
    found = {path: document["content"] for path, document in outcome.by_path(site.url).items()}
    assert found["/kit/documentation/kit/"] == WRITTEN.format(base=site.url)
    assert found["/kit/documentation/kit/turn(by:)"] == "# turn(by:)\n\nTurns it.\n"
    assert len(found) == 2
    again = run_crawl(f"{site.url}/kit/documentation/kit/", arguments={"render": "never"})
    assert {document["change"] for document in again.documents} == {"unchanged"}
    del site.pages["/kit/data/documentation/kit/turn(by:).json"]
    fresh = run_crawl(
        f"{site.url}/kit/documentation/kit/", arguments={"render": "never", "source": "fresh"}
    )
    assert [document["title"] for document in fresh.documents] == ["Wheel"]
    assert fresh.stats["llms/errors/not_found"] == 1


@pytest.mark.parametrize("slash", ["", "/"])
def test_the_html_around_the_data_of_docc_is_downloaded_a_few_times(serve, run_crawl, slash):
    names = [f"turn{number}" for number in range(30)]
    below = {
        f"r{name}": {"title": name, "url": f"/documentation/kit/{name}"}
        for name in [*names, "gone"]
    }
    topics = [{"title": "Turns", "identifiers": list(below)}]
    first = {**TURN, "metadata": {"title": "Kit"}, "references": below, "topicSections": topics}
    site = serve(
        {"/kit/documentation/kit/": SHELL, "/kit/data/documentation/kit.json": json.dumps(first)}
    )
    for name in names:
        path = f"/kit/documentation/kit/{name}"
        site.pages[f"{path}{slash}"] = SHELL
        if slash:
            site.pages[path] = Reply("", 301, headers={"Location": f"{path}/"})
        one = {**TURN, "metadata": {"title": name}, "references": below, "topicSections": topics}
        site.pages[f"/kit/data/documentation/kit/{name}.json"] = json.dumps(one)
    outcome = run_crawl(f"{site.url}/kit/documentation/kit/", arguments={"render": "never"})
    paths = {f"/kit/documentation/kit/{name}{slash}" for name in names}
    assert set(outcome.by_path(site.url)) == {"/kit/documentation/kit/", *paths}
    assert len([path for path in site.paths() if path in paths]) < len(names)
    assert outcome.stats["llms/errors/not_found"] in {
        1,
        2,
    }  # with a slash, and before that was learned
