"""docs/examples/kubernetes.yaml: valid by Kubernetes' own schemas, and what its containers do, done on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from crawling import ROOT
from forked import HANGS_SECS
from sites import PLAIN

from llmsspider.store import Stores

DOCUMENTS = list(yaml.safe_load_all((ROOT / "docs" / "examples" / "kubernetes.yaml").read_text()))
BY_KIND = {one["kind"]: one for one in DOCUMENTS}
JOBS = {"CronJob": BY_KIND["CronJob"]["spec"]["jobTemplate"]["spec"], "Job": BY_KIND["Job"]["spec"]}


@pytest.mark.parametrize("version", ["1.33", kubernetes_validate.latest_version()])
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one["kind"])
def test_the_manifests_are_valid(document: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(document, version, strict=True)


def what_follows(job: dict[str, Any], code: int) -> str:
    """The action of the first rule for an exit code, as the Job controller looks for it."""
    for rule in job["podFailurePolicy"]["rules"]:
        if code in rule.get("onExitCodes", {}).get("values", ()):
            return rule["action"]
    return "Count"


def test_exit_codes_lead_to_retries_where_those_help() -> None:
    wanted = {"CronJob": "FailJob", "Job": "FailIndex"}
    for kind, job in JOBS.items():
        assert [what_follows(job, code) for code in (1, 2, 3)] == [
            "Count",
            wanted[kind],
            wanted[kind],
        ]
        assert job["template"]["spec"]["restartPolicy"] == "Never", "a policy asks for that"
    assert JOBS["Job"]["completions"] == len(
        BY_KIND["ConfigMap"]["data"]["sources.txt"].splitlines()
    )


class Pod:
    """Runs the container of a job without Kubernetes: its words, its files, its environment."""

    def __init__(self, folder: Path, store: str, addresses: dict[str, str]):
        self.folder, self.store = folder, store
        for name, given in BY_KIND["ConfigMap"]["data"].items():
            text = re.sub(
                "https://docs[.]example[.](com|org)", lambda found: addresses[found[1]], given
            )
            (folder / name).write_text(text)
        program = folder / "bin" / "llmsspider"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m llmsspider "$@"\n')
        program.chmod(0o755)

    def run(self, job: dict[str, Any], **environment: str) -> int:
        (container,) = job["template"]["spec"]["containers"]
        (mount,) = (one for one in container["volumeMounts"] if one["name"] == "sources")
        words = [*container.get("command", ["llmsspider"]), *container["args"]]
        done = subprocess.run(
            [word.replace(mount["mountPath"], str(self.folder)) for word in words],
            cwd=self.folder,
            env={
                **os.environ,
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "LLMS_STORE_URL": self.store,
                "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
                "RETRY_ENABLED": "False",
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=HANGS_SECS,
        )
        self.log = done.stderr
        return done.returncode


@pytest.mark.postgresql
def test_the_containers_crawl_into_postgresql(serve, postgresql_url, tmp_path: Path) -> None:
    site, other = serve(PLAIN), serve({})
    pod = Pod(tmp_path, postgresql_url, {"com": site.url, "org": other.url})
    assert pod.run(JOBS["Job"], JOB_COMPLETION_INDEX="0") == 0, pod.log
    (source,) = Stores(postgresql_url, tmp_path).list()
    assert (source.name, source.status) == ("example", "INDEXED")
    assert pod.run(JOBS["Job"], JOB_COMPLETION_INDEX="1") == 1, pod.log
    other.pages.update(PLAIN)
    assert pod.run(JOBS["CronJob"]) == 0, pod.log
    found = {one.name: one.status for one in Stores(postgresql_url, tmp_path).list()}
    assert found == {"example": "INDEXED", "other": "INDEXED"}
    (tmp_path / "sources.toml").write_text("[[sources]]\nurl = 1\n")
    assert pod.run(JOBS["CronJob"]) == 2
