"""Configuration lines of MCP clients for this server (docs/mcp.md has the same ones)."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "codex")
"""The clients whose configuration is known."""

NAME = "docs"
"""What the server is called in them."""


def configuration(client: str, arguments: Sequence[str]) -> str:
    """Return what a client is given, with the file it belongs into.

    Args:
        client: one of `CLIENTS`.
        arguments: of `llmsspider mcp`.
    """
    command = [_program(), "mcp", *arguments]
    if client == "claude-code":
        return f"claude mcp add {NAME} -- {shlex.join(command)}"
    entry = {"command": command[0], "args": command[1:]}
    if client == "codex":
        listed = ", ".join(json.dumps(part) for part in command[1:])
        return f"# ~/.codex/config.toml\n[mcp_servers.{NAME}]\ncommand = {json.dumps(command[0])}\nargs = [{listed}]"
    if client == "vscode":
        return "// .vscode/mcp.json\n" + json.dumps({"servers": {NAME: {"type": "stdio", **entry}}}, indent=2)
    file = ".cursor/mcp.json" if client == "cursor" else "claude_desktop_config.json"
    return f"// {file}\n" + json.dumps({"mcpServers": {NAME: entry}}, indent=2)


def _program() -> str:
    """The command as an absolute path: clients start it with a path of their own."""
    program = Path(sys.argv[0])
    return (
        str(program.absolute())
        if program.name.startswith("llmsspider") and program.exists()
        else "llmsspider"
    )
