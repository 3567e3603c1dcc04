"""What processes do that share one profile's tables and graph."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from datamind.agent import DataMind
from datamind.core.errors import DataMindError
from datamind.core.outcome import ToolOutcome
from datamind.core.types import Role
from datamind.sync import SyncDataMind
from tests.support.ledger_jobs import open_in, say, settings_in, spell
from tests.support.process_jobs import meet, wait_for_file


async def _read(system: DataMind, tool: str, **arguments: Any) -> ToolOutcome:
    return await system.call(tool, arguments, role=Role.RETRIEVE)


def _row(name: str, number: int) -> dict[str, Any]:
    return {"table": "log", "records": [{"who": name, "n": number}]}


def _fact(name: str, number: int) -> dict[str, Any]:
    return {"triples": [{"subject": f"{name} {number}", "predicate": "written_by", "object": name}]}


async def alternate(folder: str, name: str, writes: int, others: int) -> list[dict[str, Any]]:
    """Writes to tables and graph in turn; after each this process reads what it wrote."""
    system = await open_in(folder)
    meet(folder, others)
    told = []
    for number in range(writes // 2):
        told.append(spell(await system.call("db_import_records", _row(name, number), role=Role.STORE)))
        sql = f"SELECT count(*) FROM log WHERE who = '{name}'"
        seen = [item.content for item in (await _read(system, "db_query_sql", sql=sql)).evidence]
        told[-1]["right"] = [json.loads(content)["rows"] for content in seen] == [[[number + 1]]]
        told.append(spell(await system.call("graph_upsert_triples", _fact(name, number), role=Role.STORE)))
        found = await _read(system, "graph_neighbors", entity=name, limit=100)
        told[-1]["right"] = len(found.evidence) == number + 1
    await system.aclose()
    return told


def alternate_blocking(folder: str, name: str, writes: int, others: int) -> list[dict[str, Any]]:
    """The same from a program without await: records go in, and the profile stays open between two writes."""
    settings = settings_in(folder)
    with SyncDataMind(settings) as opened:
        meet(folder, others)
        told = []
        for number in range(writes):
            result = opened.add([{"who": name, "n": number}])
            told.append({"is_error": result.status != "stored", "message": result.status, "right": True})
            told[-1]["receipts"] = [json.loads(receipt.model_dump_json()) for receipt in result.receipts]
    return told


async def hold(folder: str) -> None:
    """Have the lease, and stay in the middle of it until killed."""
    system = await open_in(folder)
    async with system.services.hub.lease.use():
        say("held")
        await asyncio.sleep(600)


async def use_and_stay(folder: str, stop: str) -> None:
    """One write to both, then nothing more: a notebook that was left open."""
    system = await open_in(folder)
    for tool, arguments in (("db_import_records", _row("notebook", 0)), ("graph_upsert_triples", _fact("notebook", 0))):
        assert not (await system.call(tool, arguments, role=Role.STORE)).is_error
    say("used")
    await asyncio.to_thread(wait_for_file, stop)
    await system.aclose()


async def write_all(folder: str, wait_s: float = 5.0) -> dict[str, Any]:
    """One write to every surface, with the time that each took."""
    told: dict[str, Any] = {}
    try:
        system = await open_in(folder)
    except DataMindError as error:
        return {"opening": str(error)}
    system.services.hub.lease._wait_s = wait_s
    for tool, arguments in (
        ("memory_save", {"text": "The parrot is called Moss."}),
        ("kb_add_text", {"text": "The ferry sails at high water."}),
        ("skill_upsert", {"name": "close-the-shop", "description": "How to close the shop", "body": "Lock it."}),
        ("db_import_records", _row("terminal", 0)),
        ("graph_upsert_triples", _fact("terminal", 0)),
    ):
        began = time.monotonic()
        outcome = spell(await system.call(tool, arguments, role=Role.STORE))
        told[tool] = {**outcome, "seconds": time.monotonic() - began}
    for tool, arguments in (("db_query_sql", {"sql": "SELECT 1"}), ("graph_stats", {})):
        outcome = await _read(system, tool, **arguments)
        told[tool] = {"is_error": outcome.is_error, "code": outcome.code, "message": outcome.message}
    await system.aclose()
    return told


async def counts(folder: str) -> dict[str, int]:
    """Rows of the log and statements of the graph."""
    system = await open_in(folder)
    rows = json.loads((await _read(system, "db_query_sql", sql="SELECT count(*) FROM log")).evidence[0].content)["rows"]
    statements = (await _read(system, "graph_stats")).data["statements"]
    await system.aclose()
    return {"rows": rows[0][0], "statements": statements}
