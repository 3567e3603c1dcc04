from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import click

from datamind.core.errors import Conflict
from datamind_cli.exits import ExitCode
from datamind_cli.records import answer_status, show_evidence, store_status
from datamind_cli.render import Output, count_of
from datamind_cli.session import opened_system, run
from datamind_cli.state import State, common_options, state_of
from datamind_cli.streams import progress_line
from datamind_cli.temporary import settings_with, temporary_flags, temporary_folder

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind_cli.demonstration import Story

_OFFLINE = {"llm.protocol": "offline"}


@click.command("demo")
@click.option("--keep", is_flag=True, help="Keep the temporary folder, and say where it is.")
@common_options
@click.pass_context
def cli(ctx: click.Context, keep: bool) -> int:
    """Store an invented company in English and Chinese, ask about it, and check the answers.

    Documents, tables, a graph, skills and memories, on every surface that is installed. It needs no key and no
    network, and runs in a temporary folder; with --profile in that profile, which must be empty. Exits with 1 when
    an expected answer or citation is missing, or something is claimed that nothing says.
    """
    state = state_of(ctx)
    out = Output(state)
    story = run(lambda: _told(state, out, keep))
    if out.is_json:
        out.json(_as_json(story))
    else:
        _show(out, story)
    return ExitCode.NEGATIVE if story.problems else ExitCode.OK


async def _told(state: State, out: Output, keep: bool) -> Story:
    from datamind_cli.demonstration import tell

    with progress_line(enabled=not state.as_json) as line:
        if "data.profile" in state.flags:
            async with opened_system(state, settings_with(state, _OFFLINE)) as system:
                await _refuse_used(system)
                return await tell(system, line.show)
        async with _fresh_system(state, out, keep) as system:
            return await tell(system, line.show)


@asynccontextmanager
async def _fresh_system(state: State, out: Output, keep: bool) -> AsyncIterator[DataMind]:
    with temporary_folder(keep=keep) as folder:
        if keep:
            out.note(f"kept: datamind --profile demo --set data.base_dir={folder} receipts")
        settings = settings_with(state, {**temporary_flags("demo", folder), **_OFFLINE})
        async with opened_system(state, settings) as system:
            yield system


async def _refuse_used(system: DataMind) -> None:
    held = await system.receipts.count()
    if held:
        raise Conflict(
            f"profile {system.profile.name!r} holds {count_of(held, 'receipt')};",
            hint="the demo needs one that is empty.",
        )


def _show(out: Output, story: Story) -> None:
    for text, stored in story.stored:
        out.line(f"> store  {text}")
        out.line(store_status(out, stored), dim=True)
    for question, result in story.asked:
        out.line()
        out.line(f"> ask    {question.question}")
        out.line(result.answer)
        show_evidence(out, result)
        out.line(answer_status(out, result), dim=True)
    if story.trace is not None:
        out.line()
        out.line(f"> why    {story.trace.asked}")
        for sentence in story.trace.sentences():
            out.line(sentence)
    out.line()
    for question, reason in story.skipped:
        out.line(f"not asked: {question.question} ({reason})")
    for problem in story.problems:
        out.line(f"wrong: {problem}")
    verdict = f"{count_of(len(story.problems), 'thing')} wrong" if story.problems else "all as expected"
    parts = [
        count_of(len(story.receipts), "receipt"),
        f"{len(story.asked)} asked",
        verdict,
        f"{story.duration_s:.1f} s",
    ]
    out.line(out.join(parts))


def _as_json(story: Story) -> dict[str, object]:
    return {
        "stored": [{"said": text, "result": result} for text, result in story.stored],
        "asked": [{"question": question.question, "result": result} for question, result in story.asked],
        "skipped": [{"question": question.question, "reason": reason} for question, reason in story.skipped],
        "receipts": story.receipts,
        "trace": story.trace,
        "problems": story.problems,
        "duration_s": round(story.duration_s, 3),
    }
