"""What a worker process runs: it answers calls that come over its socket, one at a time, until the socket is closed.

It imports little: each worker would pay for it. The other end is `processes`.
"""

from __future__ import annotations

import contextlib
import pickle
import signal
import socket
import struct
from typing import TYPE_CHECKING, TypeVar

from llmsspider.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

LENGTH = struct.Struct("!Q")
"""Precedes each message: its length in bytes."""


def message(value: object) -> bytes:
    """Return a value pickled, with its length before it."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def serve(stream: socket.socket, prepare: Callable[[], object]) -> None:
    """Answer calls until the other end of the stream is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the crawling process handles Ctrl-C and stops its workers
    stream.setblocking(True)
    prepare()
    with contextlib.suppress(ConnectionError), stream, stream.makefile("rb") as calls:
        stream.sendall(b"+")
        while len(head := calls.read(LENGTH.size)) == LENGTH.size:
            stream.sendall(_answer(calls.read(LENGTH.unpack(head)[0])))


def _answer(call: bytes) -> bytes:
    try:
        function, arguments, timeout_secs = pickle.loads(call)  # noqa: S301  # written by `Worker.call`
        with _ends_itself(2 * timeout_secs):
            return message(attempt(function, arguments))
    except ConversionError as error:
        return message(ConversionError(str(error)))
    except Exception as error:  # a result that cannot be pickled
        return message(ConversionError(f"conversion failed: {type(error).__name__}: {error}"))


@contextlib.contextmanager
def _ends_itself(secs: float) -> Iterator[None]:
    """Kill this process by SIGALRM after `secs` seconds, in case the parent that enforces the timeout has died."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, secs)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def attempt(function: Callable[..., T], arguments: Sequence[object]) -> T:
    """Call a function; turn any exception it raises into a `ConversionError`, which fails one page."""
    try:
        return function(*arguments)
    except ConversionError:
        raise
    except MemoryError:
        raise ConversionError("the conversion ran out of memory") from None
    except Exception as error:
        raise ConversionError(f"conversion failed: {type(error).__name__}: {error}") from error
