"""An Airflow DAG (3.1 or later): each source is a task of its own, every night (docs/how-to/deployment.md).

Put the file into the folder of DAGs. llmsspider has an environment of its own on the workers, whose program is named in
`LLMSSPIDER`; `LLMS_STORE_URL` in their environment is the PostgreSQL that keeps pages and the pace of each host.
"""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timedelta

from airflow.sdk import dag, get_current_context, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

SOURCES = {
    "example": "https://docs.example.com/",
    "other": "https://docs.example.org/",
}
LLMSSPIDER = os.environ.get("LLMSSPIDER", "llmsspider")


@task(
    retries=2,
    retry_delay=timedelta(hours=1),
    execution_timeout=timedelta(hours=4),
    max_active_tis_per_dagrun=8,
    map_index_template="{{ source }}",
)
def crawl(source: str) -> None:
    """Crawl a source into the page store; what its exit code leads to is Airflow's part."""
    context = get_current_context()
    context["source"] = source
    words = [LLMSSPIDER, "crawl", "docs", "-a", f"source={source}", "-a", f"url={SOURCES[source]}"]
    with subprocess.Popen(words) as process:
        try:
            code = process.wait()
        except BaseException:  # the task is stopped: the pages under way are finished
            process.terminate()
            raise
    if code == 2:
        raise AirflowFailException("the arguments are wrong: no retry makes them right")
    if code == 3 and context["ti"].try_number > context["ti"].max_tries:
        raise AirflowSkipException(
            "the site answers in part; what it gave is stored, the next night asks again"
        )
    if code:
        raise AirflowException(f"exit code {code}: tried again in an hour")


@dag(schedule="15 3 * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def documentation() -> None:
    """Crawl every source."""
    crawl.expand(source=list(SOURCES))


documentation()
