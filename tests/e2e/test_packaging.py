"""The project as a package, used from a folder that is not its checkout. Nothing is installed."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaged import run
from sites import PLAIN

from llmsspider.web.loading import EXTRAS

ROOT = Path(__file__).resolve().parent.parent.parent
LOCAL = ("-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1")


@dataclass(frozen=True)
class Unpacked:
    """The wheel unpacked into a folder for packages, as an installer does; its dependencies are those of the tests."""

    folder: Path

    def python(self, *arguments: str | Path, cwd: Path) -> str:
        """Run Python with that folder and nothing else of ours; its stdout."""
        return run(sys.executable, *arguments, cwd=cwd, PYTHONPATH=str(self.folder))

    def program(self, name: str, *arguments: str, cwd: Path, before: str = "") -> str:
        """Run a program of the wheel, as the script that an installer writes does; its stdout."""
        code = (
            f"{before}import sys; from importlib.metadata import distribution\n"
            f"(program,) = distribution('llmsspider').entry_points.select(group='console_scripts', name={name!r})\n"
            f"sys.argv[0] = {name!r}; sys.exit(program.load()())"
        )
        return self.python("-c", code, *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    folder = tmp_path_factory.mktemp("unpacked")
    zipfile.ZipFile(wheel).extractall(folder)
    return Unpacked(folder)


def test_the_wheel_holds_the_package_and_the_profiles_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {
        path.relative_to(ROOT).as_posix()
        for folder in ("llmsspider", "pipelines_config")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == expected


def test_the_wheel_and_its_extras_require_what_requirements_txt_pins_a_version_of(
    wheel: Path,
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    required = [
        line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")
    ]
    assert sorted(map(_name, required)) == sorted(map(_name, _pins()))
    assert not [line for line in required if "==" in line.partition(";")[0]]
    extras = {
        _name(line): line.rpartition(" == ")[2].strip('"')
        for line in required
        if "extra ==" in line
    }
    assert extras == {
        "scrapy-playwright": "browser",
        "playwright": "browser",
        "pyarrow": "parquet",
        "psycopg": "postgresql",
        "boto3": "s3",
        "mcp": "mcp",
        "starlette": "mcp",
        "uvicorn": "mcp",
        "numpy": "embeddings",
        "pdf-oxide": "documents",
        "mammoth": "documents",
        "kreuzberg": "documents",
        "http-message-signatures": "sign",
        "http-sf": "sign",
        "qdrant-client": "qdrant",
        "lancedb": "lancedb",
    }


def _name(requirement: str) -> str:
    """The normalised name of a requirement (https://packaging.python.org/en/latest/specifications/name-normalization/)."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def _pins() -> list[str]:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    tested = (ROOT / "locks/requirements-dev.txt").read_text(encoding="utf-8").splitlines()
    lines += [line for line in tested if ' # extra "' in line]  # too heavy for all
    return [line.partition(" #")[0] for line in lines if line and not line.startswith("#")]


def test_it_is_imported_from_where_it_was_unpacked(unpacked: Unpacked, tmp_path: Path) -> None:
    code = "import llmsspider, pipelines_config as p; print(llmsspider.__file__, p.__file__, llmsspider.__version__)"
    package, profiles, version = unpacked.python("-c", code, cwd=tmp_path).split()
    assert package.startswith(str(unpacked.folder))
    assert profiles.startswith(str(unpacked.folder))
    assert version in next(iter(unpacked.folder.glob("llmsspider-*.dist-info"))).name


def test_spiders_and_profiles_are_found_from_a_foreign_folder(
    unpacked: Unpacked, tmp_path: Path
) -> None:
    assert "docs" in unpacked.python("-m", "scrapy", "list", cwd=tmp_path).split()
    code = (
        "from llmsspider.config.sources import load_profile, profile_names; "
        "print(profile_names(), sorted(load_profile('default')['ITEM_PIPELINES_BASE']))"
    )
    found = unpacked.python("-c", code, cwd=tmp_path)
    assert "'default'" in found
    assert "llmsspider.pipelines.filter.FilterPipeline" in found


def test_the_command_works_from_a_foreign_folder(unpacked: Unpacked, tmp_path: Path, serve) -> None:
    site = serve(PLAIN)
    said = unpacked.program("llmsspider", f"{site.url}/", "-o", "docs", *LOCAL, cwd=tmp_path)
    assert "docs: 4 files written" in said
    assert (tmp_path / "docs" / "guide" / "intro.md").is_file()


def test_the_command_works_without_the_extras(unpacked: Unpacked, tmp_path: Path, serve) -> None:
    """As after a plain `pip install`: what only the extras bring cannot be imported."""
    site = serve(PLAIN)
    extras = [module for packages in EXTRAS.values() for module in packages]
    before = f"import sys; sys.modules.update(dict.fromkeys({extras}))\n"
    alone = (*LOCAL, "-s", "LLMS_CONVERT_WORKERS=0")
    said = unpacked.program(
        "llmsspider", f"{site.url}/", "-o", "docs", *alone, cwd=tmp_path, before=before
    )
    assert "docs: 4 files written" in said


def test_an_add_on_is_all_that_an_existing_project_needs(
    unpacked: Unpacked, serve, tmp_path: Path
) -> None:
    site = serve(PLAIN)

    def scrapy(*words: str, cwd: Path) -> str:
        command = ("env", "-u", "SCRAPY_SETTINGS_MODULE", sys.executable, "-m", "scrapy", *words)
        return run(*command, cwd=cwd, PYTHONPATH=str(unpacked.folder))

    scrapy("startproject", "shop", str(tmp_path), cwd=tmp_path)
    with (tmp_path / "shop" / "settings.py").open("a") as settings:
        settings.write(
            '\nADDONS = {"llmsspider.Addon": 500}\nLLMS_ALLOW_PRIVATE_ADDRESSES = "127.0.0.1"\n'
        )
        settings.write("DOWNLOAD_DELAY = 0\n")
    scrapy("genspider", "prices", "example.com", cwd=tmp_path)
    assert scrapy("list", cwd=tmp_path).split() == ["prices"]  # it asks no add-on
    scrapy("crawl", "docs", "-a", f"url={site.url}/", "-O", "docs.jsonl", cwd=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "docs.jsonl").read_text().splitlines()]
    assert {row["change"] for row in rows} == {"new"}
    assert len(rows) > 2
    assert (tmp_path / ".scrapy" / "llmsspider").is_dir()
