from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from datamind_cli.approve import typed
from datamind_cli.exits import ExitCode
from datamind_cli.ingesting import show_store_result
from datamind_cli.records import answer_status, show_evidence, show_notices
from datamind_cli.render import Output, TextStream
from datamind_cli.session import opened_for_writing, run
from datamind_cli.state import State, common_options, state_of
from datamind_cli.streams import is_terminal

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.core.events import AgentEvent

_HELP = "/store TEXT stores it, /quit or the end of input ends the conversation; anything else is a question."


@click.command("chat")
@click.option("--session", default="", help="Conversation to go on with; a new one when left out.")
@common_options
@click.pass_context
def cli(ctx: click.Context, session: str) -> int:
    """Ask and store in one conversation.

    Each line is a question. /store TEXT stores it, /quit or the end of input ends the conversation. With --json each
    event is one line of JSON.
    """
    state = state_of(ctx)
    return run(lambda: _chat(state, session))


async def _chat(state: State, session: str) -> ExitCode:
    from datamind.core.types import new_id

    out = Output(state)
    session = session or new_id("session")
    async with opened_for_writing(state) as system:
        out.note(f"session {session}")
        out.note(_HELP)
        while line := await typed(_read):
            words = line.strip()
            if words == "/quit":
                break
            if words:
                await _turn(system, out, words, session)
    return ExitCode.OK


def _read() -> str:
    """One line with its end; nothing at the end of input."""
    if is_terminal(sys.stdin) and is_terminal(sys.stdout):
        try:
            return input("> ") + "\n"
        except EOFError:
            return ""
    return sys.stdin.readline() if sys.stdin else ""


async def _turn(system: DataMind, out: Output, words: str, session: str) -> None:
    from datamind.core.errors import DataMindError

    command, _, text = words.partition(" ")
    try:
        if command == "/store":
            show_store_result(out, await system.ingest(text.strip(), session=session))
        elif command.startswith("/"):
            out.note(f"{command} is no command here. {_HELP}")
        else:
            await _answer(system, out, words, session)
    except DataMindError as error:
        # One failed turn does not end a conversation.
        out.note(f"datamind: {error}")


async def _answer(system: DataMind, out: Output, question: str, session: str) -> None:
    text = TextStream(out)
    async for event in system.stream(question, session=session):
        if out.is_json:
            out.json_line(event)
        else:
            _show(out, text, event)


def _show(out: Output, text: TextStream, event: AgentEvent) -> None:
    from datamind.core.receipts import StoreResult

    match event.type:
        case "text":
            text.feed(event.delta)
        case "reset":
            text.end()
            out.note("(the model starts this answer again)")
        case "tool_use" if out.verbosity:
            text.end()
            out.note(f"{event.name} {event.input}")
        case "error":
            text.end()
            out.note(f"datamind: {event.message}")
        case "done":
            text.end()
            show_notices(out, event.result.notices)
            if not isinstance(event.result, StoreResult):
                show_evidence(out, event.result)
                out.line(answer_status(out, event.result), dim=True)
