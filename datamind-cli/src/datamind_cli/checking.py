"""The checks of ``datamind doctor``: each looks at one thing and says what to do about it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from datamind.core.errors import DataMindError, unforeseen
from datamind_cli.render import count_of

if TYPE_CHECKING:
    import sqlite3

    from datamind.agent.facade import DataMind
    from datamind.config import Settings
    from datamind.core.types import DataSurface
    from datamind.plugins import PluginRecord

_PROBES: Final = {
    "memory": "memory_list_namespaces",
    "kb": "kb_count",
    "skills": "skill_list",
    "db": "db_list_tables",
    "graph": "graph_stats",
}
"""The cheapest read of each surface; it opens the store."""

_MIN_FREE_BYTES: Final = 64 * 1024**2


@dataclass(frozen=True)
class Check:
    """How one thing is.

    Attributes:
        state: ``note`` is worth knowing and nothing wrong.
        remedy: What to do; empty when nothing is to be done.
    """

    name: str
    state: Literal["ok", "note", "failed"]
    detail: str
    remedy: str = ""


def failed(name: str, error: DataMindError) -> Check:
    """A check that ended in an error."""
    return Check(name, "failed", str(error), f"datamind explain {error.code}")


def plugin_checks(plugins: Sequence[PluginRecord], unmatched: Sequence[str] = ()) -> Iterator[Check]:
    """Every plugin that is not simply working, and every name of a list that is no plugin's."""
    yield Check("plugins", "ok", ", ".join(record.name for record in plugins if record.state == "ok"))
    for record in plugins:
        if record.is_broken:
            yield Check(f"plugin {record.name}", "failed", str(record), "datamind plugins -v")
        elif record.cause:
            yield Check(f"plugin {record.name}", "note", str(record))
    for sentence in unmatched:
        yield Check("plugin list", "failed", sentence, "datamind plugins")


def environment_checks() -> Iterator[Check]:
    """Keys of vendors that a person may think are in use."""
    from datamind.config import seen_vendor_variables

    for name in seen_vendor_variables():
        yield Check(f"variable {name}", "note", "it is set; DataMind does not use it unasked", "datamind init")


def folder_checks(settings: Settings) -> Iterator[Check]:
    """Whether every folder that is written to can be."""
    folders = {
        "data folder": settings.data.data_dir,
        "storage folder": settings.data.storage_dir,
        "audit keys": settings.hooks.audit_key,
    }
    for name, folder in folders.items():
        if folder is not None:
            yield _folder_check(name, folder)
    try:
        free = shutil.disk_usage(_existing(settings.data.base_dir)).free
    except OSError as error:
        yield Check("disk", "failed", f"its free space cannot be told ({error.strerror})", "look at the disk")
        return
    state: Literal["ok", "failed"] = "ok" if free >= _MIN_FREE_BYTES else "failed"
    yield Check("disk", state, f"{free / 1024**2:,.0f} MB free", "" if state == "ok" else "free some space")


def _folder_check(name: str, folder: Path) -> Check:
    existing = _existing(folder)
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return Check(name, "failed", f"{existing} is not writable", "change its owner or mode, or set another folder")
    return Check(name, "ok", str(folder) if existing == folder else f"{folder} (made when needed)")


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


async def system_checks(system: DataMind, absent: Sequence[str] = ()) -> AsyncIterator[Check]:
    """The model, control.db and every surface, each opened.

    Args:
        system: An open system.
        absent: Settings that nobody set and whose default is not installed: ``datamind init`` writes them.
    """
    if system.selection.model_error is not None:
        yield failed("model", system.selection.model_error)
    else:
        extractive = "; it answers with exact words of what is stored" if system.extractive else ""
        yield Check("model", "ok", system.model_name + extractive)
    yield await _alone("control.db", _control_check(system))
    for surface in _PROBES:
        yield await _alone(f"surface {surface}", _surface_check(system, surface, absent))
    for control in system.services.controls():
        try:
            repairs = await control.repairs.all()
        except DataMindError as error:
            yield failed(f"repairs of {control.profile}", error)
            continue
        for repair in repairs:
            yield Check(
                f"repair of {repair.surface}",
                "failed" if repair.missing else "note",
                str(repair),
                "store again what is missing" if repair.missing else "",
            )


async def _alone(name: str, check: Awaitable[Check]) -> Check:
    """A check, or that it ended in an error: the others are made all the same."""
    try:
        return await check
    except DataMindError as error:
        return failed(name, error)
    except Exception as error:
        return failed(name, unforeseen(name, error))


async def _control_check(system: DataMind) -> Check:
    def look(connection: sqlite3.Connection) -> tuple[str, int, int]:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        (answers,) = connection.execute("SELECT count(*) FROM answers").fetchone()
        (unfinished,) = connection.execute(
            "SELECT count(*) FROM intents WHERE state IN ('intent', 'applied')"
        ).fetchone()
        return verdict, answers, unfinished

    try:
        verdict, answers, unfinished = await system.services.control.db.read(look)
        receipts = await system.receipts.count()
    except DataMindError as error:
        return failed("control.db", error)
    counts = {"receipt": receipts, "answer": answers, "unfinished write": unfinished}
    detail = ", ".join(count_of(number, noun) for noun, number in counts.items())
    if verdict != "ok":
        return Check("control.db", "failed", f"damaged: {verdict}", "datamind explain integrity_error")
    return Check("control.db", "ok", detail)


async def _surface_check(system: DataMind, surface: str, absent: Sequence[str]) -> Check:
    from datamind.core.types import Role

    reason = system.services.off.get(_surface(surface))
    if reason:
        return Check(f"surface {surface}", "note", f"off: {reason}", _remedy(surface, reason, absent))
    outcome = await system.call(_PROBES[surface], {}, role=Role.RETRIEVE)
    if outcome.is_error:
        return Check(f"surface {surface}", "failed", outcome.message, f"datamind explain {outcome.code}")
    return Check(f"surface {surface}", "ok", json.dumps(dict(outcome.data), ensure_ascii=False, default=str))


def _remedy(surface: str, reason: str, absent: Sequence[str]) -> str:
    """What switches a surface on: ``init`` where it would write the setting, else a look at what is in its way."""
    if any(key.startswith(f"{surface}.") for key in absent):
        return "datamind init"
    return "datamind plugins" if "plugin" in reason else "datamind config show --origin"


def _surface(name: str) -> DataSurface:
    from datamind.core.types import DataSurface

    return DataSurface(name)
