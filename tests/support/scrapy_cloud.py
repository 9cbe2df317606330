"""Scrapy Cloud without the platform: its own deploy tool and its own entry point, fed and read as the platform does.

The platform gives a job its data in the environment and reads what the job writes to a named pipe: log records,
requests, items, stats, outcome (scrapinghub-entrypoint-scrapy). Its jobs know nothing of this checkout: their code
comes out of the egg that `shub deploy` uploads.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from forked import HANGS_SECS
from services import need

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = (".*", "__pycache__", "build", "dist", "*.egg-info", "venv")
PROGRAMS = Path(sys.executable).parent


@dataclass
class Upload:
    """What `shub deploy` sent: the form's fields, and its files by name."""

    fields: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass
class CloudJob:
    """What the platform knows of a job that has ended."""

    exit_code: int
    messages: list[tuple[str, dict[str, Any]]]
    stderr: str

    @property
    def items(self) -> list[dict[str, Any]]:
        return self._all("ITM")

    @property
    def outcome(self) -> str | None:
        outcomes = self._all("FIN")
        return outcomes[-1]["outcome"] if outcomes else None

    @property
    def stats(self) -> dict[str, Any]:
        return self._all("STA")[-1]["stats"]

    @property
    def log(self) -> str:
        return "\n".join(record["message"] for record in self._all("LOG"))

    def logged(self, level: int) -> list[str]:
        """The messages of one level."""
        return [record["message"] for record in self._all("LOG") if record["level"] == level]

    def _all(self, kind: str) -> list[dict[str, Any]]:
        return [payload for name, payload in self.messages if name == kind]


def deploy(folder: Path, project: int = 12345) -> Upload:
    """Run `shub deploy` in a copy of the checkout; returns what reached the platform's address."""
    shutil.copytree(ROOT, folder / "checkout", ignore=shutil.ignore_patterns(*NOT_COPIED))
    upload = Upload()

    class Platform(BaseHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            pass

        def do_POST(self) -> None:
            from werkzeug.formparser import parse_form_data

            body = self.rfile.read(int(self.headers["Content-Length"]))
            _, fields, files = parse_form_data(
                {
                    "wsgi.input": io.BytesIO(body),
                    "CONTENT_LENGTH": str(len(body)),
                    "CONTENT_TYPE": self.headers["Content-Type"],
                    "REQUEST_METHOD": "POST",
                }
            )
            upload.fields = {"path": self.path, **fields.to_dict()}
            for name, file in files.items():
                upload.files[name] = file.read()
                file.close()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"status": "ok", "spiders": 2}\n')

    server = HTTPServer(("127.0.0.1", 0), Platform)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    config = folder / "scrapinghub.yml"
    config.write_text(
        f"apikeys: {{default: key}}\nendpoints: {{default: 'http://127.0.0.1:{server.server_port}/'}}\n"
    )
    try:
        subprocess.run(
            [PROGRAMS / "shub", "deploy", str(project), "--version", "1"],
            cwd=folder / "checkout",
            env=_environment(SHUB_GLOBAL_CONFIG=str(config), HOME=str(folder)),
            check=True,
            capture_output=True,
            timeout=HANGS_SECS,
        )
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    return upload


