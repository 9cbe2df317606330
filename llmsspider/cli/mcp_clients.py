"""Configuration lines of MCP clients for this server (docs/how-to/mcp.md has the same ones)."""

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

CLIENTS = (
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
)  # whose configuration is known
NAME = "docs"  # of the server, in them


def configuration(client: str, arguments: Sequence[str]) -> str:
    """Return the configuration of a client of `CLIENTS`, with the name of the file for it."""
    program = Path(sys.argv[0])  # as an absolute path: clients start it with a path of their own
    is_ours = program.name.startswith("llmsspider") and os.access(program, os.X_OK)
    start = [str(program.absolute())] if is_ours else [sys.executable, "-m", "llmsspider"]
    command = [*start, "mcp", *arguments]
    if client == "claude-code":
        return f"claude mcp add {NAME} -- {shlex.join(command)}"
    entry = {"command": command[0], "args": command[1:]}
    if client == "codex":
        listed = ", ".join(json.dumps(part) for part in command[1:])
        return (
            f"# ~/.codex/config.toml\n[mcp_servers.{NAME}]\ncommand ="
            f" {json.dumps(command[0])}\nargs = [{listed}]"
        )
    if client == "vscode":
        return "// .vscode/mcp.json\n" + json.dumps(
            {"servers": {NAME: {"type": "stdio", **entry}}}, indent=2
        )
    file = ".cursor/mcp.json" if client == "cursor" else "claude_desktop_config.json"
    return f"// {file}\n" + json.dumps({"mcpServers": {NAME: entry}}, indent=2)
