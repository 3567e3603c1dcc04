"""Building a whole system in a temporary folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from datamind.agent import DataMind, build_datamind
from datamind.config import Settings
from datamind.core.outcome import ToolOutcome
from datamind.core.types import Role


def settings_in(folder: Path, *, profile: str = "default", **sections: Any) -> Settings:
    """Settings whose every file lies in ``folder``, with the KB on core's reference store."""
    sections = {"kb": {"backend": "memory"}, **sections}
    sections["hooks"] = {"audit_key": folder / "keys", **sections.get("hooks", {})}
    return Settings(data={"base_dir": folder, "profile": profile}, **sections)


@asynccontextmanager
async def open_system(folder: Path, *, approver: Any = None, **options: Any) -> AsyncIterator[DataMind]:
    """A system over ``folder``, closed at the end."""
    system = await build_datamind(settings_in(folder, **options), approver=approver)
    try:
        yield system
    finally:
        await system.aclose()


async def write(system: DataMind, tool: str, *, session: str = "", **arguments: Any) -> ToolOutcome:
    """A write by the application."""
    return await system.call(tool, arguments, role=Role.STORE, session=session)


async def read(system: DataMind, tool: str, *, session: str = "", **arguments: Any) -> ToolOutcome:
    """A read by the application."""
    return await system.call(tool, arguments, role=Role.RETRIEVE, session=session)


def contents(outcome: ToolOutcome) -> list[str]:
    """What a read found, best first."""
    return [item.content for item in outcome.evidence]


def status(outcome: ToolOutcome) -> str:
    """Status of a write that made one receipt."""
    (receipt,) = outcome.receipts
    return receipt.status


def facts(outcome: ToolOutcome) -> Mapping[str, Any]:
    """The small facts beside the evidence."""
    return outcome.data
