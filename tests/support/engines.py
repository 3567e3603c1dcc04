"""Small engines for a child process: some work, some fail, some were taken over."""

from __future__ import annotations

import atexit
import gc
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from datamind.core.errors import BudgetExceeded, InputInvalid, LimitExceeded
from datamind.engine_host import EngineReply, EngineRequest

LIMITS = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CORE")


class Bench:
    """What a test wants done. ``journal``, an option, is a file that says what was begun and finished."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._journal = Path(options["journal"]) if "journal" in options else None
        self._calls = 0
        self._kept: tuple[FileIO, ...] = ()
        atexit.register(time.sleep, options.get("linger_s", 0))
        self.operations: Mapping[str, Callable[[EngineRequest], Any]] = {
            name: getattr(self, name) for name in vars(type(self)) if not name.startswith("_") and name != "note"
        }

    def note(self, line: str) -> None:
        if self._journal:
            with self._journal.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    # What works.

    def echo(self, request: EngineRequest) -> EngineReply:
        return EngineReply(dict(request.args), request.payloads)

    def calls(self, request: EngineRequest) -> int:
        self._calls += 1
        return self._calls

    def option(self, request: EngineRequest) -> Any:
        return self._options.get(request.args["name"])

    def pid(self, request: EngineRequest) -> int:
        return os.getpid()

    def surroundings(self, request: EngineRequest) -> dict[str, Any]:
        return {
            "environment": dict(os.environ),
            "at start": Path("/proc/self/environ").read_bytes().decode(),
            "arguments": Path("/proc/self/cmdline").read_bytes().decode(),
            "descriptors": (descriptors := [number for number in range(1024) if _is_open(number)]),
            "inheritable": [number for number in descriptors if os.get_inheritable(number)],
            "group": os.getpgrp(),
            "session": os.getsid(0),
            "cwd": str(Path.cwd()),
            "path": sys.path,
            "limits": {name: list(resource.getrlimit(getattr(resource, name))) for name in LIMITS},
        }

    def read(self, request: EngineRequest) -> str:
        return b"|".join(file.read() for file in request.files).decode()

    def keep(self, request: EngineRequest) -> list[bool]:
        """Whether the files of the last request are closed, though somebody keeps them."""
        kept, self._kept = self._kept, request.files
        return [file.closed for file in kept]

    def open_files(self, request: EngineRequest) -> int:
        return sum(map(_is_open, range(1024)))

    def write(self, request: EngineRequest) -> str:
        self.note("begun")
        time.sleep(request.args.get("seconds", 0.1))
        self.note("finished")
        return "written"

    def say(self, request: EngineRequest) -> None:
        print(request.args["text"] * request.args.get("times", 1))
        print(request.args["text"], file=sys.stderr)

    def blob(self, request: EngineRequest) -> EngineReply:
        return EngineReply(None, (bytes(request.args["size"]),))

    def count(self, request: EngineRequest) -> Iterator[EngineReply]:
        """Parts of ``size`` bytes; the journal has the end, however it comes."""
        try:
            for number in range(request.args["parts"]):
                if number % 100 == 0:
                    self.note(str(number))
                time.sleep(request.args.get("pause", 0))
                yield EngineReply(number, (bytes(request.args.get("size", 0)),))
        finally:
            self.note("ended")

    def lines(self, request: EngineRequest) -> Iterator[str]:
        for file in request.files:
            yield from (line.decode() for line in file)

    def busy(self, request: EngineRequest) -> Iterator[EngineReply]:
        """Burns a processor and sends parts."""
        piece = bytes(request.args["size"])
        for _ in range(request.args["parts"]):
            sum(range(20_000))
            yield EngineReply(None, (piece,))

    def close(self, request: EngineRequest) -> None:
        time.sleep(self._options.get("close_s", 0))
        self.note("closed")

    # What fails.

    def fail(self, request: EngineRequest) -> None:
        kinds = {"value": ValueError, "key": KeyError, "input": InputInvalid, "exit": SystemExit, "end": EOFError}
        self.note("fail")
        raise kinds[request.args["kind"]](request.args.get("text", ""))

    def limit(self, request: EngineRequest) -> None:
        raise LimitExceeded("too many rows", code="limit_exceeded.rows", hint="Ask for fewer.")

    def budget(self, request: EngineRequest) -> None:
        raise BudgetExceeded("max_turns", "no engine has one")

    def fail_midway(self, request: EngineRequest) -> Iterator[int]:
        yield 1
        raise ValueError("midway")

    def endless(self, request: EngineRequest) -> None:
        self.note("endless")
        while True:
            pass

    def endless_part(self, request: EngineRequest) -> Iterator[int]:
        yield 1
        self.note("endless")
        while True:
            pass

    def endless_with_a_child(self, request: EngineRequest) -> None:
        import subprocess  # not at every start

        self.note(str(subprocess.Popen(["sleep", "60"]).pid))
        while True:
            pass

    def leave_a_child(self, request: EngineRequest) -> int:
        """One that left the group and holds the output."""
        import subprocess

        return subprocess.Popen(["sleep", "60"], start_new_session=True).pid

    def allocate(self, request: EngineRequest) -> int:
        return len(bytearray(request.args["size"]))

    def allocate_as_cpp(self, request: EngineRequest) -> None:
        print("terminate called after throwing an instance of 'std::bad_alloc'", file=sys.stderr, flush=True)
        os.abort()

    def die(self, request: EngineRequest) -> None:
        self.note("dying")
        os.kill(os.getpid(), request.args.get("signal", signal.SIGKILL))

    def die_once(self, request: EngineRequest) -> str:
        flag = Path(request.args["flag"])
        if flag.exists():
            return "alive"
        flag.touch()
        os._exit(3)

    def unanswerable(self, request: EngineRequest) -> Any:
        return {"nan": float("nan"), "bytes": b"x", "surrogate": "\ud800", "large": "x" * 300_000}[request.args["kind"]]

    # What is hostile.

    def forge(self, request: EngineRequest) -> None:
        """Writes what it likes to the channel, in place of an answer."""
        for found in _sockets():
            for payload in request.payloads:
                found.sendall(payload)
        time.sleep(60)

    def hang_up(self, request: EngineRequest) -> None:
        for found in _sockets():
            found.close()
        time.sleep(60)


def _sockets() -> list[socket.socket]:
    gc.unfreeze()  # what was there before the engine is hidden from the collector
    return [found for found in gc.get_objects() if type(found) is socket.socket]


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def open_broken(options: Mapping[str, Any]) -> Bench:
    raise RuntimeError("the disk is on fire\nand the second line says more")


def open_refusing(options: Mapping[str, Any]) -> Bench:
    raise InputInvalid("there is no such file", code="input_invalid.file")


def open_exiting(options: Mapping[str, Any]) -> Bench:
    os._exit(7)


def open_endless(options: Mapping[str, Any]) -> Bench:
    while True:
        time.sleep(1)


def open_large(options: Mapping[str, Any]) -> Bench:
    bytearray(10**10)
    return Bench(options)
