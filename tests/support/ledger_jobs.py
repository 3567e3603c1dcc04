"""What forked processes do with a profile: write, die, recover, and say what is on the disk."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from datamind.agent import DataMind, build_datamind
from datamind.capabilities.control.audit import GENESIS, canonical_json, record_hash
from datamind.config import Settings
from datamind.core.context import RequestContext
from datamind.core.protocols.agent import ApprovalRequest
from datamind.core.types import Role
from datamind.plugins import PluginHost

HOST = PluginHost()
PROFILES = ("default", "_shared")


def settings_in(folder: Path | str, **sections: Any) -> Settings:
    """Settings whose every file lies in ``folder``."""
    folder = Path(folder)
    sections = {"kb": {"backend": "memory"}, **sections}
    sections["hooks"] = {"audit_key": folder / "keys"}
    return Settings(data={"base_dir": folder}, **sections)


class Agreeing:
    """A person who says yes."""

    async def decide(self, request: ApprovalRequest) -> bool:
        return True


async def open_in(folder: Path | str) -> DataMind:
    """A system over ``folder``; the plugins are found once for all processes."""
    return await build_datamind(settings_in(folder), host=HOST)


def request(system: DataMind, key: str = "", **changes: Any) -> RequestContext:
    """A store request of the application with an idempotency key of its own."""
    options = {"by_application": True, "granted_paths": (system.profile.data_dir,), **changes}
    return RequestContext(system.profile.name, Role.STORE, idempotency_key=key, **options)


def on_disk(folder: Path | str) -> dict[str, Any]:
    """What every store holds, read without the code under test, with nothing in it that a rerun would change."""
    folder = Path(folder)
    return {
        "memories": {profile: _memories(folder / "storage" / profile / "memory.db") for profile in PROFILES},
        "sources": {profile: _sources(folder / "storage" / profile / "control.db") for profile in PROFILES},
        "skills": {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("SKILL.md"))
        },
    }


def ledger_of(folder: Path | str) -> dict[str, Any]:
    """Unfinished intents, receipts in order, those that active sources rest on and faults of the audit chain."""
    found: dict[str, Any] = {"open": {}, "receipts": [], "held": [], "audit": []}
    for profile in PROFILES:
        storage = Path(folder) / "storage" / profile
        if not _has_tables(storage / "control.db"):
            continue
        unfinished = "SELECT idempotency_key, state FROM intents WHERE state IN ('intent', 'applied')"
        found["open"] |= dict(_rows(storage / "control.db", unfinished))
        bodies = _rows(storage / "control.db", "SELECT body FROM receipts ORDER BY seq")
        found["receipts"] += [json.loads(body) for (body,) in bodies]
        held = "SELECT each.value FROM sources, json_each(receipt_ids) AS each WHERE state = 'active'"
        found["held"] += [receipt_id for (receipt_id,) in _rows(storage / "control.db", held)]
        found["audit"] += audit_faults(storage / "control.db", Path(folder) / "keys")
    return found


def audit_faults(path: Path, keys: Path) -> list[str]:
    """Everything that is wrong with a chain, record by record; empty when it is whole."""
    records = _rows(path, "SELECT seq, at, trace_id, receipt_id, body, prev, hash, mac FROM audit ORDER BY seq")
    if not records:
        return []
    ((name,),) = _rows(path, "SELECT value FROM meta WHERE key = 'profile_uid'")
    key = (keys / f"{name}.key").read_bytes()
    faults, prev = [], GENESIS
    for number, (seq, at, trace_id, receipt_id, body, stored_prev, stored_hash, mac) in enumerate(records, 1):
        hashed = record_hash(seq, at, trace_id, receipt_id, body, prev)
        if seq != number:
            faults.append(f"record {number} has the number {seq}")
        if stored_prev != prev or stored_hash != hashed:
            faults.append(f"record {seq} does not follow from the one before")
        if mac != hmac.new(key, stored_hash.encode(), hashlib.sha256).hexdigest():
            faults.append(f"record {seq} has another key's mac")
        if body != canonical_json(json.loads(body)):
            faults.append(f"record {seq} is not canonical")
        prev = stored_hash
    return faults + _unrecorded(path)


def _unrecorded(path: Path) -> list[str]:
    # Every intent and every receipt has its record, and every record of a write its intent.
    recorded = {
        kind: {row[0] for row in _rows(path, f'SELECT receipt_id FROM audit WHERE body LIKE \'%"kind":"{kind}"%\'')}
        for kind in ("intent", "outcome", "refused")
    }
    intents = {row[0] for row in _rows(path, "SELECT receipt_id FROM intents")}
    receipts = {row[0] for row in _rows(path, "SELECT receipt_id FROM receipts")}
    faults = [f"intent {receipt_id} is not in the chain" for receipt_id in intents - recorded["intent"]]
    faults += [f"receipt {name} is not in the chain" for name in receipts ^ (recorded["outcome"] | recorded["refused"])]
    return faults


def _memories(path: Path) -> list[list[Any]]:
    query = (
        "SELECT memory_id, scope, kind, text, subject, attribute, value, valid_from, valid_to, closed_by,"
        " forget_receipt_id IS NULL FROM memories ORDER BY memory_id"
    )
    return [list(row) for row in _rows(path, query)] if path.exists() else []


def _sources(path: Path) -> list[list[Any]]:
    query = (
        "SELECT surface, document_id, source_id, content_hash, title, metadata, state, json_array_length(receipt_ids)"
        " FROM sources ORDER BY surface, source_id"
    )
    return [list(row) for row in _rows(path, query)] if _has_tables(path) else []


def _has_tables(path: Path) -> bool:
    return path.exists() and bool(_rows(path, "SELECT 1 FROM sqlite_master WHERE name = 'intents'"))


def _rows(path: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def say(line: str) -> None:
    """Print a line that is there even if this process is killed next."""
    os.write(1, f"{line}\n".encode())


def spell(outcome: Any) -> dict[str, Any]:
    """An outcome as JSON."""
    receipts = [json.loads(receipt.model_dump_json()) for receipt in outcome.receipts]
    return {"is_error": outcome.is_error, "code": outcome.code, "message": outcome.message, "receipts": receipts}


async def call(folder: str, tool: str, arguments: Mapping[str, Any], key: str = "") -> dict[str, Any]:
    """One write of a process of its own."""
    system = await open_in(folder)
    try:
        return spell(await system.call(tool, arguments, role=Role.STORE, ctx=request(system, key)))
    finally:
        await system.aclose()
