"""Large bodies on disk while a run needs them, instead of in memory."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

MIN_BYTES = 4 * 1024 * 1024
"""Bodies below this stay in memory."""


class Spool:
    """A temporary folder, made with the first body that is put there and removed by `close`."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._count = 0

    def put(self, body: bytes) -> Path | None:
        """Write a body to a file of its own and return its path; None for a body that may stay in memory."""
        if len(body) < MIN_BYTES:
            return None
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="llmsspider-"))
        self._count += 1
        path = self._folder / str(self._count)
        path.write_bytes(body)
        return path

    def close(self) -> None:
        """Remove the files; idempotent."""
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
