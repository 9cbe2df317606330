"""An OpenAPI file as several documents: addresses that stay, and recrawls that change only what was edited."""

from __future__ import annotations

import copy
import json

import pytest
from site_server import Reply


def operation(tag: str, summary: str, said: str, **more: str) -> dict:
    return {"tags": [tag], "summary": summary, "responses": {"200": {"description": said}}, **more}


API = {
    "openapi": "3.1.0",
    "info": {"title": "Harbour", "version": "1"},
    "tags": [{"name": "ships", "description": "All about ships."}],
    "paths": {
        "/ships": {
            "get": operation("ships", "List ships", "ok", operationId="list"),
            "post": operation("ships", "Add a ship", "made"),
        },
        "/crew": {"get": operation("crew", "List crew", "all of them", operationId="crew")},
    },
    "components": {
        "schemas": {
            "Ship": {
                "type": "object",
                "properties": {"next": {"$ref": "#/components/schemas/Ship"}},
            }
        }
    },
}
DOCUMENTS = {
    "tag": {"?tag=ships", "?tag=crew"},
    "operation": {"?operation=list", "?operation=POST%20%2Fships", "?operation=crew"},
}


def edited():
    api = copy.deepcopy(API)
    api["info"]["version"] = "2"
    api["paths"]["/crew"]["get"]["responses"]["200"]["description"] = "some of them"
    del api["paths"]["/ships"]["post"]
    api["paths"]["/docks"] = {
        "get": {"tags": ["docks"], "operationId": "docks", "summary": "List docks"}
    }
    return api


@pytest.fixture
def site(serve):
    llms = "# Harbour\n\n## Reference\n\n- [API]({base}/api.json): all of it\n"
    made = serve(
        {"/llms.txt": llms, "/": "<main><h1>Home</h1><p>Welcome.</p></main>", "/api.json": ""}
    )
    made.etags = True
    put(made, API)
    return made


def put(site, api) -> None:
    site.pages["/api.json"] = Reply(json.dumps(api), content_type="application/json")


def parts(site, outcome) -> dict[str, dict]:
    """The documents of the file by what follows its address; the file's own by nothing."""
    return {
        path.removeprefix("/api.json"): row
        for path, row in outcome.by_path(site.url).items()
        if path.startswith("/api.json")
    }


@pytest.mark.parametrize("by", ["tag", "operation"])
def test_each_part_is_a_document_that_a_recrawl_changes_alone(site, run_crawl, by):
    settings = {"LLMS_FORMATS": f"openapi={by}"}
    outcome = run_crawl(f"{site.url}/", settings=settings)
    found = parts(site, outcome)
    assert set(found) == {"", "?part=schemas", *DOCUMENTS[by]}
    assert all(row["llms"]["section"] == "Reference" for row in found.values())
    crew = "?tag=crew" if by == "tag" else "?operation=crew"
    assert f"[List crew]({site.url}/api.json{crew}): `GET /crew`" in found[""]["content"]
    assert "all of them" in found[crew]["content"]
    assert found[crew]["fetched_url"] == f"{site.url}/api.json"
    assert found[crew]["title"] == ("Harbour: crew" if by == "tag" else "Harbour: List crew")
    assert len({row["id"] for row in found.values()}) == len(found)
    assert [path for path in site.paths() if path.startswith("/api.json")] == ["/api.json"]

    for arguments in ({}, {"mode": "refresh"}):
        site.clear()
        again = parts(site, run_crawl(f"{site.url}/", settings=settings, arguments=arguments))
        assert {row["change"] for row in again.values()} == {"unchanged"}
        assert set(again) == set(found)
        assert [(seen.path, seen.status) for seen in site.requests if "api.json" in seen.path] == [
            ("/api.json", 304)
        ]

    put(site, edited())
    changed = {
        after: row["change"]
        for after, row in parts(
            site, run_crawl(f"{site.url}/", settings=settings, arguments={"emit": "changes"})
        ).items()
    }
    if by == "tag":
        assert changed == {
            "": "changed",
            "?tag=ships": "changed",
            "?tag=crew": "changed",
            "?tag=docks": "new",
        }
    else:
        assert changed == {
            "": "changed",
            "?operation=crew": "changed",
            "?operation=POST%20%2Fships": "deleted",
            "?operation=docks": "new",
        }

    site.pages["/api.json"] = Reply("down", 503)
    kept = parts(
        site,
        run_crawl(
            f"{site.url}/", settings={**settings, "RETRY_TIMES": 0, "AUTOTHROTTLE_MAX_DELAY": 0}
        ),
    )
    assert {row["change"] for row in kept.values()} == {"unchanged"}
    assert len(kept) == len(found) if by == "operation" else len(found) + 1

    del site.pages["/api.json"]
    site.pages["/llms.txt"] = "# Harbour\n\n## Reference\n\n- [Home]({base}/): it\n"
    gone = parts(
        site, run_crawl(f"{site.url}/", settings=settings, arguments={"confirm_deletions": "true"})
    )
    assert {row["change"] for row in gone.values()} == {"deleted"}
    assert set(gone) == set(kept)


def test_with_another_setting_the_documents_are_others(site, run_crawl):
    run_crawl(f"{site.url}/", settings={"LLMS_FORMATS": "openapi=listed operation"})
    whole = parts(
        site,
        run_crawl(
            f"{site.url}/",
            settings={"LLMS_FORMATS": "openapi=file"},
            arguments={"confirm_deletions": "true"},
        ),
    )
    assert {after: row["change"] for after, row in whole.items()} == {
        "": "changed",
        **dict.fromkeys(("?part=schemas", *DOCUMENTS["operation"]), "deleted"),
    }
    assert "## ships" in whole[""]["content"]


def test_an_api_of_one_tag_is_one_document(site, run_crawl):
    put(site, {**API, "paths": {"/ships": API["paths"]["/ships"]}})
    assert set(parts(site, run_crawl(f"{site.url}/"))) == {""}
