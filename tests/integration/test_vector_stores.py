"""Vector stores that follow a source: after many nights they are what a fresh delivery makes, killed or not."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from crawling import command
from own_classes import HashedWords
from sites import html
from stores import NAME, Place, record

from llmsspider.config.settings import Config
from llmsspider.integrations.lancedb import LanceDBPipeline
from llmsspider.integrations.qdrant import QdrantPipeline
from llmsspider.integrations.vectors import VectorStorePipeline

KINDS = {"qdrant": QdrantPipeline, "lancedb": LanceDBPipeline}


@pytest.fixture(params=KINDS)
def kind(request) -> type[VectorStorePipeline]:
    return KINDS[request.param]


@pytest.fixture
def place(tmp_path):
    found = Place(None, tmp_path / "data")
    yield found
    for store in found.opened:
        store.close()


def pipeline(
    kind: type[VectorStorePipeline], embedder: type = HashedWords, **settings
) -> VectorStorePipeline:
    values = {
        "LLMS_EMBEDDER": embedder,
        "LLMS_VECTOR_STORE": "anywhere",
        "LLMS_CHUNK_SIZE": 200,
        **settings,
    }
    run = SimpleNamespace(config=Config.from_settings(values))
    return kind(SimpleNamespace(settings=values), run)


def deliver(
    place: Place, kind, target: Path, embedder: type = HashedWords, source: str = NAME, **settings
):
    made = pipeline(kind, embedder, **settings)
    made.connect(str(target))
    try:
        with place.open(source, create=False) as store:
            return made.deliver(store, source)
    finally:
        made.close()


def rows(kind, target: Path) -> dict[tuple[str, str], tuple]:
    """What a target holds, by source and chunk id: text, headings and vector."""
    made = pipeline(kind)
    made.connect(str(target))
    try:
        if kind is LanceDBPipeline:
            table = made._table(made._name)
            found = (
                [(row, row["vector"]) for row in table.search().to_list()]
                if table is not None
                else []
            )
        else:
            names = {record.name for record in made._client.get_collections().collections}
            points = (
                made._client.scroll("llmsspider", limit=10_000, with_vectors=True)[0]
                if "llmsspider" in names
                else []
            )
            found = [(point.payload, point.vector) for point in points]
    finally:
        made.close()
    return {
        (row["source"], row["id"]): (
            row["url"],
            row["text"],
            list(row["heading_path"]),
            [round(one, 5) for one in vector],
        )
        for row, vector in found
    }


def night(place: Place, chance: random.Random, number: int, source: str = NAME) -> None:
    """Some pages are new, some change, some go."""
    with place.open(source) as store:
        there = {one.record.url.rpartition("/")[2]: one.record for one in store.iter_pages()}
        store.begin_run("crawl", {})
        for path in [f"p{number}-{one}" for one in range(60 if number == 0 else 3)]:
            store.save_page(record(path, text_of(path, number)), "new")
        for path in chance.sample(sorted(there), min(len(there), 5)):
            if chance.random() < 0.3:
                store.delete_page(there[path].key, "not-found")
            else:
                store.save_page(record(path, text_of(path, number, edited="an edit ")), "changed")
        store.finish_run("finished", complete=True, why=None, counts={})


def text_of(path: str, number: int, edited: str = "") -> str:
    return "".join(
        f"# {path} {part}\n\nWords of {path}, part {part}, which has enough of them to be a chunk of its own, whatever "
        f"is beside it: {edited * (part == 2)}{number}.\n\n"
        for part in range(4)
    )


def test_after_ten_nights_it_is_what_a_fresh_delivery_makes(place, kind, tmp_path):
    chance, target = random.Random(7), tmp_path / "vectors"
    for number in range(10):
        night(place, chance, number)
        written, _ = deliver(place, kind, target)
        assert written > 0
    assert deliver(place, kind, target) == (0, 0)
    deliver(place, kind, tmp_path / "fresh")
    assert rows(kind, target) == rows(kind, tmp_path / "fresh")
    assert len(rows(kind, target)) > 200


def test_only_chunks_that_changed_are_embedded(place, kind, tmp_path):
    target = tmp_path / "vectors"
    night(place, random.Random(1), 0)
    deliver(place, kind, target)
    with place.open() as store:
        store.begin_run("crawl", {})
        store.save_page(record("p0-1", text_of("p0-1", 0, edited="an edit ")), "changed")
        store.finish_run("finished", complete=True, why=None, counts={})
    HashedWords.asked.clear()
    assert deliver(place, kind, target) == (4, 1)
    assert [text for text in HashedWords.asked if "an edit" not in text] == []
    assert len(HashedWords.asked) == 1


def test_another_model_makes_all_rows_of_the_source_anew_and_leaves_the_others(
    place, kind, tmp_path
):
    class Other(HashedWords):
        model = "other"

        def embed(self, texts):
            return [vector[::-1] for vector in super().embed(texts)]

    target = tmp_path / "vectors"
    for source in (NAME, "e.com/other"):
        night(place, random.Random(1), 0, source)
        deliver(place, kind, target, source=source)
    before = rows(kind, target)
    assert deliver(place, kind, target, Other) == (240, 0)
    after = rows(kind, target)
    assert after.keys() == before.keys()
    changed = {key for key in after if after[key] != before[key]}
    assert changed == {key for key in after if key[0] == NAME}
    assert deliver(place, kind, target, Other) == (0, 0)


def test_a_delivery_that_is_killed_is_made_good_by_the_next_crawl(serve, run_crawl, kind, tmp_path):
    pages = {
        f"/p{number}.html": html(
            f"P{number}", f"<p>{f'Words of page {number}, this one. ' * 5}</p>"
        )
        for number in range(60)
    }
    site = serve({"/": html("Home", "".join(f"<a href='{path}'>x</a>" for path in pages)), **pages})
    path = f"{kind.__module__}.{kind.__qualname__}"
    settings = {
        "ITEM_PIPELINES": json.dumps({path: 950}),
        "LLMS_VECTOR_STORE": tmp_path / "vectors",
        "LLMS_CHUNK_SIZE": 100,
        "LLMS_DATA_DIR": tmp_path / "data",
    }
    killed = run_crawl(f"{site.url}/", settings={**settings, "LLMS_EMBEDDER": "own_classes.Killed"})
    assert killed.exit_code == -signal.SIGKILL
    assert 0 < len(rows(kind, tmp_path / "vectors")) < 100
    site.pages["/p7.html"] = html("P7", "<p>Other words.</p>")
    settings["LLMS_EMBEDDER"] = "own_classes.HashedWords"
    again = run_crawl(f"{site.url}/", settings=settings)
    assert again.exit_code == 0
    assert again.stats["llms/vectors/written"] > 50
    assert "vector store: " in again.log
    source = again.documents[0]["source"]
    place = Place(None, tmp_path / "data")
    deliver(place, kind, tmp_path / "fresh", source=source, LLMS_CHUNK_SIZE=100)
    for store in place.opened:
        store.close()
    assert rows(kind, tmp_path / "vectors") == rows(kind, tmp_path / "fresh")


def test_an_export_brings_a_store_in_step(serve, run_crawl, kind, tmp_path):
    site, name = (
        serve({"/": html("Home", "<p>Words of home.</p>")}),
        {QdrantPipeline: "qdrant"}.get(kind, "lancedb"),
    )
    run_crawl(f"{site.url}/")
    source = site.url.removeprefix("http://")

    def export(to: str, *options: str) -> tuple[int, str]:
        done = command(
            "export",
            source,
            "--to",
            to,
            *options,
            "-s",
            f"LLMS_DATA_DIR={tmp_path / 'store'}",
            cwd=tmp_path,
        )
        return done.exit_code, done.log.strip().splitlines()[-1]

    embedder = ("-s", "LLMS_EMBEDDER=own_classes.HashedWords")
    assert export(f"{name}:vectors", *embedder) == (0, "1 chunks written, 0 removed")
    assert export(f"{name}:vectors", *embedder) == (0, "0 chunks written, 0 removed")
    assert {row[0] for row in rows(kind, tmp_path / "vectors").values()} == {f"{site.url}/"}
    for to, options, code, said in (
        ("faiss:vectors", embedder, 2, "--to 'faiss:vectors': qdrant://HOST:PORT"),
        (f"{name}:vectors", (), 2, "LLMS_EMBEDDER is not set"),
        (f"{name}:/proc/nowhere", embedder, 1, f"export: --to {name}:/proc/nowhere: "),
    ):
        failed = export(to, *options)
        assert failed[0] == code and said in failed[1]
    if name == "qdrant":
        assert (
            "--to qdrant://127.0.0.1:1#docs: ResponseHandlingException"
            in export("qdrant://127.0.0.1:1#docs", *embedder)[1]
        )


def test_what_is_missing_is_one_line_and_a_failed_delivery_is_told(serve, run_crawl, kind):
    site = serve({"/": html("Home", "<p>Words of home.</p>")})
    path = f"{kind.__module__}.{kind.__qualname__}"
    settings: dict = {"ITEM_PIPELINES": json.dumps({path: 950})}
    refused = run_crawl(f"{site.url}/", settings=settings)
    assert refused.exit_code == 2
    for name in ("LLMS_VECTOR_STORE", "LLMS_EMBEDDER"):
        assert f"{kind.__name__}: {name} is not set" in refused.log
    assert "Traceback" not in refused.log
    settings |= {"LLMS_VECTOR_STORE": "/proc/nowhere", "LLMS_EMBEDDER": "own_classes.HashedWords"}
    failed = run_crawl(f"{site.url}/", settings=settings)
    assert len(failed.documents) == 1
    assert failed.stats["llms/vectors/failed"] == 1
    assert "vector store: not delivered, the next crawl does it: " in failed.log
