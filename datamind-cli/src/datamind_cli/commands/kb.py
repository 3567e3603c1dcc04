from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from datamind.core.errors import SurfaceUnavailable
from datamind_cli.exits import ExitCode
from datamind_cli.records import show_receipts, show_rejected
from datamind_cli.render import Output, count_of
from datamind_cli.session import opened_for_reading, opened_for_writing, run
from datamind_cli.state import State, common_options, state_of

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind


@click.group("kb")
def cli() -> None:
    """See to the knowledge base."""


@cli.command("status")
@common_options
@click.pass_context
def status(ctx: click.Context) -> int:
    """Show documents, passages, vectors, indexes and size on disk."""
    return run(lambda: _status(state_of(ctx)))


@cli.command("optimize")
@common_options
@click.pass_context
def optimize(ctx: click.Context) -> int:
    """Merge small files, index every passage, and remove what no search needs any more."""
    return run(lambda: _optimize(state_of(ctx)))


@cli.command("reindex")
@click.option("--vectors", is_flag=True, help="Make the vectors of the current model anew, and leave the words.")
@click.option("--no-wait", is_flag=True, help="With --vectors: leave making them to `datamind embed`.")
@common_options
@click.pass_context
def reindex(ctx: click.Context, vectors: bool, no_wait: bool) -> int:
    """Build the index again from the stored texts, beside the present one, which serves until it is done.

    With --vectors, the vectors of the current model are dropped and made anew: for a model that was changed under its
    name. Ctrl-C stops it, `datamind embed` goes on; passages without a vector are found by words.
    """
    state = state_of(ctx)
    return run(lambda: _renew_vectors(state, no_wait) if vectors else _reindex(state))


@cli.command("add-chunks")
@click.argument("path", metavar="FILE", type=click.Path())
@click.option("--no-wait", is_flag=True, help="Leave the vectors to `datamind embed`.")
@common_options
@click.pass_context
def add_chunks(ctx: click.Context, path: str, no_wait: bool) -> int:
    """Store the chunks of FILE as they are cut: JSON Lines of {"text", "id", "title", "source", "metadata"}.

    Only "text" is needed. A chunk with the "source" and "id" of one that is stored replaces it. A line that is no
    chunk is left out and told by its number; the command exits with 1 then. Naming FILE here grants it.
    """
    state = state_of(ctx)
    return run(lambda: _add_chunks(state, path, no_wait))


async def _add_chunks(state: State, path: str, no_wait: bool) -> ExitCode:
    from datamind_cli.calls import written_from_path
    from datamind_cli.embedding import drained, show_drain
    from datamind_cli.exits import exit_code_of_receipts

    out = Output(state)
    async with opened_for_writing(state) as system:
        outcome = await written_from_path(system, "kb_add_chunks", path, {})
        drain = None if no_wait else await drained(system, state)
    if out.is_json:
        out.json(list(outcome.receipts))
    else:
        show_receipts(out, outcome.receipts)
        for receipt in outcome.receipts:
            show_rejected(out, receipt.result.detected)
        if drain is not None:
            show_drain(out, drain)
    return exit_code_of_receipts(outcome.receipts)


async def _status(state: State) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        told = await _told(system)
    if out.is_json:
        out.json(told)
    else:
        _show(out, told)
    return ExitCode.OK


async def _optimize(state: State) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        before = await _told(system)
        done = await system.services.write.kb.optimize()
        after = await _told(system)
    if out.is_json:
        out.json({"optimized": done, "before": before["store"], "after": after["store"]})
    elif not done:
        out.line("The store needs no such thing.")
    else:
        out.line(f"{_size(before['store'])} before, {_size(after['store'])} now.")
    return ExitCode.OK


async def _reindex(state: State) -> ExitCode:
    from datamind.core.types import Role

    out = Output(state)
    async with opened_for_reading(state) as system:
        outcome = await system.call("kb_reindex", {}, role=Role.STORE)
    if out.is_json:
        out.json(list(outcome.receipts))
    else:
        show_receipts(out, outcome.receipts)
        if outcome.is_error:
            out.note(outcome.message)
    return ExitCode.NEGATIVE if outcome.is_error else ExitCode.OK


async def _renew_vectors(state: State, no_wait: bool) -> ExitCode:
    from datamind_cli.embedding import drained, outcome_of_drain, show_drain

    out = Output(state)
    async with opened_for_reading(state) as system:
        waiting = await system.services.vectors.drop_passages()
        report = None if no_wait else await drained(system, state)
    if out.is_json:
        out.json(report or {"waiting": waiting})
    elif report is None:
        out.line(f"{count_of(waiting, 'passage')} without a vector: `datamind embed` makes them.")
    else:
        show_drain(out, report, always=True)
    return ExitCode.OK if report is None else outcome_of_drain(report)


async def _told(system: DataMind) -> dict[str, Any]:
    kb = system.services.read.kb_or_none
    if kb is None:
        raise SurfaceUnavailable("the kb surface is off", hint="`datamind doctor` says why.")
    share, store = await kb.vector_share(), await kb.status()
    return {
        "backend": system.settings.kb.backend,
        **share.counts.model_dump(),
        "vectors": share.notice.message if share.notice else "",
        "store": store.model_dump() if store else None,
    }


def _show(out: Output, told: dict[str, Any]) -> None:
    chunks, embedded = told["chunks"], told["embedded"]
    out.line(f"{told['backend']}: {count_of(told['documents'], 'document')}, {count_of(chunks, 'passage')}")
    share = f" ({100 * embedded // chunks} %)" if chunks else ""
    out.line(f"with a vector of the current model: {embedded}{share}")
    if told["vectors"]:
        out.note(told["vectors"])
    store = told["store"]
    if store is None:
        return
    out.table(
        ("model", "dimensions", "vectors", "search", "recall@10"),
        [
            (row["model_id"], str(row["dimension"]), str(row["vectors"]), row["kind"], _recall(row["recall"]))
            for row in store["vectors"]
        ],
    )
    out.line(
        f"on disk: {_size(store)}, {count_of(store['versions'], 'version')}, "
        f"{store['unindexed_chunks']} passages not indexed yet"
    )


def _recall(measured: float | None) -> str:
    return "1 (exact)" if measured is None else f"{measured:.3f}"


def _size(store: dict[str, Any] | None) -> str:
    return f"{(store or {}).get('size_bytes', 0) / 1e6:,.1f} MB"
