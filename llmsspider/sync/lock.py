"""One sync at a time for a store, as seen from one machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from llmsspider.errors import StoreError


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Hold the lock in `folder` until the block ends; the system frees it when the process dies.

    Raises `StoreError` when another sync has it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "sync.lock").open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise StoreError(
                f"another sync is going (process {file.read().strip() or 'unknown'}); nothing was"
                " started"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
