from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from datamind.core.errors import NotFound
from datamind_cli.embedding import drained, show_drain
from datamind_cli.exits import ExitCode
from datamind_cli.ingesting import IngestApprover, outcome_of, show_store_result
from datamind_cli.render import Output, count_of
from datamind_cli.session import opened_for_writing, opened_system, run
from datamind_cli.state import State, common_options, state_of
from datamind_cli.streams import progress_line

if TYPE_CHECKING:
    from datamind.core.receipts import StoreResult
    from datamind.core.results import DrainReport


@click.command("ingest")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option("--session", default="", help="Conversation it belongs to.")
@click.option("--key", default="", help="Idempotency key of the whole call.")
@click.option("--no-wait", is_flag=True, help="Leave the vectors to a later `datamind embed` or `ingest`.")
@click.option("--yes", is_flag=True, help="Drop what files gave that are gone from a folder, without asking.")
@common_options
@click.pass_context
def cli(ctx: click.Context, paths: tuple[str, ...], session: str, key: str, no_wait: bool, yes: bool) -> int:
    """Store the files and folders at PATH.

    They go in directly, without a model: tables to the database, triples to the graph, skills to their shelf, all else
    to the knowledge base. Naming them here grants them. In a folder, links, hidden files, and what .gitignore and
    .datamindignore name are passed over and counted; -v lists them. What files gave that are gone from a folder is
    asked about. Ctrl-C stops between two files: what has a receipt stays, and the same command goes on where it
    stopped.

    What has a receipt is found by words at once. Vectors follow, and the command waits for them unless told not to;
    Ctrl-C leaves the rest for later.
    """
    state = state_of(ctx)
    named = [_absolute(path) for path in paths]
    return run(lambda: _ingest(state, named, session, key, waits=not no_wait, drops_gone=yes))


def _absolute(path: str) -> Path:
    # Links are left alone: whether one may be followed is for the path policy to say.
    absolute = Path(path).absolute()
    try:
        absolute.lstat()
    except (OSError, ValueError) as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be reached ({error})"
        raise NotFound(f"{path[:200]!r} {reason};", code="not_found.file", hint="check the path.") from None
    return absolute


async def _ingest(
    state: State, paths: Sequence[Path], session: str, key: str, *, waits: bool, drops_gone: bool
) -> ExitCode:
    out = Output(state)
    before: int | None = None
    result: StoreResult | None = None
    report: DrainReport | None = None
    try:
        approver = IngestApprover(state, drops_gone=drops_gone)
        async with opened_for_writing(state, approver=approver) as system:
            before = await system.receipts.count()
            with progress_line(enabled=not state.as_json) as approver.line:
                result = await system.ingest(
                    paths,
                    session=session,
                    idempotency_key=key,
                    progress=lambda done, label: approver.line.show(f"{count_of(done, 'file')}  {label}"),
                )
            if waits:
                report = await drained(system, state)
    except asyncio.CancelledError:
        if result is None:
            await _say_what_stays(state, out, before)
            return ExitCode.INTERRUPTED
        out.note("Stopped before every vector was made; all is stored, and `datamind embed` goes on.")
    show_store_result(out, result, verbose=state.verbosity > 0)
    if report is not None and not out.is_json:
        show_drain(out, report)
    return outcome_of(result)


async def _say_what_stays(state: State, out: Output, before: int | None) -> None:
    """``before``: how many receipts there were; None when nothing had begun yet."""
    written = 0
    if before is not None:
        # Opened anew: a write that was past its intent has its receipt only now.
        async with opened_system(state) as system:
            written = await system.receipts.count() - before
    kept = f"{count_of(written, 'receipt')} {'stays' if written == 1 else 'stay'}" if written else "nothing was written"
    out.note(f"Stopped; {kept}. The same command goes on where it stopped.")
