"""OpenAPI files as Markdown, and the pages that name them."""

from __future__ import annotations

import json

import pytest
import yaml

from llmsspider.content.extraction import read_metadata
from llmsspider.content.openapi import NotOpenApiError, OpenApiHandler
from llmsspider.errors import TooLargePageError

API = {
    "openapi": "3.0.3",
    "info": {
        "title": "Harbour",
        "version": "1.2.0",
        "description": "# Start here\n\nBooks **berths**.\n\n```\n# no heading\n```",
    },
    "servers": [{"url": "https://api.harbour.example/v1", "description": "production"}],
    "tags": [{"name": "ships", "description": "All about ships."}],
    "paths": {
        "/ships": {
            "parameters": [{"$ref": "#/components/parameters/Limit"}],
            "get": {
                "tags": ["ships"],
                "summary": "List ships",
                "description": "Ships in port.",
                "responses": {
                    "200": {
                        "description": "A page of ships",
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "array",
                                    "items": {"$ref": "#/components/schemas/Ship"},
                                },
                                "example": [{"id": 1, "name": "Aurora"}],
                            }
                        },
                    }
                },
            },
            "post": {
                "tags": ["ships"],
                "deprecated": True,
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Ship"}}
                    }
                },
                "responses": {"201": {"description": "Created"}},
            },
        },
        "/health": {"get": {"summary": "Health", "responses": {}}},
    },
    "components": {
        "parameters": {
            "Limit": {
                "name": "limit",
                "in": "query",
                "description": "How many",
                "schema": {"type": "integer", "default": 20, "enum": [10, 20]},
            }
        },
        "schemas": {
            "Named": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}},
            },
            "Ship": {
                "allOf": [
                    {"$ref": "#/components/schemas/Named"},
                    {"$ref": "#/components/schemas/Ship"},
                ],
                "properties": {
                    "id": {
                        "type": "integer",
                        "format": "int64",
                        "description": "Number | register",
                    },
                    "sister": {"$ref": "#/components/schemas/Ship"},
                    "berth": {
                        "type": "object",
                        "properties": {"pier": {"type": "string", "nullable": True}},
                    },
                },
            },
        },
    },
}

HARBOUR = """\
# Harbour

Version 1.2.0

## Start here

Books **berths**.

```
# no heading
```

## Servers

- `https://api.harbour.example/v1`: production

## ships

All about ships.

### List ships

`GET /ships`

Ships in port.

#### Parameters

| Name | In | Type | Required | Description |
| --- | --- | --- | --- | --- |
| `limit` | query | integer | no | How many. One of `10`, `20`. Default: `20`. |

#### Responses

**200** A page of ships

`application/json`: array of Ship

| Property | Type | Required | Description |
| --- | --- | --- | --- |
| `name` | string | yes |  |
| `id` | integer (int64) | no | Number \\| register |
| `sister` | Ship | no |  |
| `berth` | object | no |  |
| `berth.pier` | string or null | no |  |

```json
[
  {
    "id": 1,
    "name": "Aurora"
  }
]
```

### POST /ships

`POST /ships`

**Deprecated**
"""


def document(api: object) -> str:
    return OpenApiHandler().read(
        json.dumps(api).encode(), "https://e.com/api.json", "application/json", None
    )


def test_a_description_in_json_and_yaml():
    """Schemas that refer to themselves end; those made of others have all their properties."""
    assert document(API).startswith(HARBOUR)
    assert (
        "\n## Other operations\n\n### Health\n\n`GET /health`\n\n## Schemas\n\n### Named\n"
        in document(API)
    )
    as_yaml = yaml.safe_dump(API, sort_keys=False).encode()
    assert OpenApiHandler().read(as_yaml, "", "", None) == document(API)


