"""`llmsspider init NAME`: a Scrapy project of the user's own around this one."""

import argparse
import string
import sys
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

from llmsspider import __version__
from llmsspider.cli.command import OneLineCommand
from llmsspider.errors import ArgumentsError

TEMPLATES = "cli/templates/project"
SUFFIX = ".tmpl"
DOT = "dot-"  # how the names of hidden files begin: build tools omit those that are hidden
MODULE = "module"  # the folder that gets the name of the project


class Command(OneLineCommand):
    """Write the files of a project whose settings begin with ours: a pipeline, spiders, sources,
    deploy files.
    """

    requires_project = False
    usage = "[options] NAME"

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Write the project into a folder of its name."""
        name = args[0] if args else ""
        problem = None
        if len(args) != 1:
            problem = "name the project, e.g. init mydocs"
        elif not (name.isidentifier() and name.isascii() and name.islower()):
            problem = f"{name!r}: a name of lower-case letters, digits and underscores is accepted"
        elif Path(name).exists():
            if not Path(name).is_dir() or any(Path(name).iterdir()):
                problem = f"{name} exists already; choose another name, or an empty folder"
        elif find_spec(name) is not None:
            problem = f"a module named {name} exists already; choose another name"
        if problem is not None:
            raise ArgumentsError([problem])
        written = write_project(name, Path(name))
        sys.stdout.write(
            f"{name}: {len(written)} files written\nNext: cd {name}, name your sites in"
            " sources.toml, and run llmsspider sync sources.toml\n"
        )


def write_project(name: str, folder: Path) -> list[Path]:
    """Write the files of a project; returns them."""
    return _write(files("llmsspider") / TEMPLATES, folder, {"name": name, "version": __version__})


def _write(source: Traversable, target: Path, values: dict[str, str]) -> list[Path]:
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for entry in source.iterdir():
        name = values["name"] if entry.name == MODULE else entry.name.replace(DOT, ".", 1)
        if entry.is_dir():
            written += _write(entry, target / name, values)
        elif name.endswith(SUFFIX):
            file = target / name.removesuffix(SUFFIX)
            text = string.Template(entry.read_text(encoding="utf-8")).substitute(values)
            file.write_text(text, encoding="utf-8")
            written.append(file)
    return written
