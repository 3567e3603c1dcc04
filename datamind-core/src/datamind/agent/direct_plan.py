"""What storing paths comes to: tool calls, and what is passed over with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from datamind.capabilities.ingest.files import Located, PathPolicy, is_folder, locate, printable
from datamind.capabilities.ingest.folder import Survey, survey
from datamind.capabilities.ingest.routing import SKILL_FILE, TOOLS, surface_of
from datamind.core.receipts import SkippedFile
from datamind.core.types import DataSurface

RECORDS_TOOL: Final = "db_import_records"


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call; that of a skill gets its arguments from the file when its turn comes."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    skill: Located | None = None


@dataclass(slots=True)
class Plan:
    """The calls in order.

    Attributes:
        off: What no installed surface takes; part of ``skipped``.
    """

    steps: list[Step] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    off: list[SkippedFile] = field(default_factory=list)
    surveys: list[Survey] = field(default_factory=list)

    def leave(self, path: str, surface: DataSurface) -> None:
        """Pass over what a surface that is off would take."""
        skipped = SkippedFile(path=path, code=f"surface_off.{surface}")
        self.skipped.append(skipped)
        self.off.append(skipped)


def plan_paths(paths: Sequence[Path], policy: PathPolicy, available: Set[str]) -> Plan:
    """The calls that store these paths. Blocking: folders are looked through.

    Raises:
        PathDenied: A path that is not granted, or a folder that cannot be opened.
    """
    plan = Plan()
    for path in paths:
        located = locate(str(path), policy)
        if is_folder(located):
            _plan_folder(plan, path, survey(located, policy), available)
        else:
            _plan_file(plan, path, located, available)
    return plan


def plan_records(records: Sequence[Mapping[str, Any]], available: Set[str]) -> Plan:
    """The call that stores records."""
    plan = Plan()
    if RECORDS_TOOL in available:
        plan.steps.append(Step(RECORDS_TOOL, {"records": [dict(record) for record in records]}))
    else:
        plan.leave(f"{len(records)} records", DataSurface.DB)
    return plan


def _plan_file(plan: Plan, path: Path, located: Located, available: Set[str]) -> None:
    # One that nobody reads goes to the knowledge base too: its refusal says why.
    surface = surface_of(located) or DataSurface.KB
    if TOOLS[surface] not in available:
        plan.leave(printable(path), surface)
    elif surface is DataSurface.SKILLS:
        plan.steps.append(Step(TOOLS[surface], skill=located))
    else:
        plan.steps.append(Step(TOOLS[surface], {"path": str(path)}))


def _plan_folder(plan: Plan, path: Path, found: Survey, available: Set[str]) -> None:
    plan.surveys.append(found)
    plan.skipped += [found.told(located, code) for located, code in found.skipped]
    for surface in (DataSurface.SKILLS, DataSurface.DB, DataSurface.GRAPH, DataSurface.KB):
        files = found.of(surface)
        if TOOLS[surface] not in available:
            for located in files:
                plan.leave(found.told(located, "").path, surface)
        elif surface is DataSurface.SKILLS:
            plan.steps += [Step(TOOLS[surface], skill=located) for located in files]
        elif files:
            plan.steps.append(Step(TOOLS[surface], {"path": str(path)}))


def skill_name_of(located: Located) -> str:
    """The folder that a SKILL.md file makes a skill."""
    assert located.path.name == SKILL_FILE  # routed by its name
    return located.path.parent.name
