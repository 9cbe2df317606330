"""The docs say what the code does: nothing is missing, nothing is made up.

`PYTHONPATH=.:tests/support python tests/test_docs.py` writes the JSON Schemas and the tables of settings and arguments again.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import importlib
import json
import pkgutil
import re
import sys
import tomllib
from collections.abc import Container
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from private_names import PRIVATE_NAMES
from pydantic import BaseModel, TypeAdapter
from scrapy.commands import ScrapyCommand
from scrapy.settings import Settings
from scrapy_spider_metadata import Args
from scrapy_spider_metadata._utils import get_generic_param

from llmsspider import commands, settings, spiders
from llmsspider.config.arguments import CommonArguments
from llmsspider.config.settings import DEFAULTS, Config
from llmsspider.crawler.plan import Plan
from llmsspider.errors import ErrorKind
from llmsspider.items import Change, DiscoveredBy, Document, Origin
from llmsspider.lint.findings import RULES
from llmsspider.output.report import RunData
from llmsspider.output.status import SourceStatus
from llmsspider.store.store import METHODS
from llmsspider.web import stats
from llmsspider.web.stats import BlockReason, FilterReason, GoneReason

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = {page.name: page for page in sorted(DOCS.rglob("*.md"))}
"""The pages by name, which is enough: test_a_page_has_a_name_of_its_own."""
SCHEMAS = DOCS / "reference"
SCHEMA = SCHEMAS / "document.schema.json"

LONGEST = 160
"""Characters of a line of prose."""
SOURCES = sorted((ROOT / "llmsspider").rglob("*.py"))
REGISTRIES = {"stats.py", "errors.py", "items.py"}


def text_of(name: str) -> str:
    return PAGES[name].read_text(encoding="utf-8")


@cache
def strings(path: Path) -> set[str]:
    """The string constants of a module."""
    found = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {
        node.value
        for node in found
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def sections(text: str, mark: str = "## ") -> dict[str, str]:
    """The text below each heading, by heading."""
    parts = re.split(rf"^{re.escape(mark)}(.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text: str) -> list[list[str]]:
    """The cells of a table's body, without backticks around the first."""
    lines = re.findall(r"^\| (.+) \|$", text, flags=re.MULTILINE)
    return [
        [cell.strip() for cell in line.split(" | ")] for line in lines if not line.startswith("---")
    ][1:]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def assert_same(documented: Any, existing: Any, page: str, what: str) -> None:
    """Compare two collections of names."""
    missing, made_up = (
        sorted(set(existing) - set(documented)),
        sorted(set(documented) - set(existing)),
    )
    assert not missing, f"{page} does not mention {what}: {', '.join(missing)}"
    assert not made_up, f"{page} mentions {what} that the code does not have: {', '.join(made_up)}"


# --- settings ---


def test_every_setting_is_in_the_model_and_explained_only_if_it_exists() -> None:
    read = {
        text for path in SOURCES for text in strings(path) if re.fullmatch(r"LLMS_[A-Z0-9_]+", text)
    }
    assert DEFAULTS.keys() >= read
    assert {field.alias for field in Config.model_fields.values() if field.alias} == set(DEFAULTS)
    assert sections(text_of("settings.md"), "### ").keys() <= DEFAULTS.keys()
    assert DEFAULTS.items() <= vars(settings).items()


def shown_default(value: object) -> str:
    return "not set" if value is None else f"`{value!r}`"


def settings_table() -> str:
    """The table of docs/reference/settings.md, as the model of the settings has it; those that are explained below it lead there."""
    explained = sections(text_of("settings.md"), "### ")
    rows = [
        f"| {f'[`{name}`](#{name.lower()})' if name in explained else f'`{name}`'} | {shown_default(field.default)} "
        f"| {(field.json_schema_extra or {}).get('unit', '')} | {field.description} |"
        for field in Config.model_fields.values()
        if (name := str(field.alias or ""))
    ]
    return "\n".join(["| setting | default | unit | meaning |", "|---|---|---|---|", *rows])


def test_the_table_of_settings_is_that_of_the_model() -> None:
    assert settings_table() in text_of("settings.md"), "run: python tests/test_docs.py"


