"""The fault matrix as a table: `python benchmarks/faults.py [WORD …]`.

One page a fault; five crawls: healthy, with every fault from the start, healthy again, a recrawl with every fault while
one page is really gone, healthy with every page edited. WORD chooses faults whose name holds it. Exit code 1 when a
promise did not hold. The same crawls are in tests/integration/test_faults.py.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "support"), str(HERE.parent)]

from fault_cases import Case, Matrix, all_cases, run_matrix, same  # noqa: E402


def first_crawl(matrix: Matrix, case: Case) -> str:
    """Say what the first crawl made of a fault."""
    if case.name in matrix.first_errors:
        return f"error {matrix.first_errors[case.name]}"
    equal = same(matrix.first.get(case.name), matrix.healthy[case.name])
    return (
        "the document"
        if equal
        else "a document from the HTML"
        if case.markdown
        else "half a document"
    )


def recrawl(matrix: Matrix, case: Case) -> str:
    """Say what the recrawl made of a fault."""
    document = matrix.again.get(case.name)
    if document is None:
        return "lost"
    error = matrix.again_errors.get(case.name)
    return f"{document['change']}{f', error {error}' if error else ''}"


def main() -> None:
    """Crawl and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*")
    words = parser.parse_args().words
    chosen = [case for case in all_cases() if not words or any(word in case.name for word in words)]
    folder, began = Path(tempfile.mkdtemp(prefix="faults-")), time.monotonic()
    try:
        matrix = run_matrix(folder, chosen)
    finally:
        shutil.rmtree(folder)
    print(
        "| fault | script | first crawl | after it | recrawl | after an edit | as promised |\n"
        "|---|---|---|---|---|---|---|"
    )
    for case in matrix.cases:
        healed = (
            "healthy"
            if same(matrix.healed.get(case.name), matrix.healthy[case.name])
            else "as it was"
        )
        edited = (
            "healthy" if same(matrix.edited.get(case.name), matrix.fresh[case.name]) else "differs"
        )
        cells = [
            case.name,
            f"`{case.script}`",
            first_crawl(matrix, case),
            healed,
            recrawl(matrix, case),
            edited,
        ]
        problems = matrix.problems(case)
        print(f"| {' | '.join(cells)} | {'; '.join(problems) or 'yes'} |")
    deleted = [name for name, document in matrix.again.items() if document["change"] == "deleted"]
    wrong = [case.name for case in matrix.cases if matrix.problems(case)]
    lost = [case.name for case in matrix.cases if case.name not in matrix.healed]
    print(
        f"\n{len(matrix.cases)} faults, served {matrix.struck.total()} times, in {time.monotonic() - began:.0f} s"
    )
    print(f"first crawl: {dict(Counter(first_crawl(matrix, case) for case in matrix.cases))}")
    print(
        f"lost after a healthy crawl {len(lost)}, duplicates {len(matrix.duplicates)}, deleted {deleted}"
    )
    print(f"not as promised: {wrong or 'none'}")
    raise SystemExit(bool(wrong or lost or matrix.duplicates or deleted != ["really-gone"]))


if __name__ == "__main__":
    main()
