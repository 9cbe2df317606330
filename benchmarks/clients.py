"""How long clients of the MCP server wait, alone and many at once: `python benchmarks/clients.py FOLDER`.

The official SDK's client over HTTP; each client asks the questions of `benchmarks/questions` for the sources of the
folder (`--data-dir` of the crawls), in an order of its own, so that few questions are asked twice at the same time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median, quantiles

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from llmsspider.store import Stores  # noqa: E402


def questions(sources: set[str]) -> list[tuple[str, str]]:
    """The questions on sources, with the names of those."""
    files = (
        json.loads(file.read_text(encoding="utf-8"))
        for file in (ROOT / "benchmarks/questions").glob("*.json")
    )
    return [
        (one["source"], asked["query"])
        for one in files
        if one["source"] in sources
        for asked in one["questions"]
    ]


async def client(url: str, asked: list[tuple[str, str]]) -> list[float]:
    """Ask them one after the other; returns the seconds of each."""
    took = []
    async with (
        streamable_http_client(url) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        for source, query in asked:
            began = time.perf_counter()
            answer = await session.call_tool("search", {"query": query, "source": source})
            took.append(time.perf_counter() - began)
            if answer.is_error:
                raise RuntimeError(str(answer.content))
    return took


async def measure(url: str, number: int, each: int, found: list[tuple[str, str]]) -> list[float]:
    """So many clients at once, each with so many questions."""
    chance = random.Random(number)
    return [
        one
        for took in await asyncio.gather(
            *(client(url, chance.sample(found, each)) for _ in range(number))
        )
        for one in took
    ]


def main() -> None:
    """Start the server and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 4, 16])
    parser.add_argument("--questions", type=int, default=40, help="that each client asks")
    options = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [
        "-m",
        "llmsspider",
        "mcp",
        "--http",
        f"127.0.0.1:{port}",
        "-s",
        f"LLMS_DATA_DIR={options.data_dir}",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stderr is not None
        server.stderr.readline()
        time.sleep(1)
        found = questions({record.name for record in Stores(None, options.data_dir).list()})
        url = f"http://127.0.0.1:{port}/mcp"
        asyncio.run(measure(url, 4, 20, found))  # every thread opens its indexes
        for number in options.clients:
            began = time.perf_counter()
            took = asyncio.run(measure(url, number, min(options.questions, len(found)), found))
            spread = quantiles(took, n=20)
            rate = len(took) / (time.perf_counter() - began)
            print(
                f"{number} clients: median {1000 * median(took):.0f} ms, p95 {1000 * spread[18]:.0f} ms, "
                f"{rate:.0f} answers a second"
            )
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
