"""What two processes with ten writers each do."""

from __future__ import annotations

import asyncio
from typing import Any

from datamind.core.errors import DataMindError
from datamind.core.types import Role
from datamind.plugins import ProviderKind
from datamind.testing.memory_data import make_memory
from tests.support.ledger_jobs import open_in
from tests.support.process_jobs import meet


async def write_rows(folder: str, name: str, writers: int, rows: int, others: int) -> list[str]:
    """Each writer adds rows one by one to memory.db, then all at once to a table; returns what went wrong."""
    system = await open_in(folder)
    store: Any = await system.services.hub.open(ProviderKind.MEMORY_STORE)
    faults: list[str] = []

    async def add(writer: int) -> None:
        try:
            for number in range(rows):
                await store.save(make_memory(f"{name} {writer} wrote {number}"))
        except DataMindError as error:
            faults.append(f"{error.code}: {error}")
        records = [{"writer": f"{name} {writer}", "n": number} for number in range(rows)]
        outcome = await system.call("db_import_records", {"records": records, "table": "log"}, role=Role.STORE)
        faults.extend([outcome.message] if outcome.is_error else [])

    meet(folder, others)
    await asyncio.gather(*(add(writer) for writer in range(writers)))
    await system.aclose()
    return faults