def test_swagger_2():
    text = document(
        {
            "swagger": "2.0",
            "info": {"title": "Old"},
            "host": "api.old.example",
            "basePath": "/v2",
            "paths": {
                "/pets": {
                    "post": {
                        "parameters": [
                            {"name": "pet", "in": "body", "schema": {"$ref": "#/definitions/Pet"}},
                            {"name": "dry", "in": "query", "type": "boolean", "required": True},
                        ],
                        "responses": {
                            "200": {
                                "description": "Stored",
                                "schema": {"$ref": "#/definitions/Pet"},
                                "examples": {"application/json": {"name": "Rex"}},
                            }
                        },
                    }
                }
            },
            "definitions": {"Pet": {"properties": {"name": {"type": "string"}}}},
        }
    )
    assert "- `https://api.old.example/v2`" in text
    assert "| `dry` | query | boolean | yes |  |" in text
    assert "#### Request body\n\nType: Pet\n\n| Property |" in text
    assert "`application/json`: Pet\n\n| Property | Type | Required | Description |" in text
    assert '```json\n{\n  "name": "Rex"\n}\n```' in text


def test_aliases_do_not_grow():
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 30))
    media = "{content: {application/json: {example: *l29}}}"
    paths = f"{{/x: {{get: {{responses: {{'200': {media}}}}}}}}}"
    text = f"openapi: 3.1.0\ninfo: {{title: Bomb}}\nl0: &l0 x\n{levels}\npaths: {paths}"
    made = OpenApiHandler().read(text.encode(), "", "application/yaml", None)
    assert made.startswith("# Bomb")
    assert len(made) < 1_000_000


def test_a_document_many_times_as_long_as_its_file_is_refused():
    wide = {"properties": {f"p{n}": {"type": "string"} for n in range(300)}}
    reference = {"schema": {"$ref": "#/components/schemas/Wide"}}
    operation = {"responses": {"200": {"content": {"a/b": reference}}}}
    paths = {f"/{n}": {"get": operation} for n in range(400)}
    with pytest.raises(TooLargePageError):
        document({"openapi": "3.1.0", "paths": paths, "components": {"schemas": {"Wide": wide}}})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"openapi": "3.0.0"}',
        b'{"paths": {}}',
        b"<html>",
        b"a: b: c",
        b"[" * 100_000,
        b"\xff\xfe",
    ],
    ids=repr,
)
def test_what_describes_no_api(body):
    with pytest.raises(NotOpenApiError):
        OpenApiHandler().read(body[:200_000], "", "", None)


@pytest.mark.parametrize(
    ("api", "said"),
    [
        ({"openapi": 3, "paths": {"/x": None, "/y": {"get": [], "post": {}}}}, "`POST /y`"),
        (
            {
                "openapi": 3,
                "info": [],
                "paths": {"/x": {"get": {"tags": [1], "parameters": [1, {"$ref": "#/no"}]}}},
            },
            "`GET /x`",
        ),
        (
            {
                "openapi": 3,
                "paths": {"/x": {"get": {"responses": {"200": {"$ref": "other.json#/x"}}}}},
            },
            "**200**",
        ),
        ({"openapi": 3, "paths": {"/x": {"$ref": "#/paths/~1x"}}}, "# API"),
    ],
    ids=["odd paths", "odd parts", "another file", "itself"],
)
def test_odd_descriptions(api, said):
    assert said in document(api)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<redoc spec-url='api.json'></redoc>", ["https://e.com/docs/api.json"]),
        ("<rapi-doc spec-url='/api.yaml'></rapi-doc>", ["https://e.com/api.yaml"]),
        (
            "<elements-api apiDescriptionUrl='api.json' router='hash'/>",
            ["https://e.com/docs/api.json"],
        ),
        (
            "<script id='api-reference' data-url='api.json'></script>",
            ["https://e.com/docs/api.json"],
        ),
        (
            "<script>onload = () => { SwaggerUIBundle({dom_id: '#x', url: \"a.json\"}) }</script>",
            ["https://e.com/docs/a.json"],
        ),
        (
            "<script>SwaggerUIBundle({urls: [{url: 'a.json'}, {\"url\": \"b.json\"}], baseurl: 'c'})</script>",
            ["https://e.com/docs/a.json", "https://e.com/docs/b.json"],
        ),
        ("<script>Redoc.init('api.json', {}, x)</script>", ["https://e.com/docs/api.json"]),
        ("<div id='swagger-ui'></div><script src='swagger-initializer.js'></script>", []),
        (
            "<script>Scalar.createApiReference('#app', {url: `/api.json`})</script>",
            ["https://e.com/api.json"],
        ),
        (
            '<script id=\'api-reference\' data-configuration=\'{"spec": {"url": "a.yaml"}}\'></script>',
            ["https://e.com/docs/a.yaml"],
        ),
        ("<p>We use swagger and openapi.</p>", None),
        (
            "<pre>&lt;redoc spec-url='api.json'&gt;</pre><code>SwaggerUIBundle({url: 'x'})</code>",
            None,
        ),
        ("<redoc spec-url='javascript:x'></redoc>", []),
    ],
)
def test_the_files_a_page_names(html, expected):
    page = read_metadata(
        f"<html><body>{html}</body></html>".encode(), "https://e.com/docs/", "utf-8"
    )
    assert page.meta.api_files == expected


