from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from datamind_cli.commands.trace import newest_answer
from datamind_cli.exits import ExitCode
from datamind_cli.render import Output, count_of
from datamind_cli.saving import read_saved_file
from datamind_cli.session import opened_for_reading, run
from datamind_cli.state import State, common_options, state_of

if TYPE_CHECKING:
    from datamind.core.saved_page import SavedFile
    from datamind.core.verification import Verification

_COLUMNS = ("n", "state", "supported", "claim", "what differs")
_CLAIM_CHARS = 80


@click.command("verify")
@click.argument("answer", metavar="[FILE|TRACE_ID]", required=False)
@common_options
@click.pass_context
def cli(ctx: click.Context, answer: str | None) -> int:
    """Check a saved answer, or one that the profile keeps; without an argument the newest.

    Every citation is looked at again, without a model: intact, stale (its source was replaced), changed, gone, or not
    repeatable. Exits with 1 unless all is as it was and every claim is supported.
    """
    state = state_of(ctx)
    is_kept = not answer or (answer.startswith("trace_") and not Path(answer).exists())
    given = answer if is_kept or answer is None else read_saved_file(Path(answer))
    return run(lambda: _verify(state, given))


async def _verify(state: State, answer: SavedFile | str | None) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        found = await system.verify(answer or await newest_answer(system))
    if out.is_json:
        out.json(found.model_dump(mode="json") | {"ok": found.is_ok})
    else:
        _show(out, found)
    return ExitCode.OK if found.is_ok else ExitCode.NEGATIVE


def _show(out: Output, found: Verification) -> None:
    for problem in found.problems:
        out.line(f"problem: {problem}")
    out.table(
        _COLUMNS,
        [
            (str(one.number), one.state, "yes" if one.supported else "no", one.claim[:_CLAIM_CHARS], one.detail)
            for one in found.citations
        ],
    )
    claims = found.claims
    total = claims.supported + claims.unsupported + claims.stale
    states = [one.state for one in found.citations]
    counted = [f"{states.count(state)} {state.replace('_', ' ')}" for state in dict.fromkeys(states)]
    held = f"{claims.supported} of {count_of(total, 'claim')} supported" if total else "nothing claimed"
    verdict = "all is as it was" if found.is_ok else "not all is as it was"
    out.line(out.join([verdict, held, *counted]), dim=True)
