"""A Dagster asset (1.13 or later): a partition for each source, materialized every night (docs/how-to/deployment.md).

    dagster dev -f dagster_assets.py

llmsspider has an environment of its own, whose program is named in `LLMSSPIDER`; `LLMS_STORE_URL` is the PostgreSQL
that keeps pages and the pace of each host.
"""

import json
import os
import subprocess

from dagster import (
    AssetExecutionContext,
    Definitions,
    Failure,
    MaterializeResult,
    RetryPolicy,
    RunRequest,
    StaticPartitionsDefinition,
    asset,
    define_asset_job,
    schedule,
)

SOURCES = {
    "example": "https://docs.example.com/",
    "other": "https://docs.example.org/",
}
LLMSSPIDER = os.environ.get("LLMSSPIDER", "llmsspider")


@asset(
    partitions_def=StaticPartitionsDefinition(list(SOURCES)),
    retry_policy=RetryPolicy(max_retries=2, delay=3600),
)
def documentation(context: AssetExecutionContext) -> MaterializeResult:
    """The pages of a source, in the page store."""
    source = context.partition_key
    words = [LLMSSPIDER, "crawl", "docs", "-a", f"source={source}", "-a", f"url={SOURCES[source]}"]
    with subprocess.Popen(words) as process:
        try:
            code = process.wait()
        except BaseException:  # the run is stopped: the pages under way are finished
            process.terminate()
            raise
    if code == 2:
        raise Failure("the arguments are wrong: no retry makes them right", allow_retries=False)
    if code == 1 or (code == 3 and context.retry_number < 2):
        raise Failure(f"exit code {code}: tried again in an hour")
    told = subprocess.run([LLMSSPIDER, "status", source, "--json"], check=True, capture_output=True)
    status = json.loads(told.stdout)
    return MaterializeResult(
        metadata={
            "pages": status["pages"],
            "complete": status["run"]["complete"],
            "changed": sum(
                status["run"]["changes"].get(kind, 0) for kind in ("new", "changed", "deleted")
            ),
        }
    )


job = define_asset_job("crawl", selection=[documentation])


@schedule(job=job, cron_schedule="15 3 * * *")
def nightly() -> list[RunRequest]:
    """Materialize every partition; `dagster.yaml` says how many runs go at a time (`max_concurrent_runs`)."""
    return [RunRequest(partition_key=source) for source in SOURCES]


defs = Definitions(assets=[documentation], jobs=[job], schedules=[nightly])
