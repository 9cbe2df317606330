"""From nothing to an answer, in a Debian system with Python and nothing else: needs root and debootstrap.

Two systems are made, none has a cache. In one the base is installed and crawls a site of this machine; in the other the
base with `mcp`, which crawls the same site and answers a question with the address of the page. Said of each step: wall
seconds, CPU seconds (user and system, of the processes of the step), megabytes downloaded and on disk; and the load of
the machine, since wall time means little on a busy one. `--packages` lists what each package takes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from container_check import CHROOT, debian
from release_check import ASK, LOCAL, build, serving

PLACE = "opt/llmsspider"
MEGABYTES = {"kB": 1e-3, "MB": 1.0, "GB": 1e3}
SIZES = """
import importlib.metadata, json
print(json.dumps({
    one.name: [
        sum(path.stat().st_size for file in one.files or () if (path := file.locate()).is_file()
            and (path.suffix == ".pyc") is compiled)
        for compiled in (False, True)
    ]
    for one in importlib.metadata.distributions()
}))
"""
"""Bytes of each package on disk, without compiled Python and of that alone."""

NOT_OURS = {"pip", "setuptools", "wheel"}
"""What an environment holds before anything is installed."""


@dataclass
class Steps:
    """A system, and what each step in it took: name, wall seconds, CPU seconds."""

    folder: Path
    taken: list[tuple[str, float, float]] = field(default_factory=list)

    def run(self, *command: str) -> str:
        """Run a command inside, which must end well; returns its stdout."""
        pip = {
            name: value
            for name, value in os.environ.items()
            if name.startswith("PIP_") and "/" not in value
        }
        done = subprocess.run(
            [CHROOT, str(self.folder), *command],
            env={"PATH": "/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", **pip},
            cwd="/", capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return done.stdout

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure what is done inside."""
        began, before = time.monotonic(), _cpu_secs()
        yield
        self.taken.append((name, time.monotonic() - began, _cpu_secs() - before))

    def install(self, wheel: Path, extra: str) -> float:
        """Install a wheel into an environment of its own; returns the megabytes that were downloaded."""
        target = self.folder / "root" / wheel.name
        target.write_bytes(wheel.read_bytes())
        with self.step(f"install {extra or 'the base'}"):
            self.run("python3", "-m", "venv", f"/{PLACE}")
            pip = [f"/{PLACE}/bin/pip", "install", "--no-cache-dir", "--disable-pip-version-check"]
            said = self.run(*pip, "--progress-bar", "off", f"/root/{wheel.name}{extra}")
        sizes = re.findall(r"Downloading \S+ \(([\d.]+) ([kMG]B)\)", said)
        return (
            sum(float(number) * MEGABYTES[unit] for number, unit in sizes)
            + wheel.stat().st_size / 1e6
        )

    def packages(self) -> dict[str, list[int]]:
        """Bytes on disk of each package that was installed."""
        found: dict[str, list[int]] = json.loads(self.run(f"/{PLACE}/bin/python", "-c", SIZES))
        return {name: size for name, size in found.items() if name.lower() not in NOT_OURS}

    def crawl(self, url: str, pages: int) -> None:
        """Crawl the site into /root/docs."""
        with self.step(f"crawl {pages} pages"):
            said = self.run(f"/{PLACE}/bin/llmsspider", f"{url}/", "-o", "/root/docs", "-s", LOCAL)
        assert f"{pages} pages of " in said, said

    def ask(self, url: str) -> None:
        """Ask the MCP server as an agent does; the answer names the page."""
        with self.step("answer of MCP"):
            done = self.run(
                f"/{PLACE}/bin/python", "-c", ASK, f"/{PLACE}/bin/llmsspider", "/root/docs"
            )
        assert f"{url}/part77.html" in json.loads(done), done


def main() -> None:
    """Do both ways, and print what they took."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=150, help="pages of the site that is crawled")
    options.add_argument(
        "--packages", action="store_true", help="list what each package of the base takes on disk"
    )
    given = options.parse_args()
    if os.geteuid() != 0:
        sys.exit("chroot needs root")
    with tempfile.TemporaryDirectory(prefix="ninety-seconds-") as name:
        folder = Path(name)
        wheel = build(folder)
        empty = debian(folder / "empty", "python3,python3-venv,ca-certificates")
        with serving(folder / "site", given.pages) as url:
            for extra in ("", "[mcp]"):
                subprocess.run(["cp", "-a", str(empty), str(folder / f"system{extra}")], check=True)
                steps = Steps(folder / f"system{extra}")
                load = os.getloadavg()[0]
                downloaded = steps.install(wheel, extra)
                sizes = steps.packages()
                steps.crawl(url, given.pages)
                if extra:
                    steps.ask(url)
                tell(steps, downloaded, sizes, load)
                if given.packages and not extra:
                    weigh(sizes)


def tell(steps: Steps, downloaded: float, sizes: dict[str, list[int]], load: float) -> None:
    """Print what one way took."""
    for name, wall, cpu in steps.taken:
        sys.stdout.write(f"{name:<20} {wall:6.1f} s, {cpu:5.1f} s of CPU\n")
    wall, cpu = (sum(step[which] for step in steps.taken) for which in (1, 2))
    sys.stdout.write(
        f"{'from nothing':<20} {wall:6.1f} s, {cpu:5.1f} s of CPU; load {load:.1f} when it began\n"
    )
    source, compiled = (sum(size[which] for size in sizes.values()) / 1e6 for which in (0, 1))
    sys.stdout.write(
        f"{'':<20} {downloaded:.0f} MB downloaded, {source:.0f} MB on disk and {compiled:.0f} MB of compiled Python\n\n"
    )


def weigh(sizes: dict[str, list[int]]) -> None:
    """Print the packages, the largest first."""
    for name, (source, compiled) in sorted(sizes.items(), key=lambda one: -one[1][0]):
        sys.stdout.write(f"{name:<24} {source / 1e6:6.1f} MB, {compiled / 1e6:5.1f} MB compiled\n")


def _cpu_secs() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
