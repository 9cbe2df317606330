"""What another command of this package answers, asked in a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

from llmsspider.errors import SearchError

COMMAND_SECS = 120.0
"""Time that a plan, or a page, may take."""


async def answer_of(*words: str) -> dict[str, Any]:
    """Return what a command prints as JSON; raises `SearchError` with its last line."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "llmsspider", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(), COMMAND_SECS)
    except TimeoutError:
        process.kill()
        raise SearchError(f"the {words[0]} took more than {COMMAND_SECS:g} s") from None
    said = errors.decode("utf-8", "replace").strip().splitlines()
    try:
        found: dict[str, Any] = json.loads(output)
    except ValueError:
        raise SearchError(said[-1] if said else f"the {words[0]} came to nothing") from None
    return found
