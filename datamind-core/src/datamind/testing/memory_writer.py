"""Processes that save memories, each save a new value of one functional fact. The child runs as ``python -m``."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from datamind.core.record import now
from datamind.testing.memory_data import make_memory
from datamind.testing.providers import ProviderTarget

_READY = "ready"


def start_writers(
    target: ProviderTarget, folder: Path, names: Sequence[str], count: int
) -> list[subprocess.Popen[str]]:
    """Start one process for each name and let them go together once all have opened the store.

    Each saves ``count`` values and prints the id of each, a line, once it is saved.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    writers = [
        subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "datamind.testing.memory_writer", target.to_json(), str(folder), name, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for name in names
    ]
    for writer in writers:
        assert writer.stdout is not None  # piped above
        if writer.stdout.readline() != f"{_READY}\n":
            raise RuntimeError(f"a writer did not open the store:\n{writer.communicate()[1]}")
    for writer in writers:
        assert writer.stdin is not None  # piped above
        writer.stdin.write("\n")
        writer.stdin.flush()
    return writers


async def _write(target: str, folder: str, name: str, count: str) -> None:
    store = await ProviderTarget.from_json(target).open(Path(folder))
    print(_READY, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for number in range(int(count)):
        value = f"{name}{number}"
        draft = make_memory(value, subject="counter", attribute="value", value=value, functional=True)
        await store.save(draft.model_copy(update={"valid_from": now()}))
        print(draft.memory_id, flush=True)
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(_write(*sys.argv[1:]))