def test_the_scripts_in_which_an_api_may_be_named():
    """Those that say what is drawn, not the program that draws; only where the page names no file itself."""
    scripts = (
        "swagger-ui-bundle.js",
        "swagger-initializer.js?v=1",
        "app.js",
        "redoc.standalone.js",
        "spec.js",
    )
    tags = "".join(f"<script src='{name}'></script>" for name in scripts)
    config = "<script>SwaggerUIBundle({configUrl: '/v3/api-docs/config'})</script>"
    page = read_metadata(
        f"<div id='swagger-ui'></div>{config}{tags}".encode(), "https://e.com/docs/", "utf-8"
    )
    assert page.meta.api_scripts == [
        "https://e.com/v3/api-docs/config",
        "https://e.com/docs/swagger-initializer.js?v=1",
        "https://e.com/docs/spec.js",
    ]
    page = read_metadata(
        f"<redoc spec-url='a.json'></redoc>{tags}".encode(), "https://e.com/docs/", "utf-8"
    )
    assert page.meta.api_scripts == []


HELD = '{"openapi": "3.0.0", "info": {"title": "Harbour"}, "paths": {}}'


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(
            f"<script>SwaggerUIBundle({{ spec: {HELD}, dom_id: '#x' }})</script>",
            [HELD],
            id="Swagger UI",
        ),
        pytest.param(
            f"<script>Redoc.init({HELD}, {{}}, document.body)</script>", [HELD], id="Redoc"
        ),
        pytest.param(
            f'<script>o = {{"swaggerDoc": {HELD}}}; SwaggerUIBundle(o)</script>',
            [HELD],
            id="Express",
        ),
        pytest.param(
            f"<script id='api-reference' type='application/json'>{HELD}</script>",
            [HELD],
            id="Scalar",
        ),
        pytest.param(
            f"<div id='redoc'></div><script>const t = {{}}; window.spec = {HELD};\nRedoc.init(spec, t)</script>",
            [HELD],
            id="in a variable",
        ),
        pytest.param(
            f"<elements-api apiDescriptionDocument='{HELD}'></elements-api>", [HELD], id="Elements"
        ),
        pytest.param(
            "<redoc></redoc><script>spec = {swagger: '2.0', paths: {</script>",
            [],
            id="without an end",
        ),
        pytest.param('<script>Redoc.init({"theme": {}})</script>', [], id="no API"),
        pytest.param(
            "<script>SwaggerUIBundle({ spec: " + '{"openapi":[' * 50_000 + "})</script>",
            [],
            id="deep",
        ),
        pytest.param(
            f"<redoc></redoc><script>window['spec'] = {HELD}</script>", [HELD], id="of the window"
        ),
        pytest.param(
            f"<script>options = {{'swaggerDoc': {HELD}, 'plugin': f => /'/}}; SwaggerUIBundle(options)</script>",
            [HELD],
            id="in what cannot be read",
        ),
        pytest.param(f"<pre>SwaggerUIBundle(spec: {HELD})</pre>", [], id="text"),
    ],
)
def test_apis_that_scripts_hold(script, expected):
    page = read_metadata(f"<html><body>{script}</body></html>".encode(), "https://e.org/api/", None)

    assert page.meta.held_apis == expected
