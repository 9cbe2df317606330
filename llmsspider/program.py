"""The program that was called, for the commands that messages name: `scrapy` in a project, or `llmsspider` anywhere."""

from __future__ import annotations

import shlex

_called = "scrapy"


def call(name: str) -> None:
    """Set the program that this process was started as."""
    global _called  # noqa: PLW0603  # a process has one command line
    _called = name


def called() -> str:
    """Return the name of the program."""
    return _called


def command(*words: str) -> str:
    """Return a command to type, quoted for a shell.

    >>> command("export", "my docs", "--since", "17")
    "scrapy export 'my docs' --since 17"
    """
    return shlex.join([_called, *words])
