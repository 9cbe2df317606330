"""What several of these tests use."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaged import build_wheel, install
from services import Shared


@pytest.fixture(scope="session")
def wheel(shared: Shared) -> Path:
    """The wheel of the project, built once in a run."""
    return Path(shared.get("wheel", lambda folder: {"path": str(build_wheel(folder))})["path"])


@pytest.fixture(scope="session")
def programs(shared: Shared, wheel: Path) -> Path:
    """The folder of programs of an environment in which the wheel is installed, made once in a run."""
    made = shared.get("environment", lambda folder: {"path": str(install(wheel, folder))})
    return Path(made["path"])
