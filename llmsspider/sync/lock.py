"""One sync at a time for a store, as seen from one machine."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from llmsspider.errors import StoreError


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Hold the lock in `folder` until the block ends; the system frees it when the process dies.

    Raises `StoreError` when another sync has it; `sync.pid` says which process that is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    holder = folder / "sync.pid"
    lock = FileLock(folder / "sync.lock", blocking=False)
    try:
        lock.acquire()
    except Timeout:
        with contextlib.suppress(OSError):
            process = holder.read_text(encoding="ascii").strip()
            raise StoreError(
                f"another sync is going (process {process}); nothing was started"
            ) from None
        raise StoreError("another sync is going; nothing was started") from None
    try:
        holder.write_text(f"{os.getpid()}\n", encoding="ascii")
        yield
    finally:
        lock.release()
