"""Frames over a blocking socket: the child's end of the channel."""

from __future__ import annotations

import select
import socket
from collections.abc import Mapping, Sequence
from io import FileIO
from typing import Any, Final, NamedTuple

from datamind.engine_host.frames import MAX_FILES, MAX_HEADER_BYTES, decoding, encode
from datamind.engine_host.messages import Payload

_CLOSE_ON_EXEC: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)  # macOS has no such flag


class ParentGone(BaseException):
    """Nobody is left to answer. No engine's ``except Exception`` may stop it."""


class Incoming(NamedTuple):
    """A frame, and the files that came beside it."""

    header: dict[str, Any]
    payloads: tuple[memoryview, ...]
    files: list[FileIO]


class Channel:
    """The child's end. The parent is trusted, so a broken frame is only a reason to end."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.max_bytes = MAX_HEADER_BYTES

    def receive(self) -> Incoming:
        """The next frame.

        Raises:
            ParentGone: There will be none.
        """
        files: list[FileIO] = []
        steps = decoding(self.max_bytes)
        try:
            wanted = steps.send(self._read(next(steps), files))  # descriptors come with a frame's first bytes
            while True:
                wanted = steps.send(self._read(wanted))
        except StopIteration as done:
            return Incoming(done.value.header, done.value.payloads, files)

    def send(
        self, header: Mapping[str, Any], payloads: Sequence[Payload] = (), *, max_bytes: int | None = None
    ) -> None:
        """Send one frame, waiting until the parent reads.

        Raises:
            FrameError: It cannot be encoded, and nothing was sent.
            ParentGone: Nobody reads.
        """
        buffers = encode(header, payloads, max_bytes=min(max_bytes or self.max_bytes, self.max_bytes))
        try:
            for buffer in buffers:
                self._socket.sendall(buffer)
        except OSError:
            raise ParentGone from None

    def waiting(self) -> bool:
        """Whether the parent has sent something, or is gone."""
        poll = select.poll()  # select() knows no descriptor above 1023, and this one has its number from the parent
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def _read(self, size: int, files: list[FileIO] | None = None) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            got = self._read_into(view) if files is None else self._read_with_files(view, files)
            if not got:
                raise ParentGone
            view = view[got:]
        return data

    def _read_into(self, view: memoryview) -> int:
        try:
            return self._socket.recv_into(view)
        except OSError:
            raise ParentGone from None

    def _read_with_files(self, view: memoryview, files: list[FileIO]) -> int:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._socket, len(view), MAX_FILES, _CLOSE_ON_EXEC)
        except OSError:
            raise ParentGone from None
        files += [FileIO(descriptor) for descriptor in descriptors]
        view[: len(data)] = data
        return len(data)
