"""The embedders that the docs show."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from llmsspider.answers.embedding import check_embedder
from llmsspider.errors import ArgumentsError

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "search.md").read_text(
    encoding="utf-8"
)


def example(name: str) -> type:
    """The class of this name in the Python of the page."""
    (code,) = [
        code
        for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
        if f"class {name}" in code
    ]
    found: dict = {}
    exec(code, found)
    return found[name]


def test_the_embedder_with_an_http_api(monkeypatch):
    asked = []

    class Api(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.headers["Authorization"], body["model"]))
            vectors = [{"embedding": [float(len(text)), 1.0]} for text in body["input"]]
            answer = json.dumps({"data": vectors}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_arguments):
            pass

    with HTTPServer(("127.0.0.1", 0), Api) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        monkeypatch.setenv("EMBEDDINGS_URL", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("EMBEDDINGS_KEY", "secret")
        embedder = example("OverHttp")
        check_embedder(embedder)
        assert embedder().embed(["a", "abc"]) == [[1.0, 1.0], [3.0, 1.0]]
        thread.join()
    assert asked == [("Bearer secret", "text-embedding-3-small")]


def test_the_embedder_with_a_model_on_the_disk_is_accepted_without_loading_it():
    check_embedder(example("Local"))
    with pytest.raises(ArgumentsError, match="no method embed"):
        check_embedder(str)
