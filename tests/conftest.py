"""Fixtures for every test: a local site and a crawl of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
from crawling import Outcome, crawl
from site_server import Page, Site, serving

# The suite tries the same examples each time; HYPOTHESIS_PROFILE=fuzz looks for new ones (`make fuzz`).
SLOW = [hypothesis.HealthCheck.too_slow]  # speaks of the machine's load, not of the test
hypothesis.settings.register_profile(
    "suite", max_examples=100, derandomize=True, deadline=None, database=None, suppress_health_check=SLOW
)
hypothesis.settings.register_profile(
    "fuzz",
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "2000")),
    deadline=None,
    print_blob=True,
    suppress_health_check=SLOW,
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

pytest_plugins = ["postgresql_server", "stores"]


@pytest.fixture
def serve() -> Iterator[Callable[[dict[str, Page]], Site]]:
    """Return a function that serves pages on 127.0.0.1 until the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda pages: stack.enter_context(serving(Site(pages)))


@pytest.fixture
def run_crawl(tmp_path: Path) -> Callable[..., Outcome]:
    """Return a function that crawls a URL in a subprocess, in the test's own folder."""
    return lambda url, **options: crawl(url, tmp_path, **options)
