"""Waiting for vectors: what ``ingest`` and ``embed`` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from datamind_cli.exits import ExitCode
from datamind_cli.render import Output
from datamind_cli.state import State
from datamind_cli.streams import progress_line

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.core.results import DrainReport


async def drained(system: DataMind, state: State, *, timeout_s: float | None = None) -> DrainReport:
    """Embed what waits, with a line that says how far it is."""
    with progress_line(enabled=not state.as_json) as line:
        return await system.drain(timeout_s, progress=lambda done, what: line.show(f"{done:,} {what} embedded"))


def show_drain(out: Output, report: DrainReport, *, always: bool = False) -> None:
    """What came of it; nothing where no text is left without a vector, unless asked for."""
    if report.notice is not None and (always or report.remaining):
        out.note(f"note: {report.notice.message}")
    if always or report.remaining:
        parts = [f"{report.embedded:,} embedded"]
        if report.refused:
            parts.append(f"{report.refused:,} hold nothing to embed")
        if report.remaining:
            parts.append(f"{report.remaining:,} wait: `datamind embed` goes on")
        out.line(out.join(parts), dim=True)


def outcome_of_drain(report: DrainReport) -> ExitCode:
    """OK when nothing waits."""
    return ExitCode.NEGATIVE if report.remaining or report.notice else ExitCode.OK
