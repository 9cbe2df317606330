"""What happens to a conversion worker costs the page it works on, and no other."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from llmsspider.errors import ConversionError
from llmsspider.workers import MAX_READ_IN_PLACE, ConversionPool

URL = "https://e.com/a"
FAULTS = {
    "killed, as the kernel does when memory is short": (signal.raise_signal, (signal.SIGKILL,), "died"),
    "crashed": (os.abort, (), "died"),
    "left": (os._exit, (3,), "died"),
    "out of memory": (bytearray, (1 << 60,), "ran out of memory"),
    "hangs": (time.sleep, (3600,), "longer than"),
    "raises": (os.stat, ("/nowhere/at all",), "FileNotFoundError"),
}


@pytest.fixture(scope="module")
def pool():
    pool = ConversionPool(1, 60.0, "native")
    pool.open()
    asyncio.run(pool.convert(b"<p>Started.</p>", URL, None))
    yield pool
    pool.close()


@pytest.mark.parametrize(("function", "arguments", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_a_worker_costs_its_page(pool, function, arguments, said):
    async def convert() -> list[object]:
        pool.timeout_secs = 3.0 if function is time.sleep else 60.0
        fault = asyncio.ensure_future(pool._run(function, arguments))
        await asyncio.sleep(0)  # it is on its way, with its time limit
        pool.timeout_secs = 60.0
        pages = (pool.convert(f"<main><p>Page {n}.</p></main>".encode(), URL, None) for n in range(5))
        return await asyncio.gather(fault, *pages, return_exceptions=True)

    error, *pages = asyncio.run(convert())
    assert isinstance(error, ConversionError)
    assert said in str(error)
    assert [getattr(page, "markdown", page) for page in pages] == [f"Page {n}.\n" for n in range(5)]


@pytest.mark.parametrize(
    ("characters", "starts"), [(MAX_READ_IN_PLACE, False), (MAX_READ_IN_PLACE + 1, True)]
)
def test_short_markdown_starts_no_worker(characters, starts):
    pool = ConversionPool(1, 60.0, "native")
    pool.open(at_once=False)
    try:
        text = "# A\n\n[b](/b) " + "c" * (characters - 13)
        page = asyncio.run(pool.read_markdown(text, URL))
        assert (page.meta.title, page.follow) == ("A", ["https://e.com/b"])
        assert (pool._starting is not None) is starts
    finally:
        pool.close()
