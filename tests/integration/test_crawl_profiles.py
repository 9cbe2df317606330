"""The profiles that ship, and a user's own."""

from __future__ import annotations

import gzip
import json

import pytest
from crawling import command
from sites import PLAIN, html


@pytest.fixture
def crawl_as(serve, tmp_path):
    """Return a function that crawls a site with a profile and no output named on the command line."""

    def work(site, profile, *options):
        place = (
            "-s",
            "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
            "-s",
            f"LLMS_DATA_DIR={tmp_path / 'store'}",
        )
        given = ("-a", f"url={site.url}/", "-a", f"profile={profile}", *options)
        return command("crawl", "docs", *given, *place, cwd=tmp_path)

    return work


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_rag_writes_the_chunks_that_changed(serve, crawl_as, tmp_path):
    site = serve(PLAIN)
    assert crawl_as(site, "rag").exit_code == 0
    assert len(lines(tmp_path / "chunks.jsonl")) == 4
    site.pages["/guide/deep.html"] = html("Deep", "<p>Deeper still.</p>")
    assert crawl_as(site, "rag").exit_code == 0
    assert [row["change"] for row in lines(tmp_path / "chunks.jsonl")] == ["deleted", "new"]
    assert crawl_as(site, "rag").exit_code == 0
    assert lines(tmp_path / "chunks.jsonl") == []


def test_what_is_given_comes_before_the_profile(serve, crawl_as, tmp_path):
    site = serve(PLAIN)
    crawl_as(site, "rag")
    crawl_as(site, "rag", "-a", "emit=all", "-O", "own.jsonl:chunks")
    assert [row["change"] for row in lines(tmp_path / "own.jsonl")] == ["unchanged"] * 4


def test_mirror_writes_a_tree_for_the_source(serve, crawl_as, tmp_path):
    site = serve(PLAIN)
    outcome = crawl_as(site, "mirror")
    (tree,) = (tmp_path / "mirror").iterdir()
    assert (tree / "guide/deep.md").exists()
    assert "no output is configured" not in outcome.log


def test_archive_holds_every_document_and_the_graph(serve, crawl_as, tmp_path):
    site = serve(
        {
            **PLAIN,
            "/guide/deep.html": html("Deep", "<p>The deepest, <a href='gone.html'>gone</a>.</p>"),
        }
    )
    outcome = crawl_as(site, "archive")
    documents, graph = sorted((tmp_path / "archive").iterdir())
    assert len(gzip.decompress(documents.read_bytes()).splitlines()) == 4, outcome.log
    nodes = json.loads(gzip.decompress(graph.read_bytes()))["nodes"]
    assert [node["status"] for node in nodes] == ["completed"] * 4 + ["error"]


STAGES = "".join(
    f'{stage} = "llmsspider.pipelines.{stage}.{stage.title()}Pipeline"\n'
    for stage in ("filter", "hash", "export")
)
WRONG = {
    "unknown name": (
        None,
        "accepted are archive, default, mirror, rag, or the path of a .toml file",
    ),
    "an argument that says what is crawled": (
        f"[arguments]\nurl='x'\n[stages]\n{STAGES}",
        "'url' belongs to a source",
    ),
    "an argument nobody knows": (f"[arguments]\nemits='x'\n[stages]\n{STAGES}", "emits"),
    "a value nobody knows": (f"[arguments]\nemit='x'\n[stages]\n{STAGES}", "argument emit='x'"),
    "arguments that are no table": (
        f"arguments=3\n[stages]\n{STAGES}",
        "[arguments] must be a table",
    ),
    "a missing stage": ("[stages]\nfilter='a.b'\n", "[stages] lacks 'hash'"),
    "no TOML": ("= 3", "not valid TOML"),
    "a wrong setting": (
        f"[stages]\n{STAGES}\n[settings]\nLLMS_CHUNK_SIZE=0\n",
        "LLMS_CHUNK_SIZE=0",
    ),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_profile_is_refused_before_anything_is_fetched(
    serve, crawl_as, tmp_path, text, said
):
    site = serve(PLAIN)
    name = "nothing"
    if text is not None:
        (tmp_path / "own.toml").write_text(text)
        name = "own.toml"
    outcome = crawl_as(site, name)
    assert outcome.exit_code == 2
    assert said in outcome.log
    assert site.requests == []
