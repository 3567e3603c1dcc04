"""The parent's side of one child: starting, frames, output, the kill, and what it died of."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, Self

from datamind.core.errors import DataMindError, LimitExceeded, StoreError
from datamind.engine_host.failures import out_of_memory
from datamind.engine_host.frames import Frame, decoding
from datamind.engine_host.messages import Payload
from datamind.engine_host.output import Output
from datamind.engine_host.spec import EngineSpec, child_command, child_environment

logger = logging.getLogger(__name__)

_SLICE_BYTES: Final = 256 * 1024
_READS_IN_A_ROW: Final = 16  # a full socket never suspends its reader; these take a millisecond or two
_PREFIX_BYTES: Final = 8
_REAP_S: Final = 5.0  # a process that waits for a disk cannot be killed until it has it
_OUT_OF_MEMORY: Final = re.compile(
    rb"MemoryError|bad_alloc|memory allocation of \d+ bytes failed|out of memory|cannot allocate memory", re.IGNORECASE
)


class ChildGone(Exception):
    """The child is dead, or has closed its end."""


class Child:
    """One child process and this process's ends of its channel, its output and its lifeline.

    One task at a time sends or receives. ``kill`` may be called at any time, also while another task does.
    """

    def __init__(
        self, spec: EngineSpec, process: asyncio.subprocess.Process, sock: socket.socket, output: int, lifeline: int
    ) -> None:
        self._name = spec.name
        self._process = process
        self._socket = sock
        self._output = Output(output, spec.name)
        self._lifeline = lifeline
        self._killed = self._released = self._in_use = False
        self._reads = 0

    @classmethod
    async def spawn(cls, spec: EngineSpec) -> Self:
        """Start the process in a session of its own; it runs our code, and no engine's before it is sent one.

        Call it in a thread that outlives the child: the system counts the end of that thread as the parent's.

        Raises:
            StoreError: The system starts no process.
        """
        with ExitStack() as ours, ExitStack() as theirs:
            mine, other = socket.socketpair()
            ours.callback(mine.close)
            theirs.callback(other.close)
            mine.setblocking(False)
            stdin, lifeline = os.pipe()
            output, stdout = os.pipe()
            for stack, descriptor in ((theirs, stdin), (ours, lifeline), (ours, output), (theirs, stdout)):
                stack.callback(os.close, descriptor)
            try:
                process = await asyncio.create_subprocess_exec(
                    *child_command(other.fileno()),
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stdout,
                    pass_fds=(other.fileno(),),
                    start_new_session=True,
                    cwd="/",
                    env=child_environment(spec),
                )
            except OSError as error:
                raise StoreError(
                    f"engine {spec.name!r} cannot be started: {error}", code="store_error.start"
                ) from error
            ours.pop_all()
            return cls(spec, process, mine, output, lifeline)

    @property
    def alive(self) -> bool:
        """Whether it can be given work, as far as is known."""
        return not self._killed and self._process.returncode is None

    async def send(self, buffers: Sequence[Payload], fds: Sequence[int] = ()) -> None:
        """Send a frame; the descriptors go with its first bytes.

        Raises:
            ChildGone: The child has not had the whole frame, and so has begun nothing.
        """
        loop = asyncio.get_running_loop()
        head, *payloads = (memoryview(buffer) for buffer in buffers)
        with self._channel() as sock:
            if fds:
                socket.send_fds(sock, [head[:_PREFIX_BYTES]], list(fds))
                head = head[_PREFIX_BYTES:]
            for buffer in (head, *payloads):
                await loop.sock_sendall(sock, buffer)

    async def receive(self, max_bytes: int) -> Frame:
        """The next frame, of so many bytes at most.

        Raises:
            ChildGone: There will be none.
            FrameError: What arrives is none.
        """
        steps = decoding(max_bytes)
        try:
            wanted = next(steps)
            while True:
                wanted = steps.send(await self._read(wanted))
        except StopIteration as done:
            frame: Frame = done.value
            return frame

    async def _read(self, size: int) -> bytearray:
        loop = asyncio.get_running_loop()
        data = bytearray()  # grows with what arrives, not with what was announced
        with self._channel() as sock:
            while len(data) < size:
                piece = await loop.sock_recv(sock, min(size - len(data), _SLICE_BYTES))
                if not piece:
                    raise ChildGone
                data += piece
                self._reads += 1
                if self._reads % _READS_IN_A_ROW == 0:
                    await asyncio.sleep(0)
        return data

    @contextmanager
    def _channel(self) -> Iterator[socket.socket]:
        if self._released:
            raise ChildGone
        self._in_use = True
        try:
            yield self._socket
        except OSError:
            raise ChildGone from None
        finally:
            self._in_use = False
            self._close_when_unused()

    def kill(self) -> None:
        """End the child and its process group at once; returns before they are gone."""
        self._killed = True
        if self._released:
            return
        # Also when the child has ended by itself: a group outlives its leader, and keeps the number from others.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def ended(self, patience_s: float) -> None:
        """Wait until the process has ended, so long at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._process.wait()

    async def reap(self) -> None:
        """Kill what is left of it, wait for its end, and close every descriptor."""
        self.kill()
        await self.ended(_REAP_S)
        if self._process.returncode is None:
            logger.error("engine %r: process %d does not end although it was killed", self._name, self._process.pid)
        if not self._released:
            self._released = True
            self._output.close()
            os.close(self._lifeline)
            self._close_when_unused()

    def _close_when_unused(self) -> None:
        # The event loop watches a socket that a task waits for: closed then, its number could become another's.
        if self._released and not self._in_use:
            self._socket.close()

    def cause_of_death(self, operation: str) -> DataMindError:
        """What its exit status and last words say, once it has ended by itself."""
        status = self._process.returncode
        if status == -signal.SIGXCPU:
            return LimitExceeded(
                f"engine {self._name!r} used up its processor time in {operation!r}", code="limit_exceeded.time"
            )
        if status != 0 and _OUT_OF_MEMORY.search(self._output.tail()):
            return out_of_memory(self._name, operation)
        how = "closed its channel" if status is None else f"ended with status {status}"
        if status is not None and status < 0:
            how = f"was ended by {signal.Signals(-status).name}"
        return StoreError(f"engine {self._name!r} {how} in {operation!r}", code="store_error.engine_died")
