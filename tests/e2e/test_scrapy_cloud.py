"""The project as jobs of Scrapy Cloud, by the platform's own deploy tool and entry point."""

from __future__ import annotations

import hashlib
import io
import logging
import re
import sqlite3
import zipfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scrapy_cloud import (  # fixtures too
    ROOT,
    CloudJob,
    ScrapyCloud,
    Upload,
    cloud_upload,  # noqa: F401
    dotscrapy_bucket,
    dotscrapy_settings,
    scrapy_cloud,  # noqa: F401
    write_aws_config,
)

pytestmark = pytest.mark.scrapy_cloud

LINES = [f"Line {number}: " + "größer, schöner; 雨が降る " * 20 for number in range(1200)]
PAGES = {
    "/llms.txt": "# Example\n\n> An example.\n\n## Docs\n\n- [Guide]({base}/guide.html.md): how to begin\n",
    "/": "<main><h1>Home</h1><p>Welcome to it.</p></main><a href='/old.html'>Old</a> <a href='/big.md'>Big</a>",
    "/guide.html": "<html><body><main><h1>Guide</h1><p>The guide as HTML.</p></main></body></html>",
    "/guide.html.md": "# Guide\n\nThe guide as *Markdown*.\n",
    "/old.html": "<html><body><main><h1>Old</h1><p>Soon gone.</p></main></body></html>",
    "/big.md": "# Big\n\n" + "\n\n".join(LINES) + "\n\n[home]({base}/)\n",
}
ONE_MIB = 1024 * 1024
LEFT_OUT = {
    "scrapy-playwright", "playwright", "pyarrow", "mcp", "starlette", "uvicorn", "numpy",
    "pdf-oxide", "mammoth", "kreuzberg", "http-message-signatures", "http-sf",
}  # fmt: skip
"""What only extras need that jobs do without: browser, Parquet, workers, the MCP server, embeddings, PDF, signing."""


def pins(text: str) -> set[str]:
    return {
        line.partition(" #")[0] for line in text.splitlines() if line and not line.startswith("#")
    }


def test_shub_deploys_the_repository_as_it_is(cloud_upload: Upload) -> None:  # noqa: F811
    assert cloud_upload.fields["path"] == "/scrapyd/addversion.json"
    assert cloud_upload.fields["project"] == "12345"
    assert re.fullmatch(r"scrapy:\d+\.\d+-\d{8}", cloud_upload.fields["stack"])
    assert set(cloud_upload.files) == {"egg", "requirements"}
    names = zipfile.ZipFile(io.BytesIO(cloud_upload.files["egg"])).namelist()
    assert {
        "llmsspider/settings.py",
        "llmsspider/ui/assets/ui.css",
        "pipelines_config/rag.toml",
    } <= set(names)
    assert {f"{name}c" for name in names if name.endswith(".py")} <= set(names), (
        "bytecode where it is looked for"
    )
    assert {name.partition("/")[0] for name in names} == {
        "EGG-INFO",
        "llmsspider",
        "pipelines_config",
    }


