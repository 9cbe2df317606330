"""A process that saves pages into a store until it has saved enough, or is killed.

    python store_worker.py URL|- DATA_DIR PREFIX COUNT

Prints "run <id>", waits for a line of input (or its end), prints "<path> <seq>" for each page as soon as the store
has given its number, as a crawl hands on a document; then "finished".
"""

from __future__ import annotations

import sys
from pathlib import Path

from stores import NAME, record

from llmsspider.store import open_store


def main(url: str, data_dir: str, prefix: str, count: str) -> None:
    """Save `count` pages, every third of them with the same address whatever the prefix."""
    with open_store(None if url == "-" else url, Path(data_dir), NAME) as store:
        run = store.begin_run("crawl", {})
        print("run", run.id, flush=True)
        sys.stdin.readline()
        for number in range(int(count)):
            path = f"shared/{number}" if number % 3 == 0 else f"{prefix}/{number}"
            content = f"# {path} by {prefix}\n" + f"text {number} " * 200
            seq = store.save_page(
                record(path, content, follow=[f"https://e.com/{n}" for n in range(50)]), "new"
            )
            print(path, seq, flush=True)
            if number % 100 == 0:
                store.heartbeat({"pages": number})
        store.finish_run("finished", complete=True, why=None, counts={})
        print("finished", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
