"""A process that saves memories, one after another, and says so after each. Run as ``python -m`` by the tests.

Each save is a new value of one functional fact. What is printed was acknowledged before.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from datamind.core.record import now
from datamind.testing.memory_data import make_memory
from datamind.testing.providers import ProviderTarget


def start_writer(target: ProviderTarget, folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    """Start a process that saves ``count`` values and prints the id of each once it is saved."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    arguments = [target.to_json(), str(folder), name, str(count)]
    command = [sys.executable, "-m", "datamind.testing.memory_writer", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)  # noqa: S603


async def _write(target: str, folder: str, name: str, count: str) -> None:
    store = await ProviderTarget.from_json(target).open(Path(folder))
    for number in range(int(count)):
        value = f"{name}{number}"
        draft = make_memory(value, subject="counter", attribute="value", value=value, functional=True)
        await store.save(draft.model_copy(update={"valid_from": now()}))
        print(draft.memory_id, flush=True)
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(_write(*sys.argv[1:]))
