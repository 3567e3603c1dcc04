from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from datamind_cli.exits import ExitCode
from datamind_cli.ingesting import outcome_of
from datamind_cli.records import answer_status, source_label, span_label
from datamind_cli.render import Output, count_of
from datamind_cli.session import opened_system, run
from datamind_cli.state import State, common_options, state_of
from datamind_cli.streams import progress_line
from datamind_cli.temporary import settings_with, temporary_flags, temporary_folder

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.core.receipts import StoreResult
    from datamind_cli.trying import Shown, Tried

_OFFLINE = {"llm.protocol": "offline"}


class _Outcome(NamedTuple):
    """What came of it."""

    stored: StoreResult
    tried: list[Tried]
    shown: tuple[Tried, Shown] | None = None


@click.command("try")
@click.argument("folder", type=click.Path())
@common_options
@click.pass_context
def cli(ctx: click.Context, folder: str) -> int:
    """Store FOLDER, ask three questions made from it, and show what one answer quotes.

    The questions come from headings, tables and entities, and only those are shown whose answer cites them. It needs
    no key and no network, and works in a temporary profile that is gone afterwards; with --profile in that one.
    """
    state = state_of(ctx)
    path = _named(folder)
    out = Output(state)
    outcome = run(lambda: _tried(state, path))
    if out.is_json:
        out.json(_as_json(outcome))
    else:
        _show(out, outcome, folder, state)
    if not outcome.tried:
        return ExitCode.NEGATIVE
    return outcome_of(outcome.stored)


def _named(folder: str) -> Path:
    from datamind.core.errors import NotFound

    path = Path(folder).absolute()
    if not path.exists():
        raise NotFound(f"{folder[:200]!r} does not exist;", code="not_found.file", hint="check the path.")
    return path


async def _tried(state: State, path: Path) -> _Outcome:
    from datamind_cli.trying import shown_span, try_questions

    with progress_line(enabled=not state.as_json) as line:
        async with _system(state) as system:
            stored = await system.ingest(
                [path], progress=lambda done, label: line.show(f"{count_of(done, 'file')}  {label}")
            )
            if not any(receipt.status in ("stored", "unchanged", "partial") for receipt in stored.receipts):
                return _Outcome(stored, [])
            await system.drain(progress=lambda done, what: line.show(f"{done:,} {what} embedded"))
            tried = await try_questions(system, line.show)
            if not tried:
                return _Outcome(stored, tried)
            # A span of a text shows best what a citation is.
            best = next((item for item in tried if item.evidence.locator.type == "text"), tried[0])
            return _Outcome(stored, tried, (best, await shown_span(system, best)))


@asynccontextmanager
async def _system(state: State) -> AsyncIterator[DataMind]:
    if "data.profile" in state.flags:
        async with opened_system(state, settings_with(state, _OFFLINE)) as system:
            yield system
        return
    with temporary_folder() as folder:
        settings = settings_with(state, {**temporary_flags("try", folder), **_OFFLINE})
        async with opened_system(state, settings) as system:
            yield system


def _show(out: Output, outcome: _Outcome, folder: str, state: State) -> None:
    if not outcome.stored.receipts:
        passed = f"; passed over: {len(outcome.stored.skipped)}" if outcome.stored.skipped else ""
        out.line(f"There is nothing in {folder} that can be stored{passed}.")
        return
    _show_counts(out, outcome.stored)
    if outcome.shown is None:
        out.line('No question could be made from it that its own words answer; ask one: datamind ask "..."')
        return
    for tried in outcome.tried:
        out.line(f"? {tried.question}")
    _show_answer(out, *outcome.shown)
    profile = state.flags.get("data.profile")
    if profile:
        out.line(f'Next: datamind ask "..." --profile {profile}')
    else:
        out.line(f'Nothing is kept of this. To keep it: datamind ingest {folder}, then datamind ask "..."')


def _show_answer(out: Output, tried: Tried, shown: Shown) -> None:
    evidence = tried.evidence
    out.line()
    out.line(f"> {tried.question}")
    out.line(tried.result.answer)
    out.line()
    out.line(f"{source_label(evidence.source)}, {span_label(evidence.locator)}", dim=True)
    if (table := evidence.table()) is not None:
        out.table(table.columns, [[str(cell) for cell in row] for row in table])
    else:
        out.highlight(shown.before, shown.span, shown.after)
    out.line(answer_status(out, tried.result), dim=True)
    out.line()


def _show_counts(out: Output, stored: StoreResult) -> None:
    """One line: how much of what is stored; below it what failed."""
    failed = [receipt for receipt in stored.receipts if receipt.result.error]
    by_surface: dict[str, int] = {}
    for receipt in stored.receipts:
        if not receipt.result.error:
            name = receipt.result.surface.value
            by_surface[name] = by_surface.get(name, 0) + 1
    nouns = {"kb": "document", "db": "table", "graph": "graph file", "skills": "skill"}
    parts = [count_of(count, nouns.get(name, name)) for name, count in by_surface.items()]
    if failed or stored.skipped:
        parts.append(f"{len(failed) + len(stored.skipped)} not stored")
    out.line(out.join(parts))
    for receipt in failed[:5]:
        assert receipt.result.error is not None
        out.line(f"{source_label(receipt.source) or receipt.tool}: {receipt.result.error.message}")


def _as_json(outcome: _Outcome) -> dict[str, object]:
    return {
        "stored": outcome.stored,
        "questions": [{"question": tried.question, "result": tried.result} for tried in outcome.tried],
        "shown": asdict(outcome.shown[1]) if outcome.shown else None,
    }
