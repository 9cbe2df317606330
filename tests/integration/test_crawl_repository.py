"""A repository as a start: its README and documentation from raw files, links between them kept, recrawls."""

from __future__ import annotations

import json
from hashlib import sha1
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from site_server import Reply, Seen, Site, serving

README = "# Project\n\n![logo](docs/logo.png)\n\nSee [the guide](docs/guide/) and [the setup](setup.py).\n"
GUIDE = (
    "# Guide\n\nBack to [it all](../../README.md), on to [more](more.md#use), [notes](/docs/notes.rst), "
    "[Usage](usage.html), [elsewhere](https://e.com/x), [top](#guide), [api](../api.md).\n"
)
FILES = {
    "README.md": README,
    "setup.py": "print()\n",
    "CHANGES.md": "# Changes\n",
    "docs/logo.png": "no picture",
    "docs/api.md": "# API\n\nAll of it.\n",
    "docs/guide/index.md": GUIDE,
    "docs/guide/more.md": "# More\n\nMore of it, [see](index.md).\n",
    "docs/guide/usage.adoc": "= Usage\n\nHow it is used, see link:more.md[more].\n",
    "docs/notes.rst": "Notes\n=====\n\nSome `notes <api.md>`_.\n\n.. code:: python\n\n   run()\n",
    "docs/try.ipynb": json.dumps(
        {
            "nbformat": 4,
            "metadata": {"kernelspec": {"language": "python"}},
            "cells": [
                {"cell_type": "markdown", "source": ["# Try\n", "see [api](api.md)"]},
                {"cell_type": "code", "source": ["1 + 1"], "outputs": []},
            ],
        }
    ),
    "docs/data.json": '{"a": 1}',
    "docs/.hidden/x.md": "# Hidden\n",
    "examples/one.md": "# One\n\nAn example.\n",
}
PAGES = {"README.md", "docs/api.md", "docs/guide/index.md", "docs/guide/more.md", "docs/guide/usage.adoc",
         "docs/notes.rst", "docs/try.ipynb"}  # fmt: skip
JSON = "application/json; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"


