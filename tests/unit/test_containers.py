"""The container files of this project and of `llmsspider init`, read the way a container engine would.

No engine runs here: who owns what in an image follows from its Dockerfile, and a volume takes its owner from the image.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath

import pytest
import yaml

from llmsspider.commands.init import write_project

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOYMENT = (ROOT / "docs" / "how-to" / "deployment.md").read_text(encoding="utf-8")
MADE_LOCALLY = set(re.findall(r"docker build -t (\S+) \.", DEPLOYMENT))
"""The images that docs/how-to/deployment.md builds, by name and tag."""

OWN_MOUNTS = {"postgres": "/var/lib/postgresql/data"}
"""Images of others: the mount point that belongs to the user they run as."""


@dataclass
class Image:
    """What a Dockerfile makes: the owner of each folder it creates, the user and folder of its processes."""

    owners: dict[str, str] = field(default_factory=lambda: {"/": "0"})
    user: str = "0"
    workdir: str = "/"
    environment: dict[str, str] = field(default_factory=dict)

    def owner(self, path: str) -> str:
        """The owner of a volume that is mounted there: root's where the image has no such folder."""
        return self.owners.get(path, "0")

    def do(self, instruction: str, rest: str, images: dict[str, Image]) -> None:
        """Do one instruction of a Dockerfile."""
        if instruction == "FROM":
            words = rest.split()
            made = images.get(words[0], Image())
            self.owners, self.user, self.workdir = dict(made.owners), made.user, made.workdir
            self.environment = dict(made.environment)
        elif instruction == "USER":
            self.user = rest
        elif instruction == "ENV":
            self.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif instruction in {"WORKDIR", "COPY"}:
            target = str(PurePosixPath(self.workdir, shlex.split(rest)[-1]))
            self.owners.setdefault(target, "0")
            self.workdir = target if instruction == "WORKDIR" else self.workdir
        elif instruction == "RUN":
            for command in rest.split("&&"):
                self.run(shlex.split(command))

    def run(self, words: list[str]) -> None:
        """Do what a command means for owners; only those that make users and folders matter."""
        given = dict(pairwise(words))
        if words[0] == "useradd" and "--create-home" in words:
            self.owners[given["--home-dir"]] = given["--uid"]
        elif words[0] == "install" and "-d" in words:
            self.owners[words[-1]] = given.get("-o", "0")


def built(dockerfile: Path, images: dict[str, Image]) -> Image:
    """The image of a Dockerfile; its last stage counts."""
    image = Image()
    text = dockerfile.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction.isupper():
            image.do(instruction, rest.strip(), images)
    return image


def tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def is_pinned(name: str) -> bool:
    """Whether it is an image of a registry, with its version."""
    return bool(re.fullmatch(r"[a-z/]+:\d+\.\d[\w.-]*", name)) and not name.startswith(
        "llmsspider:"
    )


OURS = built(ROOT / "Dockerfile", {})
IMAGES = {name: OURS for image in MADE_LOCALLY for name in {image, tagged(image)}}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "mydocs"
    write_project("mydocs", folder)
    return folder


@pytest.fixture(params=["ours", "init"])
def place(request: pytest.FixtureRequest, project: Path) -> Path:
    return ROOT if request.param == "ours" else project


def services(place: Path) -> dict[str, dict]:
    return yaml.safe_load((place / "compose.yaml").read_text(encoding="utf-8"))["services"]


def mounts(service: dict) -> list[tuple[str, str, bool]]:
    """The volumes of a service: what, where, and whether it is read-only."""
    return [
        (source, target, "ro" in rest)
        for source, target, *rest in (v.split(":") for v in service.get("volumes", []))
    ]


def test_every_base_image_is_one_that_can_be_had(place: Path) -> None:
    bases = re.findall(
        r"^FROM (\S+)", (place / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    for base in bases:
        assert is_pinned(base) or tagged(base) in IMAGES, (
            f"{base}: neither pinned nor built by docs/how-to/deployment.md"
        )


def test_every_image_of_compose_is_built_there_or_pinned(place: Path) -> None:
    for name, service in services(place).items():
        assert "build" in service or is_pinned(service["image"]), name


def test_every_process_of_ours_can_write_where_it_is_told_to(place: Path) -> None:
    image = built(place / "Dockerfile", IMAGES)
    assert image.user.isdecimal()
    assert image.user != "0"
    written = image.environment["LLMS_DATA_DIR"]
    assert image.owner(written) == image.user
    for name, service in services(place).items():
        for source, target, read_only in mounts(service):
            if source.startswith((".", "/")):
                assert read_only, f"{name}: {source} belongs to whoever owns it on the machine"
            elif "build" in service:
                assert image.owner(target) == image.user, (
                    f"{name}: a volume at {target} belongs to root"
                )
            else:
                assert target == OWN_MOUNTS[service["image"].partition(":")[0]], name


def test_no_password_is_copied_into_an_image(place: Path) -> None:
    ignored = (place / ".dockerignore").read_text(encoding="utf-8").split()
    copied = re.findall(
        r"^COPY (?!--from)(.*) \S+$", (place / "Dockerfile").read_text(), re.MULTILINE
    )
    assert "." not in copied or ".env" in ignored


def test_every_volume_is_declared_and_used(place: Path) -> None:
    declared = yaml.safe_load((place / "compose.yaml").read_text(encoding="utf-8"))["volumes"]
    named = {
        source
        for one in services(place).values()
        for source, _, _ in mounts(one)
        if source[0] not in "./"
    }
    assert set(declared) == named


def test_the_examples_of_docker_run_mount_what_the_process_can_write() -> None:
    found = re.findall(r"docker run .*?-v \"?([^\s\"]+)\"? (\S+)", DEPLOYMENT)
    assert found
    for volume, image in found:
        source, _, target = volume.partition(":")
        assert not source.startswith(("$", ".", "/")), (
            f"{source}: a folder that Docker makes belongs to root"
        )
        assert IMAGES[image].owner(target) == IMAGES[image].user
