"""What `import llmsspider` gives."""

from __future__ import annotations

import inspect
import subprocess
import sys

import llmsspider
from llmsspider.config.arguments import CrawlArguments, DocsArguments


def test_its_names_are_found_without_being_imported():
    code = "import sys, llmsspider; print(dir(llmsspider)); assert 'scrapy' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(sorted([*llmsspider.__all__, "__version__"]))
    assert all(callable(getattr(llmsspider, name)) for name in llmsspider.__all__)


def test_the_function_crawl_takes_a_url_first():
    assert list(inspect.signature(llmsspider.crawl).parameters)[:2] == ["url", "store"]


def test_the_arguments_are_those_of_the_spider():
    assert list(CrawlArguments.__annotations__) and set(CrawlArguments.__annotations__) == set(
        DocsArguments.model_fields
    ) - {"url"}
