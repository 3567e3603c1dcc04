"""Real processes that start in milliseconds: one that has imported everything forks a child for each job."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import inspect
import json
import os
import signal
import subprocess
import sys
import traceback
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Child:
    """A forked process at work on one job; what it prints and returns goes to files of its own."""

    pid: int
    out: Path
    forks: Forks

    def wait(self) -> int:
        """Exit status; the negative signal number if a signal ended it."""
        return self.forks.wait(self.pid)

    def result(self) -> Any:
        """What the job returned, once it has ended well."""
        status = self.wait()
        assert status == 0, f"the job ended with {status}:\n{self.printed()}"
        return json.loads((self.out / "result.json").read_text(encoding="utf-8"))

    def printed(self) -> str:
        """Standard output and error so far."""
        return (self.out / "printed.txt").read_text(encoding="utf-8", errors="replace")

    def signal(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)


class Forks:
    """Starts jobs, each named ``module:function`` and given JSON arguments. Async functions run in a fresh loop."""

    def __init__(self, folder: Path, *preload: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._numbers = count()
        self._running: set[int] = set()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, *preload],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, job: str, **args: Any) -> Child:
        """Fork a child for a job; does not wait for it."""
        out = self._folder / str(next(self._numbers))
        out.mkdir()
        (out / "printed.txt").touch()
        pid = self.ask({"job": job, "args": args, "out": str(out)})
        self._running.add(pid)
        return Child(pid, out, self)

    def run(self, job: str, **args: Any) -> Any:
        """Fork a child and wait for what its job returns."""
        return self.start(job, **args).result()

    def wait(self, pid: int) -> int:
        """Exit status of a child; it is forgotten then."""
        status = self.ask({"wait": pid})
        self._running.discard(pid)
        return status

    def preload(self, modules: list[str]) -> None:
        """Import modules before the next fork."""
        self.ask({"preload": modules})

    def ask(self, request: dict[str, Any]) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)
        self._process.communicate()


def run_here(job: str, args: dict[str, Any], out: Path) -> int:
    """Run a job in this process, its output in files; returns an exit status."""
    printed = os.open(out / "printed.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    told = (out / "result.json").open("w", encoding="utf-8")  # before the job gives up the right to
    module, _, name = job.partition(":")
    try:
        result = getattr(importlib.import_module(module), name)(**args)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        told.write(json.dumps(result))
        told.close()
    except KeyboardInterrupt:
        return 130
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def fork(job: str, args: dict[str, Any], out: Path) -> int:
    """Fork a child that runs a job; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        status = run_here(job, args, out)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def wait_for(pid: int) -> int:
    """Exit status of a child, or the negative number of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _serve() -> None:
    for module in sys.argv[1:]:
        importlib.import_module(module)
    for line in sys.stdin:
        request = json.loads(line)
        if "job" in request:
            answer = fork(request["job"], request["args"], Path(request["out"]))
        elif "wait" in request:
            answer = wait_for(request["wait"])
        else:
            for module in request["preload"]:
                with contextlib.suppress(ImportError):
                    importlib.import_module(module)
            gc.freeze()  # or every child would copy the pages that its collector touches
            answer = 0
        print(answer, flush=True)


if __name__ == "__main__":
    _serve()