class GitHost(Site):
    """A host with one public repository `group/project`; `files` are those of each ref by path, and may be changed.

    A page of the host itself, such as a `blob` page, answers with HTML; nothing should ask for it.
    """

    place = "group/project"

    def __init__(self, kind: str, refs: dict[str, dict[str, str]], default: str = "main"):
        super().__init__({})
        self.kind, self.refs, self.default = kind, refs, default
        self.etags = True
        self.limit: Reply | None = None
        """What the API answers with in place of everything."""
        self.per_page = 100
        self.token = ""
        """What a private repository wants as `PRIVATE-TOKEN`; then its raw files answer a browser's session only."""

    def reply(self, seen: Seen) -> Reply:
        path = unquote(urlsplit(seen.path).path)
        query = {name: values[0] for name, values in parse_qs(urlsplit(seen.path).query).items()}
        if path == "/robots.txt":
            return Reply("User-agent: *\nDisallow: /api\n", content_type=PLAIN)
        if self.token and (
            not path.startswith("/api/") or seen.headers.get("private-token", "") != self.token
        ):
            return Reply('{"message": "404 Project Not Found"}', 404, JSON)
        if path.startswith("/api/"):
            answer = self.limit or self._api(path, query)
            return answer if answer is not None else Reply('{"message": "Not Found"}', 404, JSON)
        raw = f"/{self.place}/{'-/' if self.kind == 'gitlab' else ''}raw/"
        if path.startswith(raw):
            return self._raw(path.removeprefix(raw))
        return Reply("<html><body><h1>The host's own page</h1></body></html>", 200, "text/html")

    def _raw(self, rest: str) -> Reply:
        for ref, files in self.refs.items():
            if rest.startswith(f"{ref}/") and rest.removeprefix(f"{ref}/") in files:
                return Reply(files[rest.removeprefix(f"{ref}/")], content_type=PLAIN)
        return Reply("404: Not Found", 404, PLAIN)

    def _api(self, path: str, query: dict[str, str]) -> Reply | None:
        front = (
            f"/api/v3/repos/{self.place}"
            if self.kind == "github"
            else f"/api/v4/projects/{self.place}"
        )
        if path == front:
            return _json({"default_branch": self.default, "description": "one"})
        file, _, asked = path.removeprefix(f"{front}/repository/files/").rpartition("/")
        if asked == "raw" and file in self.refs.get(query.get("ref", ""), {}):
            return Reply(self.refs[query["ref"]][file], content_type=PLAIN)
        listing = self._github if self.kind == "github" else self._gitlab
        return listing(path.removeprefix(front), query) if path.startswith(front) else None

    def _github(self, path: str, query: dict[str, str]) -> Reply | None:
        name = path.removeprefix("/git/trees/")
        for ref, files in self.refs.items():
            for folder in ["", *_folders(files)]:
                if name == (ref if not folder else _sha(ref, folder)):
                    if not files:
                        return Reply('{"message": "Git Repository is empty."}', 409, JSON)
                    listed = _listed(files, folder, deep="recursive" in query)
                    tree = [
                        {
                            "path": one,
                            "type": kind,
                            "mode": "100644",
                            "sha": self._hash(ref, f"{folder}/{one}".strip("/"), kind),
                        }
                        for one, kind in listed
                    ]
                    return _json({"sha": name, "tree": tree, "truncated": False})
        return None

    def _hash(self, ref: str, path: str, kind: str) -> str:
        """Return the name of a folder's listing, and as Git does the hash of what a file holds."""
        text = self.refs[ref][path] if kind == "blob" else f"{ref}:{path}"
        return sha1(text.encode(), usedforsecurity=False).hexdigest()

    def _gitlab(self, path: str, query: dict[str, str]) -> Reply | None:
        files, folder = self.refs.get(query.get("ref", "")), query.get("path", "")
        if path != "/repository/tree" or not files:
            return None
        listed = _listed(files, folder, deep=query.get("recursive") == "true")
        rows = [
            {
                "id": self._hash(query["ref"], f"{folder}/{one}".strip("/"), kind),
                "name": one.rpartition("/")[2],
                "path": f"{folder}/{one}".strip("/"),
                "type": kind,
            }
            for one, kind in listed
        ]
        page = int(query.get("page", "1"))
        start, end = (page - 1) * self.per_page, page * self.per_page
        return _json(rows[start:end], {"X-Next-Page": str(page + 1) if end < len(rows) else ""})


def _folders(files: dict[str, str]) -> list[str]:
    parts = (path.split("/")[:-1] for path in files)
    return sorted({"/".join(part[:number]) for part in parts for number in range(1, len(part) + 1)})


def _listed(files: dict[str, str], folder: str, *, deep: bool) -> list[tuple[str, str]]:
    above = f"{folder}/" if folder else ""
    everything = [
        *((path, "blob") for path in files),
        *((path, "tree") for path in _folders(files)),
    ]
    below = sorted(
        (path.removeprefix(above), kind) for path, kind in everything if path.startswith(above)
    )
    return [(path, kind) for path, kind in below if deep or "/" not in path]


def _sha(ref: str, path: str) -> str:
    return sha1(f"{ref}:{path}".encode(), usedforsecurity=False).hexdigest()


def _json(value: object, headers: dict[str, str] | None = None) -> Reply:
    return Reply(json.dumps(value), content_type=JSON, headers=headers or {})


@pytest.fixture(params=["github", "gitlab"])
def host(request):
    with serving(
        GitHost(
            request.param, {"main": dict(FILES), "feature/x": {"other/a.md": "# A\n\nOther.\n"}}
        )
    ) as site:
        yield site


def settings(host: GitHost) -> dict[str, object]:
    return {"LLMS_REPOSITORY_HOSTS": json.dumps({host.url.removeprefix("http://"): host.kind})}


