"""Run the steps of the Dockerfile in a Debian system of its own, where there is no container engine: needs root.

`debootstrap` makes the system that stands in for the base image; FROM, ENV, WORKDIR, COPY, RUN, USER are done as they
are written, stage by stage. Then the image's program crawls a site as the image's user, and its health check runs.
"""

from __future__ import annotations

import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from docs_site import Quiet

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
CHROOT = shutil.which("chroot") or "/usr/sbin/chroot"
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
SYSTEM_FILES = ("etc/resolv.conf", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt")
"""Files of this machine that tell the system inside how to reach a package index."""


@dataclass
class Stage:
    """One stage of the Dockerfile, as far as it was built."""

    folder: Path
    environment: dict[str, str] = field(
        default_factory=lambda: {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
        }
    )
    workdir: str = "/"
    user: str = "0"
    entrypoint: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)

    def run(self, command: list[str], check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command inside."""
        inside = f"cd {shlex.quote(self.workdir)} && exec {shlex.join(command)}"
        pip = {
            name: value
            for name, value in os.environ.items()
            if name.startswith("PIP_") and "/" not in value
        }
        done = subprocess.run(
            [CHROOT, f"--userspec={self.user}:{self.user}", str(self.folder), "/bin/sh", "-c", inside],
            env={**pip, **self.environment}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if check and done.returncode:
            sys.exit(f"{shlex.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return done


def main() -> None:
    """Build, crawl, check."""
    if os.geteuid() != 0:
        sys.exit("chroot needs root")
    with tempfile.TemporaryDirectory(prefix="container-check-") as name:
        folder = Path(name)
        began = time.monotonic()
        base = debian(folder / "base")
        made = time.monotonic()
        image = build(folder, base)
        built = time.monotonic()
        use(image, folder / "site")
        size = (
            sum(path.stat().st_size for path in (image.folder / "opt").rglob("*") if path.is_file())
            / 1e6
        )
        sys.stdout.write(
            f"base system {made - began:.0f} s, steps of the Dockerfile {built - made:.0f} s, "
            f"/opt/llmsspider {size:.0f} MB; crawled as user {image.user}, health check 0\n"
        )


def debian(folder: Path, packages: str = PACKAGES) -> Path:
    """Make a system of the release that the base image has, with nothing but some packages."""
    run(
        "debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", str(folder), MIRROR
    )
    (folder / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    for file in SYSTEM_FILES:
        if Path("/", file).exists():
            shutil.copy2(Path("/", file), folder / file)
    return folder


def build(folder: Path, base: Path) -> Stage:
    """Do the steps of the Dockerfile; returns the last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(base)
    for instruction, rest in instructions():
        if instruction == "FROM":
            image, _, name = rest.partition(" AS ")
            assert re.fullmatch(r"python:\d+\.\d+\.\d+-slim-bookworm", image), (
                f"{image} is not pinned"
            )
            place = folder / f"stage{len(stages)}"
            run("cp", "-a", str(base), str(place))
            stage = stages[name or str(len(stages))] = Stage(place)
        elif instruction == "ENV":
            pairs = (pair.split("=", 1) for pair in shlex.split(rest))
            stage.environment |= {
                key: value.replace("$PATH", stage.environment["PATH"]) for key, value in pairs
            }
        elif instruction == "WORKDIR":
            stage.workdir = rest
            (stage.folder / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif instruction == "COPY":
            copy(rest, stage, stages)
        elif instruction == "RUN":
            stage.run(["/bin/sh", "-c", rest])
        elif instruction == "USER":
            stage.user = rest
        elif instruction == "HEALTHCHECK":
            stage.health = json.loads(rest.partition("CMD ")[2])
        elif instruction == "ENTRYPOINT":
            stage.entrypoint = json.loads(rest)
        else:
            assert instruction in {"VOLUME", "CMD"}, f"{instruction} is not known here"
    return stage


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with what follows them."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def copy(rest: str, stage: Stage, stages: dict[str, Stage]) -> None:
    """Copy from the checkout, as far as .dockerignore lets it, or from another stage."""
    words = rest.split()
    source, ignored = ROOT, (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    if words[0].startswith("--from="):
        source = stages[words.pop(0).removeprefix("--from=")].folder
    *names, target = words
    place = stage.folder / os.path.normpath(Path(stage.workdir, target)).lstrip("/")
    for name in names:
        assert source != ROOT or f"!{name.rstrip('/')}" in ignored, (
            f".dockerignore keeps {name} out"
        )
        found = source / name.lstrip("/")
        if found.is_dir():
            shutil.copytree(
                found, place, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy2(
                found, place / found.name if len(names) > 1 or target.endswith("/") else place
            )


def use(image: Stage, site: Path) -> None:
    """Crawl with the image as its user, and run the health check."""
    site.mkdir()
    (site / "index.html").write_text(
        "<title>Home</title><h1>Home</h1><p>Welcome. <a href=b.html>b</a>"
    )
    (site / "b.html").write_text("<title>B</title><h1>B</h1><p>The other page.")
    handler = partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        done = image.run(
            [*image.entrypoint, url, "-o", "docs", "-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1"]
        )
        server.shutdown()
    assert "2 pages of" in done.stdout, done.stdout + done.stderr
    page = image.folder / "data/docs/b.md"
    assert str(page.stat().st_uid) == image.user != "0"
    assert image.run(image.health).returncode == 0
    assert "mcp" in image.run([*image.entrypoint, "mcp", "--help"]).stdout
    assert image.run(["python", "-c", "import mcp, psycopg"]).returncode == 0


def run(*command: str) -> None:
    """Run a command that must end well."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{shlex.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


if __name__ == "__main__":
    main()