@dataclass
class ScrapyCloud:
    """The platform: an egg to run, and a number of jobs run so far."""

    egg: Path
    folder: Path
    jobs: int = 0

    def image_info(self) -> dict[str, Any]:
        """What the platform asks a new version: its spiders and their parameters."""
        done = subprocess.run(
            [PROGRAMS / "shub-image-info"],
            cwd=self._machine("image"),
            env=self._job_environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=HANGS_SECS,
        )
        return json.loads(done.stdout)

    def run(
        self,
        arguments: dict[str, str],
        settings: dict[str, Any] | None = None,
        *,
        platform: dict[str, Any] | None = None,
        timeout_secs: float = HANGS_SECS,
        **environment: str,
    ) -> CloudJob:
        """Run a job of the spider `docs` on a machine of its own, as new as the platform's are.

        Args:
            arguments: of the spider.
            settings: of the job; it converts in its own process unless they say otherwise.
            platform: what `SHUB_SETTINGS` has: settings of the project, enabled add-ons.
            timeout_secs: for the whole job.
            environment: more variables.
        """
        self.jobs = number = self.jobs + 1
        machine = self._machine(f"job-{number}")
        pipe = machine / "pipe"
        os.mkfifo(pipe)
        written: list[str] = []

        def read() -> None:
            with pipe.open(encoding="utf-8") as lines:
                written.extend(lines)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        job = {
            "key": f"12345/1/{number}",
            "spider": "docs",
            "auth": "auth",
            "spider_args": arguments,
            "settings": {
                "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
                "LLMS_CONVERT_WORKERS": 0,
                **(settings or {}),
            },
        }
        done = subprocess.run(
            [PROGRAMS / "start-crawl"],
            cwd=machine,
            env=self._job_environment(
                SHUB_FIFO_PATH=str(pipe),
                SHUB_JOB_DATA=json.dumps(job),
                SHUB_SETTINGS=json.dumps(platform or {}),
                **environment,
            ),
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_secs,
        )
        # releases the reader where the job never opened the pipe
        with contextlib.suppress(OSError):
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        reader.join()
        messages = [(line[:3], json.loads(line[4:])) for line in written]
        return CloudJob(done.returncode, messages, done.stderr)

    def _machine(self, name: str) -> Path:
        machine = self.folder / name
        machine.mkdir()
        return machine

    def _job_environment(self, **more: str) -> dict[str, str]:
        return _environment(
            PYTHONPATH=str(self.egg),
            SCRAPY_SETTINGS_MODULE="llmsspider.settings",
            HOME=str(self.folder),
        ) | dict(more)


def _environment(**more: str) -> dict[str, str]:
    """The environment of a job: nothing that points to this checkout, to its coverage run or to the user's keys."""
    ours = ("COVERAGE_", "PYTHON", "SCRAPY_", "LLMS_", "SHUB_", "AWS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PATH": f"{PROGRAMS}{os.pathsep}{kept.get('PATH', '')}", **more}


@pytest.fixture(scope="session")
def cloud_upload(tmp_path_factory: pytest.TempPathFactory) -> Upload:
    """What `shub deploy` uploads from this checkout."""
    need("Scrapy Cloud")
    return deploy(tmp_path_factory.mktemp("shub"))


@pytest.fixture(scope="session")
def scrapy_cloud(tmp_path_factory: pytest.TempPathFactory, cloud_upload: Upload) -> ScrapyCloud:
    """The platform, with this project deployed."""
    folder = tmp_path_factory.mktemp("cloud")
    egg = folder / "llmsspider.egg"
    egg.write_bytes(cloud_upload.files["egg"])
    return ScrapyCloud(egg, folder)


@contextlib.contextmanager
def dotscrapy_bucket(home: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """An S3 server for DotScrapy persistence: its client, and what the platform's settings say of it.

    Args:
        home: home folder of the jobs, where the AWS command line finds the server's address.
    """
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    write_aws_config(home, f"http://{host}:{port}")
    client = boto3.client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        region_name="us-east-1",
    )
    client.create_bucket(Bucket="scrapy-cloud")
    try:
        yield client, dotscrapy_settings()
    finally:
        client.close()
        server.stop()


def dotscrapy_settings() -> dict[str, Any]:
    """`SHUB_SETTINGS` where the add-on is enabled."""
    addon = {
        "path": "hworker.bot.ext.persistence.DotScrapyPersistence",
        "type": "EXTENSIONS",
        "order": 0,
        "default_settings": {
            "DOTSCRAPYPERSISTENCE_ENABLED": True,
            "ADDONS_S3_BUCKET": "scrapy-cloud",
            "ADDONS_AWS_ACCESS_KEY_ID": "a",
            "ADDONS_AWS_SECRET_ACCESS_KEY": "b",
            "ADDONS_AWS_USERNAME": "org",
        },
    }
    return {"enabled_addons": [addon]}


def write_aws_config(home: Path, endpoint: str) -> None:
    """Tell the AWS command line where S3 is."""
    folder = home / ".aws"
    folder.mkdir(exist_ok=True)
    (folder / "config").write_text(
        f"[default]\nregion = us-east-1\nendpoint_url = {endpoint}\nmax_attempts = 1\n"
    )
