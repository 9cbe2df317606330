"""Hosts of repositories for the tests: the parts of the APIs of GitHub and GitLab that listings need, and raw files."""

from __future__ import annotations

import json
from hashlib import sha1
from urllib.parse import parse_qs, unquote, urlsplit

from site_server import Reply, Seen, Site

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
        front = f"/api/v3/repos/{self.place}" if self.kind == "github" else f"/api/v4/projects/{self.place}"
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
                            "sha": _sha(ref, f"{folder}/{one}".strip("/")),
                        }
                        for one, kind in listed
                    ]
                    return _json({"sha": name, "tree": tree, "truncated": False})
        return None

    def _gitlab(self, path: str, query: dict[str, str]) -> Reply | None:
        files, folder = self.refs.get(query.get("ref", "")), query.get("path", "")
        if path != "/repository/tree" or not files:
            return None
        listed = _listed(files, folder, deep=query.get("recursive") == "true")
        rows = [
            {"name": one.rpartition("/")[2], "path": f"{folder}/{one}".strip("/"), "type": kind}
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
    everything = [*((path, "blob") for path in files), *((path, "tree") for path in _folders(files))]
    below = sorted((path.removeprefix(above), kind) for path, kind in everything if path.startswith(above))
    return [(path, kind) for path, kind in below if deep or "/" not in path]


def _sha(ref: str, path: str) -> str:
    return sha1(f"{ref}:{path}".encode(), usedforsecurity=False).hexdigest()


def _json(value: object, headers: dict[str, str] | None = None) -> Reply:
    return Reply(json.dumps(value), content_type=JSON, headers=headers or {})
