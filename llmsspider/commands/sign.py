"""`scrapy sign keygen FILE`, `scrapy sign directory`: the key of signed requests, and what sites
check them by.
"""

import argparse
import os
import sys
from datetime import timedelta
from pathlib import Path

from llmsspider.cli.command import OneLineCommand
from llmsspider.cli.options import number, option
from llmsspider.cli.printing import as_json
from llmsspider.errors import ArgumentsError

WELL_KNOWN = "/.well-known/http-message-signatures-directory"


class Command(OneLineCommand):
    """Makes a key, or the directory with its public half, which is to be served at
    `LLMS_SIGN_AGENT`.
    """

    requires_project = False
    usage = "[options] keygen FILE | directory"
    options = (
        option("-o --output", "directory: write it there, its headers beside it", metavar="FILE"),
        option(
            "--days", "directory: its signature is valid so long (30)", metavar="N", default="30"
        ),
    )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Do one of the two."""
        match args:
            case ["keygen", file]:
                self._keygen(Path(file))
            case ["directory"]:
                if (days := number(opts.days)) is None or days > 9999:
                    raise ArgumentsError([f"--days {opts.days!r}: a number of days is accepted"])
                self._directory(opts.output, timedelta(days=days))
            case _:
                raise ArgumentsError(["say `sign keygen FILE` or `sign directory`"])

    def _keygen(self, path: Path) -> None:
        from llmsspider.web.credentials import new_key, thumbprint

        key, private = new_key()
        if path.exists():
            raise ArgumentsError([f"{path} exists already; a key is never overwritten"])
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(as_json(private))
        sys.stdout.write(f"{path} written, readable by you alone; keyid {thumbprint(key)}\n")
        sys.stdout.write(
            f"Next: serve what `sign directory -s LLMS_SIGN_KEY={path}` prints below"
            f" https://YOUR-HOST{WELL_KNOWN}\n"
        )

    def _directory(self, output: str | None, lifetime: timedelta) -> None:
        from llmsspider.output.exports import staged
        from llmsspider.web.credentials import Signer

        signer = Signer.from_settings(self.settings)
        agent = self.settings.get("LLMS_SIGN_AGENT")
        missing = [
            name for name in ("LLMS_SIGN_KEY", "LLMS_SIGN_AGENT") if not self.settings.get(name)
        ]
        if missing or signer is None:
            raise ArgumentsError([f"setting {name} is missing: -s {name}=…" for name in missing])
        body, headers = signer.directory(agent, lifetime)
        lines = "".join(f"{name}: {value}\n" for name, value in headers.items())
        if output is None:
            sys.stdout.write(as_json(body))
            sys.stderr.write(lines)
            return
        for path, text in ((Path(output), as_json(body)), (Path(f"{output}.headers"), lines)):
            with staged(path) as out:
                out.write(text.encode())
        sys.stdout.write(
            f"{output} and {output}.headers written: serve the one with the other's headers at"
            f" {agent}\n"
        )
