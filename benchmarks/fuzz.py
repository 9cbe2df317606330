"""Try new examples on every property test until the time is over: `python benchmarks/fuzz.py --minutes 10`.

Rounds of the tests that use hypothesis, each with other examples than the one before, until the time is used up (the
last round is finished). Prints examples tried and failures; what fails is kept in `.hypothesis/` and tried first the
next time. A failure becomes an `@example` of its test, and is fixed. Exit code 1 when something failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOWN = 6000


def round_of(examples: int, arguments: list[str]) -> tuple[int, int, str]:
    """Run every property test once; returns the number of tests, of examples tried, and what failed."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "hypothesis",
        "--hypothesis-show-statistics",
    ]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "fuzz", "FUZZ_EXAMPLES": str(examples)}
    done = subprocess.run(
        [*command, "--tb=short", *(arguments or ["tests/unit", "tests/components/test_store_open.py"])],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stdout[-SHOWN:] + done.stderr[-SHOWN:])
    counts = re.findall(r"(\d+) passing, (\d+) failing", done.stdout)
    tests = len(set(re.findall(r"^(tests/\S+::\S+):$", done.stdout, re.MULTILINE)))
    failures = done.stdout.partition("= FAILURES =")[2].partition("Hypothesis Statistics")[0]
    return tests, sum(int(passing) + int(failing) for passing, failing in counts), failures


def main() -> None:
    """Run rounds until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument(
        "--examples", type=int, default=1000, help="a test and round; most try more or fewer"
    )
    parser.add_argument("tests", nargs="*", help="files or tests; all when left out")
    options = parser.parse_args()
    began, rounds, tried, failed = time.monotonic(), 0, 0, False
    while rounds == 0 or time.monotonic() - began < options.minutes * 60:
        tests, examples, failures = round_of(options.examples, options.tests)
        rounds, tried, failed = rounds + 1, tried + examples, failed or bool(failures)
        minutes = (time.monotonic() - began) / 60
        print(f"round {rounds}: {tests} tests, {tried:,} examples in {minutes:.1f} min", flush=True)
        if failures:
            print(failures[:SHOWN], flush=True)
    print(
        f"{tried:,} examples of {tests} tests in {rounds} rounds: {'FAILURES' if failed else 'no failure'}"
    )
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
