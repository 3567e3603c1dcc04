"""The reference page of the command line, written from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Final

import click

from datamind_cli.exits import MEANINGS
from datamind_cli.main import BUILT_IN, NAME, cli
from datamind_cli.state import common_options

_INTRODUCTION: Final = (
    "Every command takes the options of the first table, before or after its name. Results go to standard output, "
    "notes and errors to standard error. On a terminal, results are tables; in a pipe they are plain text. `--json` "
    'prints one JSON value instead, and an error as `{"error": {code, message, retryable}}` on standard error.'
)


def reference_page() -> str:
    """Markdown: common options, exit codes, then every built-in command with its arguments and options."""
    parts = ["# Command line", _INTRODUCTION, "## Options of every command { #options }", *_options(_common())]
    parts += ["## Exit codes { #exit-codes }", "\n".join(_exit_codes())]
    for path, command in _commands():
        parts += [f"## `{' '.join((NAME, *path))}` {{ #{'-'.join(path)} }}", *_command(path, command)]
    return "\n\n".join(parts) + "\n"


def _common() -> list[click.Option]:
    @click.command()
    @common_options
    def command() -> None: ...

    return [parameter for parameter in command.params if isinstance(parameter, click.Option)]


def _exit_codes() -> Iterator[str]:
    yield "| code | meaning |"
    yield "|---|---|"
    yield from (f"| {code.value} | {text} |" for code, text in MEANINGS.items())


def _commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(cli, info_name=NAME)
    for name in BUILT_IN:
        command = cli.get_command(context, name)
        if isinstance(command, click.Group):
            yield from (((name, leaf), command.commands[leaf]) for leaf in command.commands)
        elif command is not None:
            yield (name,), command


def _command(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=" ".join((NAME, *path)))
    usage = " ".join(piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]")
    yield f"```text\n{context.command_path} {usage}".rstrip() + "\n```"
    yield _markdown(command.help or "")
    common = {option.name for option in _common()}
    own = [option for option in command.params if isinstance(option, click.Option) and option.name not in common]
    yield from _options(own)


def _markdown(text: str) -> str:
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        "```text\n" + part.removeprefix("\b\n") + "\n```" if part.startswith("\b") else part for part in paragraphs
    )


def _options(options: Iterable[click.Option]) -> Iterator[str]:
    rows = [f"| {_names(option)} | {_cell(option.help or '')} |" for option in options]
    if rows:
        yield "\n".join(["| option | meaning |", "|---|---|", *rows])


def _names(option: click.Option) -> str:
    value = "" if option.is_flag or option.count else f" {option.make_metavar(click.Context(cli))}"
    *short, long = option.opts
    return _cell(", ".join([*(f"`{name}`" for name in short), f"`{long}{value}`"]))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
