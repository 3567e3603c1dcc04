"""A write in a process that is killed as soon as the write has returned: what is left is what was durable."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from datamind.plugins import load_attribute
from datamind.testing.providers import ProviderTarget

_WRITTEN = b"written\n"


async def write_and_die(target: ProviderTarget, folder: Path, write: str) -> None:
    """Open the provider in a child process, await ``write(provider)`` there, and kill the child.

    The child is not told to stop: nothing is closed and nothing is flushed.

    Args:
        target: What to open.
        folder: For the profile, as in ``ProviderTarget.open``.
        write: ``"module:attr"`` of ``async write(provider)``, importable in the child.

    Raises:
        RuntimeError: The child failed before the write had returned; with what it printed.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "datamind.testing.crash", target.to_json(), str(folder), write]
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    assert child.stdout is not None and child.stderr is not None  # piped above
    line = await child.stdout.readline()
    if line == _WRITTEN:
        child.kill()
    _, errors = await child.communicate()
    if line != _WRITTEN:
        raise RuntimeError(f"{write} did not return in the child:\n{errors.decode(errors='replace')}")


async def _main(target: str, folder: str, write: str) -> None:
    provider = await ProviderTarget.from_json(target).open(Path(folder))
    await load_attribute(write)(provider)
    sys.stdout.buffer.write(_WRITTEN)
    sys.stdout.buffer.flush()
    sys.stdin.buffer.read()  # until it is killed, or the parent is gone


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
