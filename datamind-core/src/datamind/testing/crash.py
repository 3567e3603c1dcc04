"""A write in a process that is killed as soon as the write has returned: what is left is what was durable."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

from datamind.plugins import load_attribute
from datamind.testing.providers import ProviderTarget

_WRITTEN = b"written\n"


async def write_and_die(target: ProviderTarget, folder: Path, write: str, *, timeout_s: float = 60.0) -> None:
    """Open the provider in a child process, await ``write(provider)`` there, and kill the child.

    The child is not told to stop: nothing is closed and nothing is flushed.

    Args:
        target: What to open.
        folder: For the profile, as in ``ProviderTarget.open``.
        write: ``"module:attr"`` of ``async write(provider)``, importable in the child.
        timeout_s: For the child to start and the write to return.

    Raises:
        RuntimeError: The child failed, or took too long, before the write had returned; with what it printed.
    """
    child = await _start(target, folder, write)
    assert child.stdout is not None  # piped
    line = b""
    with contextlib.suppress(TimeoutError):
        line = await asyncio.wait_for(child.stdout.readline(), timeout_s)
    with contextlib.suppress(ProcessLookupError):
        child.kill()
    _, errors = await child.communicate()
    if line != _WRITTEN:
        raise RuntimeError(f"{write} did not return in the child:\n{errors.decode(errors='replace')}")


async def _start(target: ProviderTarget, folder: Path, write: str) -> asyncio.subprocess.Process:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    arguments = ["-m", "datamind.testing.crash", target.to_json(), str(folder), write]
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
    )


async def _main(target: str, folder: str, write: str) -> None:
    provider = await ProviderTarget.from_json(target).open(Path(folder))
    await load_attribute(write)(provider)
    sys.stdout.buffer.write(_WRITTEN)
    sys.stdout.buffer.flush()
    sys.stdin.buffer.read()  # until it is killed, or the parent is gone


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
