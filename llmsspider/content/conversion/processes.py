"""Worker processes: one that crashes, hangs or is killed loses only the call it was running.

Workers share no state: each has one socket to this process and runs one call at a time, so the end
of the stream identifies the lost call, which is retried once in another process. Everything runs in
the event loop, except that processes are started in a thread, because that may block.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import pickle
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from multiprocessing import connection, resource_tracker
from typing import TYPE_CHECKING, TypeVar, cast

from llmsspider.errors import ConversionError

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext

    if sys.platform == "win32":
        Context = SpawnContext
    else:
        from multiprocessing.context import ForkServerContext

        Context = ForkServerContext | SpawnContext

T = TypeVar("T")

logger = logging.getLogger(__name__)

ATTEMPTS = 2
"""Maximum number of processes for one call: the first may have been killed for what others did."""

STARTS = 5
"""Maximum number of starts for one call while no process becomes ready."""

RESTART_SECS = 0.1
"""Seconds before the second start, doubled before each further one: a server of forks that was
killed refuses connections before `multiprocessing` sees that it has ended.
"""

START_SECS = 60.0
"""Seconds for a process to become ready."""

EXIT_SECS = 5.0
"""Seconds for a process to end after its socket is closed."""

_LENGTH = struct.Struct("!Q")
"""Precedes each message: its length in bytes."""

_CHUNK = 1 << 18

_LOCK = threading.Lock()
"""Held while a process is started or its exit code read: `multiprocessing` looks at all processes
there, unlocked.
"""


class Worker:
    """One process and the socket to it; raises `OSError` or `EOFError` when it did not start."""

    def __init__(self, context: Context, serve: Callable[[socket.socket], object]):
        self._socket, theirs = socket.socketpair()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        try:
            with theirs, _LOCK, _main_unseen():
                self.process.start()
            self._socket.settimeout(START_SECS)
            if not self._socket.recv(1):
                raise EOFError("it ended before it was ready")
        except BaseException:
            self.kill()
            raise
        self._socket.setblocking(False)

    def is_idle(self) -> bool:
        """Return whether the process is alive and waits for a call: then its socket has nothing to
        read.
        """
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except OSError as error:
            return isinstance(error, BlockingIOError)
        return False

    async def call(
        self, function: Callable[..., T], arguments: Sequence[object], timeout_secs: float
    ) -> T:
        """Return what the function returns in the process, or its `ConversionError`; raising ends
        the process's use.
        """
        received = bytearray()
        expected = _LENGTH.size
        async with asyncio.timeout(timeout_secs):
            loop = asyncio.get_running_loop()
            call = pickle.dumps(
                (function, arguments, timeout_secs), protocol=pickle.HIGHEST_PROTOCOL
            )
            await loop.sock_sendall(self._socket, _LENGTH.pack(len(call)) + call)
            while len(received) < expected:
                part = await loop.sock_recv(self._socket, _CHUNK)
                if not part:
                    raise EOFError("it ended before it answered")
                received += part
                if expected == _LENGTH.size <= len(received):
                    expected += _LENGTH.unpack_from(received)[0]
        return pickle.loads(memoryview(received)[_LENGTH.size :])  # type: ignore[no-any-return]  # noqa: S301  # of `serve`

    def close(self) -> None:
        """Close the socket: an idle process ends by itself. No call may be under way."""
        self._socket.close()

    def stop(self) -> None:
        """Kill the process; a running call raises `EOFError`."""
        if self.process.pid is not None:
            self.process.kill()

    def kill(self) -> None:
        """Kill the process and close the socket. No call may be under way."""
        self.close()
        self.stop()

    def exit_code(self) -> int | None:
        """Wait for a process that has closed its end of the socket; returns its exit code, negative
        for a signal.
        """
        if not _LOCK.acquire(timeout=EXIT_SECS):
            return None
        try:
            self.process.join(EXIT_SECS)
            if self.process.exitcode is None:
                self.process.kill()
            return self.process.exitcode
        finally:
            _LOCK.release()


class ProcessPool:
    """Calls functions in `size` processes, which `serve` a socket; modules in `preload` are
    imported before a fork.
    """

    def __init__(self, size: int, preload: Sequence[str], serve: Callable[[socket.socket], object]):
        self.size = size
        self._preload = list(preload)
        self._serve = serve
        self._slots = asyncio.Semaphore(size)
        self._starting: list[Future[Worker]] = []
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._closed = False

    @property
    def has_started(self) -> bool:
        """True when there are processes, or will be soon."""
        return bool(self._starting or self._idle or self._busy)

    @property
    def pids(self) -> list[int]:
        """Ids of the processes that are ready or busy."""
        return [pid for one in (*self._idle, *self._busy) if (pid := one.process.pid) is not None]

    def start(self) -> None:
        """Start all processes, in the background; without it each is started when it is needed."""
        self._starting += [self._start() for _ in range(self.size)]

    async def run(
        self, function: Callable[..., T], arguments: Sequence[object], timeout_secs: float
    ) -> T:
        """Return what the function returns in a process; raises its `ConversionError`, or
        `TimeoutError`.
        """
        async with self._slots:
            for _ in range(ATTEMPTS):
                worker = await self._ready_worker()
                self._busy.add(worker)
                try:
                    answer = await worker.call(function, arguments, timeout_secs)
                except (EOFError, ConnectionError):
                    worker.close()
                except BaseException:  # a late result would be taken for that of the next call
                    worker.kill()
                    raise
                else:
                    self._idle.append(worker)
                    if isinstance(answer, ConversionError):
                        raise answer
                    return answer
                finally:
                    self._busy.discard(worker)
                exit_code = await asyncio.to_thread(worker.exit_code)
                if self._closed:
                    break
                logger.warning("A conversion worker died (exit code %s)", exit_code)
            raise ConversionError(f"the conversion worker died (exit code {exit_code})")

    async def _ready_worker(self) -> Worker:
        """Return an idle process, or a new one; a process that died while idle lost no call and is
        replaced.
        """
        while self._idle:
            if (worker := self._idle.pop()).is_idle():
                return worker
            worker.close()
        failure: Exception = EOFError("it ended before it was ready")
        for start in range(STARTS):
            if start:
                await asyncio.sleep(RESTART_SECS * 2 ** (start - 1))
            future = self._starting.pop(0) if self._starting else self._start()
            try:
                worker = await asyncio.wait_for(asyncio.wrap_future(future), START_SECS)
            except (EOFError, OSError) as error:  # includes TimeoutError, a subclass of OSError
                failure = error
                continue
            if worker.is_idle() and not self._closed:
                return worker
            worker.close()
        raise ConversionError(f"no conversion worker starts: {failure}")

    def _start(self) -> Future[Worker]:
        if self._closed:
            raise ConversionError("the conversion workers were stopped")
        future: Future[Worker] = Future()
        threading.Thread(
            target=self._fulfil, args=(future,), name="start-worker", daemon=True
        ).start()
        return future

    def _fulfil(self, future: Future[Worker]) -> None:
        resource_tracker.ensure_running()  # its start would unblock the signal again
        context: Context = multiprocessing.get_context("spawn")
        if sys.platform != "win32":
            # Ctrl-C is for the crawl; `warm` ends it
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(self._preload)
        try:
            worker = Worker(context, self._serve)
        except Exception as error:
            with contextlib.suppress(InvalidStateError):
                future.set_exception(error)
            return
        try:
            future.set_result(worker)
        except InvalidStateError:  # the future was cancelled
            worker.close()

    def close(self) -> None:
        """Stop all processes: busy ones are killed, and those that still run after `EXIT_SECS`.

        Idempotent.
        """
        self._closed = True
        starting = self._starting
        self._starting = []
        self._idle += [one.result() for one in starting if not one.cancel() and not one.exception()]
        left = {worker.process.sentinel: worker for worker in (*self._idle, *self._busy)}
        for worker in self._idle:
            worker.close()
        for worker in self._busy:
            worker.stop()
        self._idle.clear()
        deadline = time.monotonic() + EXIT_SECS
        while left and (secs := deadline - time.monotonic()) > 0:
            for ended in connection.wait(list(left), secs):
                del left[cast("int", ended)]
        for worker in left.values():
            worker.stop()


@contextlib.contextmanager
def _main_unseen() -> Iterator[None]:
    """Keep `multiprocessing` from importing `__main__`, `/usr/bin/scrapy` with all of Scrapy, again
    in each process.
    """
    main = sys.modules["__main__"]
    file = main.__dict__.pop("__file__", None)
    try:
        yield
    finally:
        if file is not None:
            main.__file__ = file
