"""The documentation as a site (`make docs`), crawled by the project itself."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from forked import ROOT, fork, run_module

pytest.importorskip("material", reason="MkDocs Material builds the site: make install-dev")


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_site", ROOT / ".ci" / "docs_site.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(builder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built site; `mkdocs build --strict` has found every link and anchor by then."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    handler = functools.partial(builder.Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        builder.build(folder, url)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield url
        server.shutdown()


def files() -> list[str]:
    """The pages of docs/, as the navigation names them."""
    docs = ROOT / "docs"
    return sorted(file.relative_to(docs).as_posix() for file in docs.rglob("*.md"))


def expected(builder: ModuleType, url: str) -> set[str]:
    """The addresses of all pages, from the files of docs/."""
    return {url + builder.address(file) for file in files()}


def finished(
    run_crawl: Any, tmp_path: Path, url: str, **settings: Any
) -> tuple[Any, dict[str, Any]]:
    outcome = run_crawl(url, settings={"LLMS_REPORT": str(tmp_path / "report"), **settings})
    assert outcome.exit_code == 0, outcome.log
    return outcome, json.loads((tmp_path / "report" / "run.json").read_text())


def test_every_page_is_in_the_navigation(builder: ModuleType) -> None:
    config = builder.yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    listed = [file for _, _, file in builder.pages(config["nav"])]
    assert sorted(listed) == files()


def test_a_crawl_gets_every_page_from_the_full_text(
    builder: ModuleType, site: str, run_crawl: Any, tmp_path: Path
) -> None:
    outcome, _ = finished(run_crawl, tmp_path, site)
    assert {document["url"] for document in outcome.documents} == expected(builder, site)
    assert not any(key.startswith("llms/errors/") for key in outcome.stats)
    assert outcome.stats["llms/origin/llms-full"] == len(outcome.documents)


def test_a_crawl_by_links_finds_every_page_and_no_dead_link(
    builder: ModuleType, site: str, run_crawl: Any, tmp_path: Path
) -> None:
    outcome, _ = finished(run_crawl, tmp_path, site, LLMS_DISCOVERY_ENABLED=False)
    assert {document["url"] for document in outcome.documents} == expected(builder, site)
    assert not any(key.startswith("llms/errors/") for key in outcome.stats), outcome.lines
    assert outcome.stats["llms/origin/markdown"] >= len(outcome.documents) - 3, (
        "the Markdown beside each page"
    )


def test_the_lint_finds_nothing_to_mend(site: str, tmp_path: Path) -> None:
    """Pages name their Markdown and the llms.txt, too, which only the command looks at."""
    process = fork(
        run_module, "llmsspider", "lint", f"{site}llms.txt", "-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
        cwd=tmp_path, stdout=tmp_path / "stdout", stderr=tmp_path / "stderr",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (process.wait(), process.stdout) == (0, "nothing to mend\n"), process.log