# --- arguments ---


def argument_models() -> dict[str, type[BaseModel]]:
    """The argument model of each spider."""
    modules = [
        importlib.import_module(f"{spiders.__name__}.{module.name}")
        for module in pkgutil.iter_modules(spiders.__path__)
    ]
    found = {}
    for module in modules:
        for value in vars(module).values():
            if (
                isinstance(value, type)
                and issubclass(value, Args)
                and value.__module__ == module.__name__
            ):
                found[value.name] = get_generic_param(value, Args)
    return found


def test_every_spider_is_documented() -> None:
    headings = {heading.removeprefix("Spider ") for heading in sections(text_of("arguments.md"))}
    assert_same(headings, argument_models(), "arguments.md", "the spiders")


def arguments_table(model: type[BaseModel], explained: Container[str]) -> str:
    """The table of a spider's arguments, as their model has it; those that are explained below it lead there."""
    fields = sorted(
        model.model_fields.items(), key=lambda pair: pair[0] in CommonArguments.model_fields
    )
    rows = [
        f"| {f'[`{name}`](#{name})' if name in explained else f'`{name}`'} | {_accepted(field)} | {_default(field)} "
        f"| {_meaning(field)} |"
        for name, field in fields
    ]
    return "\n".join(["| argument | accepted | default | meaning |", "|---|---|---|---|", *rows])


@pytest.mark.parametrize("spider", argument_models())
def test_the_table_of_arguments_is_that_of_the_model(spider: str) -> None:
    model, text = argument_models()[spider], text_of("arguments.md")
    explained = sections(text, "### ")
    assert set(explained) <= {
        name for model in argument_models().values() for name in model.model_fields
    }
    table = arguments_table(model, explained)
    assert table in sections(text)[f"Spider {spider}"], "run: python tests/test_docs.py"
    assert all(str(field.description).endswith(".") for field in model.model_fields.values())


def _accepted(field: Any) -> str:
    choices = _choices(field.annotation)
    return (
        (field.json_schema_extra or {})["accepted"]
        if choices is None
        else ", ".join(f"`{one}`" for one in choices)
    )


