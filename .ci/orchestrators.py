"""Run docs/examples/airflow_dag.py and dagster_assets.py in the real packages: `make orchestrators`.

Each crawls a site on 127.0.0.1 by the examples' own words, into a page store in a temporary folder: one source is
whole, one has a start page that is not there. Exit codes 2 and 3 are put in the place of what the crawl says. Pauses
before a retry are a second in place of an hour.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from site_server import Site, serving  # noqa: E402

EXAMPLES = ROOT / "docs" / "examples"
PROGRAMS = (
    Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".venv-orchestrators").absolute() / "bin"
)
PAGES = {
    "/docs/": "<main><h1>Home</h1><p>Welcome to it.</p></main><a href='use.html'>Use</a>",
    "/docs/use.html": "<main><h1>Use</h1><p>How it is used, in a few words.</p></main>",
}
PROGRAM = """#!/bin/sh
echo "$*" >> calls
case "$*" in
    *source=wrong*) exit 2;;
    *source=partly*) {python} -m llmsspider "$@"; exit 3;;
esac
exec {python} -m llmsspider "$@"
"""
AIRFLOW = """
import json, sys
from airflow.dag_processing.dagbag import DagBag
(dag,) = DagBag(sys.argv[1]).dags.values()
run = dag.test()
found = {}
for one in run.get_task_instances():
    found[one.map_index] = [str(one.state), one.try_number]
import airflow_dag
print(json.dumps({name: found[number] for number, name in enumerate(airflow_dag.SOURCES)}))
"""
DAGSTER = """
import json, sys
from dagster import DagsterEventType, DagsterInstance, materialize
import dagster_assets as example
found = {}
assert example.defs.resolve_job_def("crawl") and len(example.nightly(None)) == len(example.SOURCES)
with DagsterInstance.ephemeral() as instance:
    for source in example.SOURCES:
        done = materialize([example.documentation], partition_key=source, instance=instance, raise_on_error=False)
        retries = sum(one.event_type == DagsterEventType.STEP_RESTARTED for one in done.all_events)
        told = [one.materialization.metadata for one in done.get_asset_materialization_events()]
        pages = [one["pages"].value for one in told if "pages" in one]
        found[source] = ["success" if done.success else "failed", retries + 1, *pages]
print(json.dumps(found))
"""


def copied(name: str, folder: Path, address: str) -> None:
    """Copy an example, with sources of the test's site and pauses of a second."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    sources = {"example": "/docs/", "other": "/none/", "wrong": "/docs/", "partly": "/docs/"}
    begin, end = text.index("SOURCES = {"), text.index("}\n", text.index("SOURCES = {")) + 1
    named = {source: address + path for source, path in sources.items()}
    text = f"{text[:begin]}SOURCES = {named!r}{text[end:]}"
    text = text.replace("delay=3600", "delay=1").replace(
        "timedelta(hours=1)", "timedelta(seconds=1)"
    )
    (folder / name).write_text(text, encoding="utf-8")


def run(script: str, folder: Path, *words: str) -> dict[str, list[object]]:
    """Run a script in the environment of the packages; returns what its last line says."""
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "DAGSTER_HOME": "",
        "DO_NOT_TRACK": "1",
        "LLMSSPIDER": str(folder / "llmsspider"),
        "LLMS_DATA_DIR": str(folder / "store"),
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
        "PYTHONPATH": f"{folder / 'dags'}:{ROOT}",
    }
    environment.pop("DAGSTER_HOME")
    if script == AIRFLOW:
        subprocess.run(
            [PROGRAMS / "airflow", "db", "migrate"],
            env=environment,
            check=True,
            capture_output=True,
        )
    done = subprocess.run(
        [PROGRAMS / "python", "-c", script, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout[-4000:] + done.stderr[-4000:])
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run both, and compare what became of each source with what its exit code should lead to."""
    with serving(Site(dict(PAGES))) as site, tempfile.TemporaryDirectory() as name:
        for example, script, wanted in (
            (
                "dagster_assets.py",
                DAGSTER,
                {
                    "example": ["success", 1, 2],
                    "other": ["failed", 3],
                    "wrong": ["failed", 1],
                    "partly": ["success", 3, 2],
                },
            ),
            (
                "airflow_dag.py",
                AIRFLOW,
                {
                    "example": ["success", 1],
                    "other": ["failed", 3],
                    "wrong": ["failed", 1],
                    "partly": ["skipped", 3],
                },
            ),
        ):
            if len(sys.argv) > 2 and sys.argv[2] not in example:
                continue
            folder = Path(name) / example.partition("_")[0]
            (folder / "dags").mkdir(parents=True)
            copied(example, folder / "dags", site.url)
            program = folder / "llmsspider"
            program.write_text(PROGRAM.format(python=sys.executable), encoding="utf-8")
            program.chmod(0o755)
            found = run(script, folder, str(folder / "dags"))
            print(example, found, flush=True)
            if found != wanted:
                sys.exit(f"{example}: expected {wanted}")


if __name__ == "__main__":
    main()
