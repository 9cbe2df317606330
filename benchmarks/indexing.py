"""What indexing a crawled source for search costs: `python benchmarks/indexing.py FOLDER`, the folder of its store.

Makes the index anew, whole, in this process, and prints one JSON line: CPU and wall seconds of the indexing alone,
without the start of Python, and the number of passages.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import llmsspider.commands  # noqa: F401  # garbage is looked for as often as in a crawl
from llmsspider.answers import WORDS
from llmsspider.answers.library import Library
from llmsspider.store import Stores

NO_LIMIT_SECS = 1e6


def main() -> None:
    stores = Stores(None, Path(sys.argv[1]))
    with Library(stores) as library:
        (name,) = library.names()
        stores.index_file(name, WORDS).unlink(missing_ok=True)
        cpu, clock = time.process_time(), time.perf_counter()
        opened = library.open(name)
        if not opened.sync(NO_LIMIT_SECS):
            raise SystemExit("the index is not in step")
        passages = opened.index.count()[1]
        cpu_secs, wall_secs = time.process_time() - cpu, time.perf_counter() - clock
    print(
        json.dumps(
            {"cpu_secs": round(cpu_secs, 3), "wall_secs": round(wall_secs, 3), "passages": passages}
        )
    )


if __name__ == "__main__":
    main()
