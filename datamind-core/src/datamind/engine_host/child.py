"""The child's side: limits, the factory, one request after another. Light, for it is imported at every start."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from datamind.engine_host.channel import Channel, Incoming, ParentGone
from datamind.engine_host.failures import describe_failure
from datamind.engine_host.frames import MAX_PART_BYTES
from datamind.engine_host.messages import EngineReply, EngineRequest

_PR_SET_PDEATHSIG: Final = 1


def main(descriptor: int, parent: int) -> None:
    """Serve the parent over a socket until either is gone."""
    _die_with(parent)
    sock = socket.socket(fileno=descriptor)
    sock.set_inheritable(False)
    try:
        _run(Channel(sock))
    except ParentGone:
        sys.exit(1)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the engine has flushed; to take every module apart would keep who waits for the end


def _die_with(parent: int) -> None:
    if sys.platform != "linux" or ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        from threading import Thread  # not where the system tells

        Thread(target=_exit_at_end_of_input, daemon=True).start()
    if os.getppid() != parent:  # it died before its death could be told
        os._exit(1)


def _exit_at_end_of_input() -> None:
    while os.read(0, 1024):
        pass
    os._exit(1)


def _run(channel: Channel) -> None:
    boot = channel.receive().header["args"]
    channel.max_bytes = boot["max_bytes"]
    try:
        _limit(**boot["limits"])
        operations = {"close": _do_nothing, **_made(boot["factory"], boot["options"]).operations}
        channel.send({"id": 0, "kind": "end", "value": None})
    except Exception as error:
        _print_traceback(error)
        channel.send({"id": 0, "kind": "error", "error": describe_failure(error, boot["name"], "start")})
    else:
        _Server(channel, boot["name"], operations).serve()


def _made(factory: str, options: Mapping[str, Any]) -> Any:
    """The engine; what is loaded for it stays, so the garbage collector looks at none of it."""
    module, _, name = factory.partition(":")
    gc.disable()
    try:
        engine = getattr(import_module(module), name)(options)
        gc.freeze()
    finally:
        gc.enable()
    return engine


def _print_traceback(error: Exception) -> None:
    sys.excepthook(type(error), error, error.__traceback__)  # without importing `traceback` at every start


def _limit(
    *, address_space_bytes: int | None, cpu_s: int | None, file_bytes: int | None, open_files: int | None
) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_NOFILE, open_files)
    _lower(resource.RLIMIT_FSIZE, file_bytes)
    _lower(resource.RLIMIT_CPU, cpu_s, grace=1)  # SIGXCPU, by which the parent knows the cause; then SIGKILL
    if file_bytes is not None:
        sys.dont_write_bytecode = True  # a module cut at the limit would be cached so, for everyone
    try:
        _lower(resource.RLIMIT_AS, address_space_bytes)
    except (ValueError, OSError):
        if sys.platform == "linux":
            raise


def _lower(kind: int, value: int | None, *, grace: int = 0) -> None:
    if value is None:
        return
    _, hard = resource.getrlimit(kind)
    ceiling = value + grace if hard == resource.RLIM_INFINITY else min(value + grace, hard)
    resource.setrlimit(kind, (min(value, ceiling), ceiling))


def _do_nothing(_: EngineRequest) -> None:
    pass


class _Server:
    """Answers requests with what the engine's operations return."""

    def __init__(
        self, channel: Channel, engine: str, operations: Mapping[str, Callable[[EngineRequest], object]]
    ) -> None:
        self._channel = channel
        self._engine = engine
        self._operations = operations

    def serve(self) -> None:
        usable = True
        while usable:
            incoming = self._channel.receive()
            # The end of a stream and the parent's wish to stop it may cross; the wish is then void.
            if "stop" not in incoming.header:
                usable = self._handle(incoming)

    def _handle(self, incoming: Incoming) -> bool:
        """Whether the engine can go on: after a MemoryError nobody knows what is half done, nor after ``close``."""
        header = incoming.header
        closing = header["operation"] == "close"
        try:
            self._perform(incoming)
        except Exception as error:
            _print_traceback(error)
            last = closing or isinstance(error, MemoryError)
            failure = describe_failure(error, self._engine, header["operation"])
            self._channel.send({"id": header["id"], "kind": "error", "error": failure, "last": last})
            return not last
        finally:
            for file in incoming.files:
                file.close()
        return not closing

    def _perform(self, incoming: Incoming) -> None:
        header = incoming.header
        request = EngineRequest(header["args"], incoming.payloads, tuple(incoming.files))
        operation = self._operations.get(header["operation"])
        if operation is None:
            raise LookupError(f"no such operation; there are {', '.join(sorted(self._operations))}")
        result = operation(request)
        if header["stream"]:
            self._stream(header["id"], result if isinstance(result, Iterator) else iter([result]))
        elif isinstance(result, Iterator):
            raise TypeError("it answers in parts; call it as a stream")
        else:
            self._answer(header["id"], "end", result)

    def _stream(self, request_id: int, parts: Iterable[object]) -> None:
        # A parent that does not read holds the send up: no more than one part waits here.
        try:
            for part in parts:
                self._answer(request_id, "part", part, max_bytes=MAX_PART_BYTES)
                if self._channel.waiting():
                    self._channel.receive()
                    break
        finally:
            getattr(parts, "close", lambda: None)()
        self._answer(request_id, "end", None)

    def _answer(self, request_id: int, kind: str, result: object, *, max_bytes: int | None = None) -> None:
        value, payloads = result if isinstance(result, EngineReply) else EngineReply(result)
        header: dict[str, Any] = {"id": request_id, "kind": kind, "value": value}
        self._channel.send(header, payloads, max_bytes=max_bytes)