def _meaning(field: Any) -> str:
    """The description, which is plain text, with choices and globs as code."""
    choices = "|".join(_choices(field.annotation) or ["/[^ ;]*[*]+"])
    return re.sub(rf"(?<!\w)({choices})(?=[:;])", r"`\1`", field.description)


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    if field.default in (None, (), ""):
        return "none"
    return f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default}`"


def _choices(annotation: Any) -> list[str] | None:
    if annotation is bool:
        return ["true", "false"]
    if get_origin(annotation) is Literal:
        return [choice for choice in get_args(annotation) if choice]
    return None


# --- commands ---


def command_of(name: str) -> ScrapyCommand:
    command = importlib.import_module(f"{commands.__name__}.{name}").Command()
    command.settings = Settings()
    return command


def command_names() -> set[str]:
    names = {f"llmsspider {module.name}" for module in pkgutil.iter_modules(commands.__path__)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return names | set(project.get("scripts", {}))


def documented_commands() -> dict[str, str]:
    """The section of each command, by its first two words (`llmsspider export`)."""
    found = sections(text_of("commands.md"))
    return {" ".join(heading.split()[:2]): text for heading, text in found.items()}


def test_every_command_is_documented() -> None:
    assert_same(documented_commands(), command_names(), "commands.md", "the commands")


@pytest.mark.parametrize(
    "name", [module.name for module in pkgutil.iter_modules(commands.__path__)]
)
def test_every_option_of_a_command_is_documented(name: str) -> None:
    command = command_of(name)
    inherited = next(
        base for base in type(command).__mro__ if not base.__module__.startswith("llmsspider.")
    )
    own = _options(command.add_options) - _options(inherited.add_options.__get__(command))
    text = documented_commands()[f"llmsspider {name}"]
    documented = {
        option for token in quoted(text) for option in re.findall(r"(?<![\w-])--[a-z-]+", token)
    }
    assert_same(
        documented,
        {o for o in own if o.startswith("--")},
        "commands.md",
        f"the options of llmsspider {name}",
    )


def _options(add_options: Any) -> set[str]:
    parser = argparse.ArgumentParser(add_help=False, conflict_handler="resolve")
    add_options(parser)
    return {option for action in parser._actions for option in action.option_strings}


# --- documents ---


def test_every_field_of_a_document_is_documented_in_its_order() -> None:
    documented = [
        quoted(cells[0])[0] for cells in rows(text_of("documents.md").partition("\n## ")[0])
    ]
    assert documented == [field.name for field in dataclasses.fields(Document)]


@pytest.mark.parametrize(
    ("field", "values"),
    [("change", Change), ("discovered_by", DiscoveredBy)],
    ids=["change", "discovered_by"],
)
def test_every_value_of_a_field_is_documented(field: str, values: Any) -> None:
    table = rows(text_of("documents.md").partition("\n## ")[0])
    meaning = next(cells[2] for cells in table if quoted(cells[0]) == [field])
    assert_same(quoted(meaning), get_args(values), "documents.md", f"the values of {field}")


@pytest.mark.parametrize(
    ("heading", "values"), [("Origins", Origin), ("Errors", ErrorKind)], ids=["origin", "kind"]
)
def test_every_origin_and_error_kind_is_documented(heading: str, values: Any) -> None:
    documented = [quoted(cells[0])[0] for cells in rows(sections(text_of("documents.md"))[heading])]
    assert_same(documented, get_args(values), "documents.md", heading)


OUTPUTS = {"plan": Plan, "run": RunData, "status": SourceStatus}
"""By the name of its schema: `scrapy plan --json`, `run.json` and `/status.json`, `scrapy status --json`."""


def output_schema(value: type) -> dict[str, Any]:
    """The JSON Schema of a dataclass; descriptions are the docstrings."""
    schema = TypeAdapter(value).json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def document_schema() -> dict[str, Any]:
    """The JSON Schema of a document, as feeds write it; the meanings are those of docs/reference/documents.md."""
    adapter = TypeAdapter(Document)
    schema = adapter.json_schema(mode="serialization")
    meanings = {
        quoted(cells[0])[0]: cells[2]
        for cells in rows(text_of("documents.md").partition("\n## ")[0])
    }
    for name, definition in schema["properties"].items():
        definition.pop("default", None)
        definition["description"] = meanings[name].replace("`", "")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "description": "One page.",
    }
    return {**head, "required": list(schema["properties"]), "additionalProperties": True}


def test_the_json_schema_is_that_of_a_document() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == document_schema(), (
        "run: python tests/test_docs.py"
    )


# --- stats and reasons ---


def documented_stats() -> list[str]:
    """The stats named on the page, without `llms/`."""
    return re.findall(rf"`{stats.PREFIX}([\w/-]+)`", text_of("stats.md"))


def test_a_field_of_a_document_is_in_the_files_that_the_docs_list() -> None:
    """`markdown_tokens` stands for all fields that are read from a response, stored and exported."""
    listed = set(
        re.findall(r"^\d\. `llmsspider/([\w/.]+)`", text_of("extending.md"), flags=re.MULTILINE)
    )
    naming = {
        path.relative_to(ROOT / "llmsspider").as_posix()
        for path in SOURCES
        if "markdown_tokens" in path.read_text(encoding="utf-8")
    }
    assert naming == listed
    assert len(listed) == 4


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_json_schema_of_an_output_is_that_of_its_value(name: str) -> None:
    stored = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    assert stored == output_schema(OUTPUTS[name]), "write it again with `python tests/test_docs.py`"


def test_every_stat_and_reason_is_documented() -> None:
    families = {
        f"{family}/{value}" for family, values in stats.FAMILIES.items() for value in values
    }
    existing = {*get_args(stats.Stat), *families, "backoff/STATUS", "deleted/REASON"}
    assert_same(documented_stats(), existing, "stats.md", "the stats")


