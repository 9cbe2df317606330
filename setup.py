"""Packaging for Scrapyd and Scrapy Cloud: their deploy tools build the egg from here. The rest is in pyproject.toml."""

import setuptools
from setuptools import find_packages, setup

if int(setuptools.__version__.partition(".")[0]) < 77:  # it would not understand pyproject.toml
    raise SystemExit("setuptools 77 or later builds the egg: pip install 'setuptools>=77,<81'")

setup(
    name="llmsspider",
    packages=find_packages(include=["llmsspider", "llmsspider.*", "pipelines_config"]),
    package_data={
        "pipelines_config": ["*.toml"],
        "llmsspider": [
            "py.typed",
            "templates/**/*.tmpl",
            "changes/assets/*",
            "report/assets/*",
            "extensions/assets/*",
        ],
    },
    zip_safe=True,
)
