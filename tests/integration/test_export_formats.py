"""`scrapy export` of crawled sites: flattened, as a graph, as tables, as a tree."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re

import pytest
from crawling import command
from sites import MARKDOWN, PLAIN
from stores import SITE, record

from llmsspider.output import graph as tree_of
from llmsspider.store import SourceRecord, open_store


def page(title: str, *links: str) -> str:
    body = "".join(f"<p><a href='{link}'>to {link}</a></p>" for link in links)
    main = f"<h1>{title}</h1><p>Text of {title}.</p>{body}"
    return f"<html><head><title>{title}</title></head><body><main>{main}</main></body></html>"


@pytest.fixture
def export(serve, run_crawl, tmp_path):
    """Return a function that crawls pages and exports them."""

    def work(pages, *options, arguments=None, feeds=()):
        site = serve(pages)
        crawled = run_crawl(f"{site.url}/", arguments=arguments, options=feeds)
        source = site.url.removeprefix("http://")
        data = ("-s", f"LLMS_DATA_DIR={tmp_path / 'store'}")
        return crawled, site.url, command("export", source, *options, *data, cwd=tmp_path)

    return work


def graph(outcome, base: str) -> dict[str, dict]:
    return {node["url"].removeprefix(base): node for node in json.loads(outcome.stdout)["nodes"]}


def titles(outcome) -> list[str]:
    return re.findall(r"^# (.+)$", outcome.stdout, flags=re.MULTILINE)


def test_a_to_b_and_c_are_three_nodes_and_their_content_in_order(export):
    pages = {"/": page("A", "b.html", "c.html"), "/b.html": page("B"), "/c.html": page("C")}
    _, base, made = export(pages, "--format", "graph")
    nodes = graph(made, base)
    assert list(nodes) == ["/", "/b.html", "/c.html"]
    assert [link["to"] for link in nodes["/"]["links"]] == [
        nodes["/b.html"]["id"],
        nodes["/c.html"]["id"],
    ]
    assert {node["status"] for node in nodes.values()} == {"completed"}
    _, base, made = export(pages, "--format", "flat")
    assert titles(made) == ["A", "B", "C"]
    assert made.stdout.startswith(f"# A\n\nSource: {base}/\n\nText of A.")


def test_depth_1_leaves_out_what_lies_two_links_away(export):
    pages = {"/": page("A", "b.html"), "/b.html": page("B", "c.html"), "/c.html": page("C")}
    _, base, made = export(pages, "--format", "graph", arguments={"max_depth": 1})
    assert list(graph(made, base)) == ["/", "/b.html"]


def test_a_cycle_is_two_nodes(export):
    pages = {"/": page("A", "b.html"), "/b.html": page("B", "/")}
    _, base, made = export(pages, "--format", "graph")
    nodes = graph(made, base)
    assert len(nodes) == 2
    assert nodes["/b.html"]["links"][0]["to"] == nodes["/"]["id"]


def test_a_child_that_is_not_there_is_an_error_node_without_content(export):
    _, base, made = export({"/": page("A", "gone.html")}, "--format", "graph")
    nodes = graph(made, base)
    gone = nodes["/gone.html"]
    assert (gone["status"], gone["hash"], gone["links"]) == ("error", None, [])
    assert (gone["error"]["kind"], gone["error"]["status"]) == ("not_found", 404)
    assert nodes["/"]["links"][0]["to"] == gone["id"]


def test_a_root_that_is_not_there_is_a_clear_error(export):
    crawled, _, made = export({}, "--format", "graph")
    assert crawled.exit_code == 1
    assert made.exit_code == 1
    assert "has no pages; its last run ended with start_failed" in made.log


TREE = {
    "/": page("A", "b.html", "c.html"),
    "/b.html": page("B", "d.html"),
    "/c.html": page("C"),
    "/d.html": page("D"),
}


def test_flattened_breadth_first_or_depth_first(export):
    assert titles(export(TREE, "--format", "flat")[2]) == ["A", "B", "C", "D"]
    assert titles(export(TREE, "--format", "flat", "--order", "depth")[2]) == ["A", "B", "D", "C"]


def test_flattened_up_to_a_budget(export):
    made = export(TREE, "--format", "flat", "--max-tokens", "100")[2]
    assert titles(made) == ["A"]
    assert "3 omitted by --max-tokens" in made.log
    none = export(TREE, "--format", "flat", "--max-tokens", "1")[2]
    assert none.exit_code == 1
    assert "scrapy export: --max-tokens 1 omits every page: the first one needs more" in none.log


def test_the_graph_as_text(export):
    _, base, made = export(
        {**TREE, "/c.html": page("C &amp; &lt;co&gt;", "gone.html")},
        "--format",
        "graph",
        "--as",
        "ascii",
    )
    assert made.stdout.splitlines() == [
        f"A <{base}/>",
        f"    B <{base}/b.html>",
        f"        D <{base}/d.html>",
        f"    C & <co> <{base}/c.html>",
        f"! {base}/gone.html (not_found 404)",
    ]


def test_the_order_of_pages_does_not_depend_on_how_many_are_read_at_once(tmp_path, monkeypatch):
    numbers = range(23)
    with open_store(None, tmp_path, "s") as store:
        store.upsert_source(SourceRecord("s", f"{SITE}0"))
        store.begin_run("crawl", {})
        for number in reversed(numbers):
            below = [f"{SITE}{2 * number + 1}#a", f"{SITE}{2 * number + 2}"]
            store.save_page(record(str(number), follow=below, depth=int(number > 0)), "new")
        for at_once in (1, 2, 200):
            monkeypatch.setattr(tree_of, "AT_ONCE", at_once)
            tree = tree_of.SiteTree(store)
            found = [
                (page.url.removeprefix(SITE), level) for _, level, page in tree.pages("breadth")
            ]
            assert found == [(str(number), (number + 1).bit_length() - 1) for number in numbers]


def test_csv_and_parquet_hold_what_jsonl_holds(export, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    crawled, base, made = export(MARKDOWN, "--format", "csv", feeds=("-O", "live.parquet"))
    rows = list(csv.DictReader(io.StringIO(made.stdout)))
    expected = {document["url"]: document for document in crawled.documents}
    assert {row["url"]: row["content"] for row in rows} == {
        url: d["content"] for url, d in expected.items()
    }
    source = base.removeprefix("http://")
    options = (
        "--format",
        "parquet",
        "-o",
        "docs.parquet",
        "-s",
        f"LLMS_DATA_DIR={tmp_path / 'store'}",
    )
    assert command("export", source, *options, cwd=tmp_path).exit_code == 0
    table = parquet.read_table(tmp_path / "docs.parquet").to_pylist()
    for row in table:
        document = expected[row["url"]]
        assert json.loads(row["links"]) == document["links"]
        assert list(row) == list(document)
        assert (row["depth"], row["status"], row["content_hash"]) == (
            document["depth"],
            document["status"],
            document["content_hash"],
        )
    live = {row["url"]: row for row in parquet.read_table(tmp_path / "live.parquet").to_pylist()}
    assert live == {row["url"]: row for row in table}


def test_a_name_that_ends_in_gz_is_compressed(export, tmp_path):
    crawled, _, _ = export(PLAIN, "-o", "docs.jsonl.gz")
    lines = gzip.decompress((tmp_path / "docs.jsonl.gz").read_bytes()).splitlines()
    assert {json.loads(line)["url"] for line in lines} == {
        document["url"] for document in crawled.documents
    }


def test_a_tree_of_the_store(export, tmp_path):
    _, _, made = export(PLAIN, "--format", "tree", "-o", "tree")
    assert "tree: 4 files written" in made.log
    assert (tmp_path / "tree/index.md").exists()


WRONG = {
    "format": (
        ("--format", "pdf"),
        "--format 'pdf': accepted are jsonl, csv, parquet, chunks, flat, tree, skill, graph",
    ),
    "form of a graph": (
        ("--format", "graph", "--as", "png"),
        "--as 'png': accepted are json, ascii",
    ),
    "order": (("--format", "flat", "--order", "x"), "--order 'x': accepted are breadth, depth"),
    "budget": (("--format", "flat", "--max-tokens", "-1"), "--max-tokens '-1'"),
    "since": (("--format", "flat", "--since", "3"), "--since is for the formats"),
    "a tree without a folder": (("--format", "tree"), "needs a folder"),
}


@pytest.mark.parametrize(("options", "said"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_one_line_and_exit_code_2(tmp_path, options, said):
    made = command("export", "any", *options, cwd=tmp_path)
    assert (made.exit_code, made.stdout) == (2, "")
    assert said in made.log