def view(host: GitHost, kind: str, ref: str = "main") -> str:
    return f"{host.url}/group/project/{'-/' if host.kind == 'gitlab' else ''}{kind}/{ref}/"


def paths(host: GitHost, outcome, ref: str = "main") -> dict[str, dict]:
    return {row["url"].removeprefix(view(host, "blob", ref)): row for row in outcome.documents}


def test_readme_and_docs_are_read_from_raw_files_and_their_links_are_kept(host, run_crawl):
    host.per_page = 4
    start = f"{host.url}/group/project"
    outcome = run_crawl(start, settings=settings(host))
    found = paths(host, outcome)
    assert set(found) == PAGES
    blob, raw, tree = (view(host, kind) for kind in ("blob", "raw", "tree"))
    readme, guide = found["README.md"]["content"], found["docs/guide/index.md"]["content"]
    assert f"[the guide]({blob}docs/guide/index.md)" in readme
    assert f"[the setup]({blob}setup.py)" in readme
    assert f"![logo]({raw}docs/logo.png)" in readme
    for link in (
        f"[it all]({blob}README.md)",
        f"[more]({blob}docs/guide/more.md#use)",
        f"[notes]({blob}docs/notes.rst)",
        f"[Usage]({blob}docs/guide/usage.adoc)",
        f"[api]({blob}docs/api.md)",
        "[elsewhere](https://e.com/x)",
    ):
        assert link in guide
    assert found["docs/notes.rst"]["content"] == FILES["docs/notes.rst"]
    assert found["docs/notes.rst"]["mime_type"] == "text/x-rst"
    assert f"[api]({blob}docs/api.md)" in found["docs/try.ipynb"]["content"]
    assert found["docs/guide/usage.adoc"]["content"] == FILES["docs/guide/usage.adoc"]
    assert found["docs/api.md"]["fetched_url"] == f"{raw}docs/api.md"
    assert {row["discovered_by"] for row in found.values()} == {"start", "repository"}
    assert not [
        seen.path
        for seen in host.requests
        if seen.path.startswith(("/group/project/blob", "/group/project/-/blob"))
    ]
    assert f"found repository: {tree.rstrip('/')}" in outcome.log
    assert "7 files of documentation" in outcome.log


def test_a_recrawl_asks_with_etags_and_tells_edits_and_deletions(host, run_crawl):
    start = f"{host.url}/group/project"
    run_crawl(start, settings=settings(host))
    files = host.refs["main"]
    files["docs/api.md"] = "# API\n\nAll of it, and more.\n"
    del files["docs/notes.rst"]
    files["docs/new.md"] = "# New\n\nIt is new.\n"
    files["docs/guide/further.md"] = files.pop("docs/guide/more.md")
    host.clear()
    outcome = run_crawl(start, arguments={"emit": "changes"}, settings=settings(host))
    assert {path: row["change"] for path, row in paths(host, outcome).items()} == {
        "docs/api.md": "changed",
        "docs/notes.rst": "deleted",
        "docs/new.md": "new",
        "docs/guide/more.md": "deleted",
        "docs/guide/further.md": "new",
    }
    assert paths(host, outcome)["docs/guide/further.md"]["moved_from"] == [
        f"{view(host, 'blob')}docs/guide/more.md"
    ]
    unchanged = [
        seen.status for seen in host.requests if seen.path.endswith(("README.md", "usage.adoc"))
    ]
    assert unchanged == [304, 304]
    host.clear()
    refreshed = run_crawl(start, arguments={"mode": "refresh"}, settings=settings(host))
    assert {row["change"] for row in refreshed.documents} == {"unchanged"}
    assert not any(seen.path.startswith("/api/") for seen in host.requests)