@pytest.mark.parametrize(
    "registry", [stats.Stat, FilterReason, BlockReason, GoneReason, ErrorKind, Origin]
)
def test_nothing_registered_is_unused(registry: Any) -> None:
    used = {text for path in SOURCES if path.name not in REGISTRIES for text in strings(path)}
    assert set(get_args(registry)) - used == set()


def test_stats_are_counted_by_their_registry_only() -> None:
    elsewhere = {
        path.name: text
        for path in SOURCES
        if path.name not in REGISTRIES
        for text in strings(path)
        if text.startswith(stats.PREFIX) and " " not in text
    }
    assert elsewhere == {}


# --- lint ---


def test_every_rule_of_the_lint_is_explained_with_its_level() -> None:
    explained = sections(sections(text_of("lint.md"))["Rules"], "### ")
    assert_same(explained, RULES, "lint.md", "the rules")
    for rule, (level, _) in RULES.items():
        article = "An" if level == "error" else "A"
        assert explained[rule].startswith(f"\n\n{article} {level}. "), rule


# --- the store ---


def test_every_method_that_a_store_class_needs_is_documented() -> None:
    text = sections(text_of("store.md"))["A store class of your own"]
    documented = [name for cells in rows(text) for name in quoted(cells[0])]
    assert_same(documented, METHODS, "store.md", "the methods of a store class")


# --- private names ---


def test_every_private_name_is_documented() -> None:
    documented = [
        quoted(cells[0])[0] for cells in rows(sections(text_of("architecture.md"))["Private names"])
    ]
    existing = [f"{path.rpartition('.')[2]}.{name}" for path, name, _ in PRIVATE_NAMES]
    assert_same(documented, existing, "architecture.md", "the private names")


# --- links ---


def test_a_page_has_a_name_of_its_own() -> None:
    assert len(PAGES) == len(list(DOCS.rglob("*.md"))) > 40


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES.values()], ids=lambda page: page.name)
def test_every_internal_link_leads_somewhere(page: Path) -> None:
    broken = []
    text = re.sub(
        r"^```.*?^```|^    .*?$|`[^`\n]*`",
        "",
        page.read_text(encoding="utf-8"),
        flags=re.MULTILINE | re.DOTALL,
    )
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, fragment = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = page.parent / path if path else page
        if not file.exists() or (fragment and fragment not in anchors(file)):
            broken.append(target)
    assert not broken, f"{page.name}: {broken}"


def anchors(page: Path) -> set[str]:
    """The anchors GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", ROOT / "CHANGELOG.md", *PAGES.values()],
    ids=lambda page: page.name,
)
def test_no_line_of_prose_is_long(page: Path) -> None:
    """Prose is what is neither a table nor code."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    lines = [line for line in text.splitlines() if not line.startswith(("|", "    "))]
    assert [line[:60] for line in lines if len(line) > LONGEST] == []


def test_the_docs_a_message_names_exist() -> None:
    named = {
        name
        for path in SOURCES
        for text in strings(path)
        for name in re.findall(r"docs/[\w/-]+\.md", text)
    }
    assert named
    missing = sorted(name for name in named if not (ROOT / name).is_file())
    assert not missing, f"the source names pages that do not exist: {missing}"


def write_tables() -> None:
    """Write the tables of settings and arguments into their pages, each in place of the one that begins alike."""
    explained = sections(text_of("arguments.md"), "### ")
    arguments = [arguments_table(model, explained) for model in argument_models().values()]
    for name, tables in {"settings.md": [settings_table()], "arguments.md": arguments}.items():
        first = tables[0].partition("\n")[0]
        head, *others = text_of(name).split(first)
        written = [
            table + "\n\n" + other.partition("\n\n")[2]
            for table, other in zip(tables, others, strict=True)
        ]
        PAGES[name].write_text("".join([head, *written]).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_tables()
    SCHEMA.write_text(
        json.dumps(document_schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    for stem, value in OUTPUTS.items():
        text = json.dumps(output_schema(value), indent=2, ensure_ascii=False)
        (SCHEMAS / f"{stem}.schema.json").write_text(f"{text}\n", encoding="utf-8")
    sys.stdout.write(f"{SCHEMA}\n")
