"""Files of other formats in a crawl: listed ones are documents, linked ones where a setting says so."""

from __future__ import annotations

import json

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
    {"openapi": "3.0.0", "info": {"title": "Pets"}, "paths": {"/pets": {"get": {"summary": "All pets"}}}}
)
PAGES = {
    "/": html("Home", "<p>Welcome.</p><a href='/linked.ipynb'>N</a> <a href='/linked.adoc'>A</a>"),
    "/llms.txt": "# Site\n\n## Docs\n\n- [Tour](/tour.ipynb)\n- [Guide](/guide.rst)\n- [API](/api.json)\n"
    "- [Data](/data.json)\n- [Broken](/broken.ipynb)\n",
    "/tour.ipynb": Reply(NOTEBOOK, content_type="application/octet-stream"),
    "/guide.rst": Reply("Guide\n=====\n\n.. code-block:: sh\n\n   run\n", content_type="text/plain"),
    "/api.json": API,
    "/data.json": '{"rows": [1, 2]}',
    "/broken.ipynb": Reply('{"cells": [', content_type="application/json"),
    "/linked.ipynb": NOTEBOOK,
    "/linked.adoc": Reply("= Linked\n\nText.\n", content_type="text/plain"),
}


def test_listed_files_are_documents_and_linked_ones_where_they_are_wanted(serve, run_crawl):
    site = serve(PAGES)
    outcome = run_crawl(f"{site.url}/", settings={"LLMS_FORMATS": "asciidoc=linked"})
    found = {path: document["content"] for path, document in outcome.by_path(site.url).items()}
    assert found.pop("/").startswith("# Home")
    assert found == {
        "/tour.ipynb": f"# Tour\n\nSee [the guide]({site.url}/guide.rst).\n\n```python\nrun()\n```\n",
        "/guide.rst": "# Guide\n\n```sh\nrun\n```\n",
        "/api.json": "# Pets\n\n## Operations\n\n### All pets\n\n`GET /pets`\n",
        "/data.json": '{"rows": [1, 2]}\n',
        "/linked.adoc": "# Linked\n\nText.\n",
    }
    assert {document["origin"] for document in outcome.documents} == {"html", "text"}
    assert outcome.stats["llms/errors/parse"] == 1
    assert outcome.stats["llms/filtered/file-type"] == 1
