"""Packaging for Scrapyd and Scrapy Cloud: their deploy tools build the egg from here. The rest is in pyproject.toml."""

import compileall
import py_compile
from typing import Any

import setuptools
from setuptools import find_packages, setup
from setuptools.command.bdist_egg import bdist_egg

if int(setuptools.__version__.partition(".")[0]) < 77:  # it would not understand pyproject.toml
    raise SystemExit("setuptools 77 or later builds the egg: pip install 'setuptools>=77,<81'")


class BytecodeEgg(bdist_egg):
    """An egg with bytecode beside the source: zipimport does not look in `__pycache__`, and every job would compile.

    Bytecode is not compared with its source, as times in a zip file have no time zone. Another Python reads the source.
    """

    def call_command(self, cmdname: str, **kw: Any) -> Any:
        """Run a command for the folder that becomes the egg; compile once the modules are in it."""
        if cmdname != "install_lib":
            return super().call_command(cmdname, **kw)
        cmd = super().call_command(cmdname, **{**kw, "compile": False})
        if not compileall.compile_dir(
            self.bdist_dir,
            quiet=1,
            legacy=True,
            stripdir=self.bdist_dir,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        ):
            raise SystemExit("a module does not compile: its error stands above")
        return cmd


setup(
    name="llmsspider",
    packages=find_packages(include=["llmsspider", "llmsspider.*", "pipelines_config"]),
    package_data={
        "pipelines_config": ["*.toml"],
        "llmsspider": [
            "py.typed",
            "cli/templates/**/*.tmpl",
            "cli/templates/demo/*.md",
            "ui/assets/*",
            "browser/assets/*",
            "cli/*.toml",
            "web/*.toml",
            "site/*.toml",
            "config/*.toml",
            "lint/*.toml",
            "content/*/*.toml",
        ],
    },
    zip_safe=True,
    cmdclass={"bdist_egg": BytecodeEgg},
)
