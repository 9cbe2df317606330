"""What several of these tests use."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaged import build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the project."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))
