from __future__ import annotations

from typing import TYPE_CHECKING

import click

from datamind_cli.exits import ExitCode
from datamind_cli.records import show_evidence, show_receipts, source_label
from datamind_cli.render import Output, shorten
from datamind_cli.session import opened_for_reading, run, whole_id
from datamind_cli.state import State, common_options, state_of

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.capabilities.control.trace import AuditEntry, Trace


@click.command("trace")
@click.argument("any_id", metavar="[ID]", required=False)
@common_options
@click.pass_context
def cli(ctx: click.Context, any_id: str | None) -> int:
    """Show the chain answer, evidence, source, receipt, audit record.

    ID is that of an answer (its trace id), of evidence or of a receipt; left out, it is the newest answer.
    """
    state = state_of(ctx)
    return run(lambda: _trace(state, any_id))


async def _trace(state: State, any_id: str | None) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        trace = await system.trace(await whole_id(system, any_id or await newest_answer(system)))
    if out.is_json:
        out.json(trace)
    else:
        show_trace(out, trace)
    return ExitCode.OK


async def newest_answer(system: DataMind) -> str:
    """The trace id of the newest answer.

    Raises:
        NotFound: Nothing was asked yet.
    """
    from datamind.core.errors import NotFound

    newest = await system.answers.latest(limit=1)
    if not newest:
        raise NotFound(f"profile {system.profile.name!r} has no answer yet;", hint="ask something, or give an id.")
    return newest[0].trace_id


def show_trace(out: Output, trace: Trace) -> None:
    """Each link of the chain as a table."""
    if trace.answer is not None:
        out.line(f"question  {trace.question}")
        out.line(f"answer    {trace.answer.answer}")
        show_evidence(out, trace.answer)
    sources = [
        (source.source_id, source_label(source), source.origin, source.checksum[:16]) for source in trace.sources
    ]
    out.table(("source", "name", "origin", "sha-256"), sources)
    show_receipts(out, trace.receipts, times=True)
    out.table(("audit", "time", "kind", "detail"), [_audit_row(entry) for entry in trace.audit])
    for trace_id in trace.cited_by:
        out.line(f"cited by  {trace_id}")


def _audit_row(entry: AuditEntry) -> tuple[str, ...]:
    detail = ", ".join(f"{key}={value}" for key, value in entry.body.items() if value not in ("", None))
    return (
        str(entry.seq),
        entry.at.astimezone().isoformat(sep=" ", timespec="seconds"),
        entry.kind,
        shorten(detail, 100),
    )
