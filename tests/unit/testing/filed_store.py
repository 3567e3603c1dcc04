"""A KB store in one file, durable in the simplest way there is; and one that writes too late."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from datamind.capabilities.kb.providers.memory import MemoryReader, MemoryVectorStore, _Snapshot
from datamind.plugins import ProviderContext


class FiledStore(MemoryVectorStore):
    """Reads its file at every read and writes it at every write."""

    volatile = False

    def __init__(self, path: Path) -> None:
        MemoryReader.__init__(self, lambda: self._now)
        self.path = path
        if not path.exists():
            self._now = _Snapshot()

    @property
    def _now(self) -> _Snapshot:
        return pickle.loads(self.path.read_bytes())

    @_now.setter
    def _now(self, snapshot: _Snapshot) -> None:
        aside = self.path.with_suffix(".new")
        aside.write_bytes(pickle.dumps(snapshot))
        aside.replace(self.path)

    async def aclose(self) -> None:
        pass


class LateStore(MemoryVectorStore):
    """Writes its file when it is closed."""

    volatile = False

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        if path.exists():
            self._now = pickle.loads(path.read_bytes())

    async def aclose(self) -> None:
        self.path.write_bytes(pickle.dumps(self._now))


async def open_filed(ctx: ProviderContext, options: Any) -> FiledStore:
    return FiledStore(ctx.storage_dir / "kb.pickle")


async def open_late(ctx: ProviderContext, options: Any) -> LateStore:
    return LateStore(ctx.storage_dir / "kb.pickle")