def test_its_requirements_are_the_projects_own(cloud_upload: Upload) -> None:  # noqa: F811
    uploaded = cloud_upload.files["requirements"].decode()
    assert uploaded == (ROOT / "locks/requirements-cloud.lock").read_text(encoding="utf-8")
    deployed = pins((ROOT / "locks/requirements-cloud.txt").read_text(encoding="utf-8"))
    ours = pins((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    dropped = {line.partition("==")[0] for line in ours - deployed}
    added = {line.partition("==")[0] for line in deployed - ours}
    assert dropped <= LEFT_OUT, "extras that jobs do without"
    assert not LEFT_OUT & {line.partition("==")[0] for line in uploaded.splitlines()}
    assert added == {"scrapinghub-entrypoint-scrapy", "scrapy-dotpersistence", "awscli"}
    tested = pins((ROOT / "locks/requirements-dev.txt").read_text(encoding="utf-8"))
    assert deployed - ours <= tested, "what is deployed is what is tested"


def test_the_platform_learns_the_spiders_and_their_typed_parameters(
    scrapy_cloud: ScrapyCloud,  # noqa: F811
) -> None:
    info = scrapy_cloud.image_info()
    assert (info["project_type"], info["spiders"]) == ("scrapy", ["docs", "page"])
    schema = info["metadata"]["docs"]["param_schema"]["properties"]
    assert schema["max_pages"]["type"] == "integer"
    assert schema["max_pages"]["default"] == 10_000
    assert schema["emit"]["enum"] == ["all", "changes"]
    assert schema["full"]["type"] == "boolean"
    assert "the complete current set" in schema["emit"]["description"]
    assert "url" in info["metadata"]["page"]["param_schema"]["required"]


def test_jobs_deliver_items_and_know_the_job_before(
    scrapy_cloud: ScrapyCloud,  # noqa: F811
    serve,
    tmp_path: Path,
) -> None:
    site = serve(dict(PAGES))
    with dotscrapy_bucket(scrapy_cloud.folder) as (client, platform):
        first = scrapy_cloud.run(
            {"url": f"{site.url}/", "source": "example"},
            {"LLMS_CONVERT_WORKERS": 1},
            platform=platform,
        )

        assert (first.exit_code, first.outcome) == (0, "finished"), first.log + first.stderr
        assert first.logged(logging.ERROR) == []
        assert first.logged(logging.WARNING) == []
        by_page = defaultdict(list)
        for item in first.items:
            assert item["_type"] == "Document"
            assert len(str(item)) < ONE_MIB
            by_page[item["url"].removeprefix(site.url)].append(item)
        assert set(by_page) == {"/", "/guide.html", "/old.html", "/big.md"}
        assert by_page["/guide.html"][0]["content"] == PAGES["/guide.html.md"]
        assert "part" not in by_page["/guide.html"][0]
        _assert_whole(by_page["/big.md"], site.url)

        assert first.stats["finish_reason"] == "finished"
        assert first.stats["llms/documents"] == 4
        assert first.stats["llms/cloud/split"] == 1
        assert first.stats["scheduler/enqueued/disk"] >= 4, "the platform's JOBDIR is used"
        extensions = first.log.partition("Enabled extensions:")[2].partition("]")[0]
        assert "telnet" not in extensions
        assert "LivePage" not in extensions
        assert "documents: 4 (" in first.log
        assert "no output is configured" not in first.log

        uploaded = [
            entry["Key"] for entry in client.list_objects_v2(Bucket="scrapy-cloud")["Contents"]
        ]
        assert [key.rpartition("/")[0] for key in uploaded] == [
            "org/12345/dot-scrapy/docs/llmsspider"
        ]
        assert re.search(r"/example-\w+\.sqlite$", uploaded[0]), (
            "closed: no write-ahead log beside it"
        )
        store = tmp_path / "store.sqlite"
        client.download_file("scrapy-cloud", uploaded[0], str(store))
        with sqlite3.connect(store) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.close()

        site.pages["/guide.html.md"] = "# Guide\n\nThe guide, second edition.\n"
        site.pages["/"] = site.pages["/"].replace("<a href='/old.html'>Old</a>", "")
        del site.pages["/old.html"]
        second = scrapy_cloud.run({"source": "example", "emit": "changes"}, platform=platform)

        assert (second.exit_code, second.outcome) == (0, "finished"), second.log + second.stderr
        assert second.logged(logging.ERROR) == []
        changes = {item["url"].removeprefix(site.url): item["change"] for item in second.items}
        assert changes == {"/guide.html": "changed", "/old.html": "deleted"} | (
            {"/": "changed"} if "/" in changes else {}
        )


@pytest.mark.postgresql
def test_jobs_of_several_sources_side_by_side_keep_their_state_in_postgresql(
    scrapy_cloud: ScrapyCloud,  # noqa: F811
    serve,
    postgresql_url: str,
) -> None:
    sites = {name: serve(dict(PAGES)) for name in ("one", "two")}
    platform = {"project_settings": {"LLMS_STORE_URL": postgresql_url}}

    def job(name: str, **arguments: str) -> CloudJob:
        done = scrapy_cloud.run({"source": name, **arguments}, platform=platform)
        assert (done.exit_code, done.outcome) == (0, "finished"), done.log + done.stderr
        assert done.logged(logging.WARNING) == done.logged(logging.ERROR) == []
        return done

    with ThreadPoolExecutor() as pool:
        first = pool.map(lambda name: job(name, url=f"{sites[name].url}/"), sites)
        assert [len({item["url"] for item in done.items}) for done in first] == [4, 4]
        del sites["one"].pages["/guide.html.md"], sites["one"].pages["/guide.html"]
        sites["one"].pages["/llms.txt"] = "# Example\n\n## Docs\n\n- [Big]({base}/big.md)\n"
        second = list(pool.map(lambda name: job(name, emit="changes"), sites))
    assert {item["url"]: item["change"] for item in second[0].items} == {
        f"{sites['one'].url}/guide.html": "deleted"
    }
    assert second[1].items == []


def test_extensions_of_a_project_around_ours_leave_a_document_one_item(
    scrapy_cloud: ScrapyCloud,  # noqa: F811
    serve,
    tmp_path: Path,
) -> None:
    """`EXTENSIONS` of a user's settings replaces whatever stood there."""
    (tmp_path / "their_settings.py").write_text(
        "from llmsspider.settings import *\nEXTENSIONS = {'scrapy.extensions.logcount.LogCount': 5}\n"
    )
    job = scrapy_cloud.run(
        {"url": f"{serve(dict(PAGES)).url}/guide.html", "max_pages": "1"},
        SCRAPY_SETTINGS_MODULE="their_settings",
        PYTHONPATH=f"{scrapy_cloud.egg}:{tmp_path}",
    )
    assert (job.exit_code, job.outcome) == (0, "finished"), job.log + job.stderr
    assert [item["_type"] for item in job.items] == ["Document"]


def _assert_whole(parts: list[dict], base: str) -> None:
    """The items of one document: numbered, and joined the document."""
    assert len(parts) > 1
    assert [(part["part"], part["parts"]) for part in parts] == [
        (number, len(parts)) for number in range(1, len(parts) + 1)
    ]
    content = "".join(part["content"] for part in parts)
    assert hashlib.sha256(content.encode()).hexdigest() == parts[0]["content_hash"]
    assert all(line.strip() in content for line in LINES)
    links = [link for part in parts for link in part["links"]]
    assert links == [{"text": "home", "url": f"{base}/"}]


def test_a_store_that_cannot_be_loaded_is_not_replaced_by_an_empty_one(
    scrapy_cloud: ScrapyCloud,  # noqa: F811
    serve,
) -> None:
    site = serve(dict(PAGES))
    write_aws_config(scrapy_cloud.folder, "http://127.0.0.1:9")  # nobody listens there
    job = scrapy_cloud.run({"url": f"{site.url}/"}, platform=dotscrapy_settings())
    assert job.exit_code == 2, job.log
    assert job.outcome is None
    (said,) = job.logged(logging.ERROR)
    assert "DotScrapy persistence could not load the page stores of the last job: " in said
    assert "127.0.0.1:9" in said
    assert site.paths() == []
    assert job.items == []


def test_a_start_that_fails_is_the_outcome(scrapy_cloud: ScrapyCloud, serve) -> None:  # noqa: F811
    job = scrapy_cloud.run({"url": f"{serve({}).url}/gone.html"})
    assert (job.exit_code, job.outcome) == (1, "start_failed"), job.log
    assert job.items == []
    assert any("start_failed: nothing was obtained" in said for said in job.logged(logging.ERROR))
    (warning,) = [
        said for said in job.logged(logging.WARNING) if "every job is a first crawl" in said
    ]
    assert "LLMS_STORE_URL" in warning


def test_wrong_arguments_are_said_as_errors(scrapy_cloud: ScrapyCloud, serve) -> None:  # noqa: F811
    site = serve(dict(PAGES))
    job = scrapy_cloud.run({"url": f"{site.url}/", "max_pages": "many"})
    assert job.exit_code == 2
    assert job.outcome is None
    assert any("argument max_pages='many': " in said for said in job.logged(logging.ERROR)), job.log
    assert site.paths() == []


def test_the_memory_limit_of_a_job_ends_it_cleanly(scrapy_cloud: ScrapyCloud, serve) -> None:  # noqa: F811
    job = scrapy_cloud.run({"url": f"{serve(dict(PAGES)).url}/"}, SHUB_JOB_MEMORY_LIMIT="40")
    assert job.outcome == "memusage_exceeded", job.log
    assert "incomplete (memusage_exceeded)" in job.log
    assert "llmsspider.extensions.job_memory.JobMemory" in job.log
