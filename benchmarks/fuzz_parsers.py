"""Fuzz each parser of what a site sends with atheris: `python benchmarks/fuzz_parsers.py --minutes 60 [NAME …]`.

The parsers are those of tests/unit/test_foreign.py, and so is what each has to hold: any bytes are read, or are
unreadable with a reason, and no text comes out that a feed, a database or a terminal cannot hold. One process a parser,
so many minutes each; no input may take longer than `--secs`. What is found lies in the folder `--found`, and becomes a row of
`HOSTILE` there. Needs atheris (locks/fuzz.lock). Exit code 1 when something was found.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TESTS = [ROOT / "tests" / "unit", ROOT / "tests" / "support"]
MAX_BYTES = 20_000
MAX_MIB = 4096
PARSED = [
    "llmsspider.content",
    "llmsspider.crawler.pages",
    "llmsspider.crawler.records",
    "llmsspider.site",
    "llmsspider.web",
    "protego",
]
"""What is instrumented: the fuzzer sees which inputs reach something new there."""


def fuzz(name: str, arguments: list[str]) -> None:
    """Fuzz a parser in this process, which ends with it."""
    import atheris  # noqa: PLC0415  # a tool of its own

    sys.path[:0] = [str(ROOT), *map(str, TESTS)]
    with atheris.instrument_imports(include=PARSED):
        import test_foreign  # noqa: PLC0415

    def one(body: bytes) -> None:
        test_foreign.reason_against(name, bytes(body))

    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


def seeds(folder: Path, hostile: list[bytes]) -> None:
    """Write what fuzzing begins with."""
    fixtures = (path for path in (ROOT / "tests" / "fixtures").rglob("*") if path.is_file())
    bodies = [path.read_bytes() for path in fixtures if path.stat().st_size <= MAX_BYTES]
    for number, body in enumerate([*hostile, *bodies]):
        (folder / f"seed-{number}").write_bytes(body[:MAX_BYTES])


def main() -> None:
    """Fuzz the named parsers, all when none is named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="time of each parser")
    parser.add_argument("--secs", type=int, default=10, help="longest time of one input")
    parser.add_argument("--found", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options, rest = parser.parse_known_args()
    if options.one:
        fuzz(options.one, [*rest, *options.names])
        return
    sys.path[:0] = [str(ROOT), *map(str, TESTS)]
    import test_foreign  # noqa: PLC0415

    unknown = set(options.names) - set(test_foreign.PARSERS)
    if unknown:
        parser.error(
            f"no parser is named {', '.join(sorted(unknown))}: {', '.join(test_foreign.PARSERS)}"
        )
    options.found.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in options.names or test_foreign.PARSERS:
        with tempfile.TemporaryDirectory() as corpus:
            seeds(Path(corpus), test_foreign.HOSTILE)
            secs = round(options.minutes * 60)
            limits = [
                f"-max_total_time={secs}",
                f"-max_len={MAX_BYTES}",
                f"-timeout={options.secs}",
            ]
            kept = f"-artifact_prefix={options.found.resolve()}/{name.replace(' ', '-')}-"
            command = [
                sys.executable,
                __file__,
                "--one",
                name,
                *limits,
                f"-rss_limit_mb={MAX_MIB}",
                kept,
            ]
            done = subprocess.run([*command, corpus], capture_output=True, text=True, check=False)
        lines = done.stderr.splitlines()
        print(
            f"{name}: {next((line for line in reversed(lines) if line[1:2].isdigit()), '')}",
            flush=True,
        )
        if done.returncode:
            failed.append(name)
            said = [
                *done.stdout.splitlines()[-30:],
                *(line for line in lines[-40:] if line[:1] != "#"),
            ]
            print("\n".join(said), flush=True)
    print(f"found something: {', '.join(failed)}" if failed else "nothing found")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