def test_files_whose_hash_is_as_it_was_are_not_requested(host, run_crawl):
    files = host.refs["main"]
    files |= {f"docs/part{n}.md": f"# Part {n}\n\nIt says what {n} says.\n" for n in range(30)}

    def night() -> tuple[dict[str, str], list[str]]:
        host.clear()
        outcome = run_crawl(f"{host.url}/group/project", settings=settings(host))
        told = {path: row["change"] for path, row in paths(host, outcome).items()}
        raw = urlsplit(view(host, "raw")).path
        return {path: one for path, one in told.items() if one != "unchanged"}, [
            path.removeprefix(raw) for path in host.paths() if path.startswith(raw)
        ]

    requests = [len(night()[1]) for _ in range(5)]
    assert requests[0] >= 37
    assert requests[4] <= 6, requests
    files["docs/part7.md"] = "# Part 7\n\nIt says something else.\n"
    told, requested = night()
    assert told == {"docs/part7.md": "changed"}
    assert "docs/part7.md" in requested
    assert len(requested) < 20


def test_a_folder_of_a_branch_with_a_slash_in_its_name(host, run_crawl):
    outcome = run_crawl(f"{view(host, 'tree', 'feature/x')}other", settings=settings(host))
    assert set(paths(host, outcome, "feature/x")) == {"other/a.md"}


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("group/none", "there is no such repository, or a private one, which is read with a token"),
        ("{tree}v9/docs", "there is no branch, tag or commit 'v9'"),
        ("{tree}main/none/deep", "there is no folder 'none' at main"),
        ("{tree}main/examples/", None),
        ("{tree}empty", "no README and no documentation that can be read"),
    ],
)
def test_bad_addresses_are_one_line(host, run_crawl, path, line):
    host.refs["empty"] = {"src/a.py": "print()\n"}
    tree = view(host, "tree", "").removeprefix(f"{host.url}/").rstrip("/") + "/"
    outcome = run_crawl(f"{host.url}/{path.format(tree=tree)}", settings=settings(host))
    if line is None:
        assert set(paths(host, outcome)) == {"examples/one.md"}
        return
    assert outcome.exit_code != 0
    assert [found for found in outcome.log.splitlines() if " ERROR: " in found and line in found], (
        outcome.log
    )
    assert "Traceback" not in outcome.log


@pytest.mark.parametrize("status", [403, 429])
def test_a_rate_limit_is_one_line_and_nothing_is_lost(host, run_crawl, status):
    start = f"{host.url}/group/project"
    run_crawl(start, settings=settings(host))
    host.limit = Reply(
        "{}", status, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1790000000"}
    )
    outcome = run_crawl(
        start, settings={**settings(host), "AUTOTHROTTLE_MAX_DELAY": 0.2, "RETRY_TIMES": 0}
    )
    assert outcome.exit_code != 0
    assert "allows no more requests until 14:13 UTC (its rate limit)" in outcome.log
    assert "Traceback" not in outcome.log
    host.limit = None
    again = run_crawl(start, settings=settings(host))
    assert {row["change"] for row in again.documents} == {"unchanged"}


def test_a_private_repository_is_read_with_a_token(run_crawl):
    with serving(GitHost("gitlab", {"main": dict(FILES)})) as host:
        host.token = "glpat-0123456789"
        start = f"{host.url}/group/project"
        refused = run_crawl(start, settings=settings(host))
        assert refused.exit_code != 0
        assert (
            "or a private one, which is read with a token: GITHUB_TOKEN, GITLAB_TOKEN"
            in refused.log
        )
        auth = json.dumps({host.url: {"PRIVATE-TOKEN": host.token}})
        outcome = run_crawl(start, settings={**settings(host), "LLMS_HTTP_AUTH": auth})
    found = paths(host, outcome)
    assert set(found) == PAGES
    assert found["docs/api.md"]["content"] == "# API\n\nAll of it.\n"
    assert found["docs/api.md"]["fetched_url"].endswith(
        "/repository/files/docs%2Fapi.md/raw?ref=main"
    )
    assert host.token not in outcome.log
