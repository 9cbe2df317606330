"""Fixtures for every test: a local site and a crawl of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import scrapy.core.downloader.contextfactory  # noqa: F401  # first: see settings.py
import services
from crawling import Outcome, crawl
from services import Shared
from site_server import Page, Site, serving

# A program that a test starts finds the package compiled, whatever the environment says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The suite tries the same examples each time, few of them; HYPOTHESIS_PROFILE=fuzz looks for new ones (`make fuzz`).
SLOW = [hypothesis.HealthCheck.too_slow]  # speaks of the machine's load, not of the test
hypothesis.settings.register_profile(
    "suite",
    max_examples=50,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=SLOW,
)
hypothesis.settings.register_profile(
    "fuzz",
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "2000")),
    deadline=None,
    print_blob=True,
    suppress_health_check=SLOW,
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

SERVICES = pytest.StashKey[Shared]()
pytest_plugins = ["command_line", "postgresql_server", "quick_python", "stores"]


def pytest_report_header() -> list[str]:
    """Say which services are missing."""
    return services.report()


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of the services that the tests share."""
    given = getattr(config, "workerinput", {}).get("services")
    config.stash[SERVICES] = Shared(Path(given or tempfile.mkdtemp(prefix="llmsspider-services-")))
    config.stash[SERVICES].folder.chmod(0o755)  # PostgreSQL runs as a user of its own


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the services, in the process that began the run."""
    if hasattr(config, "workerinput"):
        return
    import postgresql_server

    shared = config.stash[SERVICES]
    postgresql_server.stop_shared(shared)
    shutil.rmtree(shared.folder)


@pytest.fixture(scope="session")
def shared(pytestconfig: pytest.Config) -> Shared:
    """The services of the run."""
    return pytestconfig.stash[SERVICES]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return three times the number of cores: much of the time of a crawl is waiting."""
    return 3 * (os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process of the run where the services are."""
    node.workerinput["services"] = str(node.config.stash[SERVICES].folder)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return what gives each process of the run its next tests."""
    from distribution import ByCost

    return ByCost(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the tests that take long where there are several processes."""
    if hasattr(config, "workerinput"):
        from distribution import order

        items.sort(key=lambda item: order(item.nodeid))


@pytest.fixture
def serve() -> Iterator[Callable[[dict[str, Page]], Site]]:
    """Return a function that serves pages on 127.0.0.1 until the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda pages: stack.enter_context(serving(Site(pages)))


@pytest.fixture(scope="module")
def _begun(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., tuple[Site, Path, Any]]]:
    """Return a function that serves a site and lets `begin` crawl it, once for the tests of a file."""
    known: dict[tuple[Any, ...], tuple[Site, Callable[[], None], Path, Any]] = {}
    with contextlib.ExitStack() as stack:

        def begun(begin: Callable[..., Any], *given: Any) -> tuple[Site, Path, Any]:
            key = (begin, *given)
            if key not in known:
                site = stack.enter_context(serving(Site({})))
                folder = tmp_path_factory.mktemp("begun")
                left = begin(site, lambda url, **options: crawl(url, folder, **options), *given)
                known[key] = (site, site.as_now(), folder, left)
            site, again, folder, left = known[key]
            again()
            return site, folder, left

        yield begun


@pytest.fixture
def begun(_begun: Callable[..., tuple[Site, Path, Any]], tmp_path: Path) -> Callable[..., Any]:
    """Return a function that takes `begin(site, run_crawl, *given)`, a function of the module for the first nights of
    a site, and returns the site as it was after them and what `begin` returned.

    Tests that begin alike share those nights; each goes on with `run_crawl` from a copy of their store.
    """

    def go_on(begin: Callable[..., Any], *given: Any) -> tuple[Site, Any]:
        site, folder, left = _begun(begin, *given)
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
        return site, left

    return go_on


@pytest.fixture
def run_crawl(tmp_path: Path) -> Callable[..., Outcome]:
    """Return a function that crawls a URL in a subprocess, in the test's own folder."""
    return lambda url, **options: crawl(url, tmp_path, **options)
