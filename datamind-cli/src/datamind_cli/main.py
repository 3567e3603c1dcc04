"""The ``datamind`` command: a group that imports a command when it is called, and reports whatever goes wrong."""

from __future__ import annotations

import difflib
import gc
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Final

import click

from datamind_cli import failures, plugin_commands
from datamind_cli.exits import MEANINGS
from datamind_cli.state import State, common_options, state_of
from datamind_cli.streams import echo, prepare_streams

NAME: Final = "datamind"

BUILT_IN: Final = {
    "try": "Store a folder for a moment, and ask three questions made from it.",
    "demo": "Store a few things, ask about them and check the answers; no key, no network.",
    "init": "Write the settings of a profile.",
    "store": "Store text; the answer is receipts.",
    "ingest": "Store files and folders.",
    "embed": "Make the vectors that are missing.",
    "ask": "Ask a question; the answer is cited evidence.",
    "chat": "Ask and store in one conversation.",
    "db": "Tables: list, describe, import, query, export.",
    "graph": "Statements: show, search, stats, query, import, export.",
    "receipts": "List what was written, or show one receipt.",
    "forget": "Take a source, an entity or what words name off every surface, or erase it.",
    "undo": "Take back what was written last, after showing it.",
    "revert": "Take back what one receipt wrote; what was there before comes back.",
    "trace": "Show the chain answer, evidence, source, receipt, audit record.",
    "why": "Say the same chain in sentences.",
    "verify": "Check an answer again: is what it cites still there?",
    "tools": "List the tools of both agents.",
    "plugins": "List the installed plugins, broken ones too.",
    "export": "Write a profile to one file.",
    "import": "Make a profile of such a file.",
    "profiles": "List the profiles.",
    "config": "Show the settings.",
    "kb": "See to the knowledge base: status, add-chunks, optimize, reindex.",
    "doctor": "Check settings, plugins, folders and stores.",
    "explain": "Explain an error code.",
    "eval": "Measure answers and searches against a set of your own.",
    "completion": "Print the completion script of a shell.",
}
"""Built-in commands in the order of the help; each is ``cli`` in the module of its name in ``commands``."""

_EPILOG: Final = "\b\nExit codes:\n" + "\n".join(f"  {code.value:>3}  {text}" for code, text in MEANINGS.items())


class LazyGroup(click.Group):
    """Knows its commands by name and help; imports one when it is called. Plugins add to them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Built-in ones in the order of the help, then those of plugins by name."""
        return [*BUILT_IN, *self._of_plugins()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now; None if there is none of that name."""
        if cmd_name in BUILT_IN:
            command: click.Command = import_module(f"datamind_cli.commands.{cmd_name}").cli
            return command
        offered = plugin_commands.offered_commands(frozenset(BUILT_IN))
        if cmd_name in offered.commands:
            return plugin_commands.load_command(offered.commands[cmd_name])
        if ctx.resilient_parsing:
            return None
        raise click.UsageError(_no_command(cmd_name, offered), ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl(list(BUILT_IN.items()))
        if of_plugins := self._of_plugins():
            with formatter.section("Commands of plugins"):
                formatter.write_dl([(name, spec.help) for name, spec in of_plugins.items()])

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> None:
        """Run one command line and leave the process with its exit code."""
        state = State()
        extra |= {"obj": state, "standalone_mode": False}
        try:
            code = super().main(args, NAME, **extra)
            with failures.reported(state):
                _flush()
        except click.exceptions.Exit as ended:
            code = ended.exit_code
        sys.exit(code if isinstance(code, int) else 0)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the part of the line before the command."""
        with failures.reported(extra["obj"]):
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Parse and run the command; what it returns is the exit code."""
        with failures.reported(state_of(ctx)):
            return super().invoke(ctx)

    def _of_plugins(self) -> dict[str, Any]:
        if not plugin_commands.may_offer_commands():
            return {}
        return plugin_commands.offered_commands(frozenset(BUILT_IN)).commands


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _no_command(name: str, offered: plugin_commands.Offered) -> str:
    from datamind.plugins.known import COMMAND_REQUIREMENTS, advice

    parts = [f"there is no command {name[:80]!r}"]
    if name in COMMAND_REQUIREMENTS:
        parts.append(advice(COMMAND_REQUIREMENTS[name]).rstrip("."))
    elif close := difflib.get_close_matches(name, [*BUILT_IN, *offered.commands], n=1):
        parts.append(f"did you mean {close[0]!r}?")
    parts += _plugin_troubles(offered)
    return "; ".join(parts)


def _plugin_troubles(offered: plugin_commands.Offered) -> Iterator[str]:
    if offered.problem:
        yield f"commands of plugins are not offered: {offered.problem}"
    yield from (str(record) for record in offered.broken)


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        import datamind

        echo(f"{NAME} {datamind.__version__}")
        ctx.exit()


@click.group(NAME, cls=LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Print the version."
)
@common_options
def cli() -> None:
    """One data plane for agents: writes answered with receipts, questions answered with evidence.

    The options below may also stand after the command.
    """


def main() -> None:
    """Entry point of the ``datamind`` command."""
    # Imports make objects that stay; looking through them took a tenth of the time of one question. `opened_system`
    # ends this, before anything that grows with the data.
    gc.disable()
    prepare_streams()
    cli.main()
