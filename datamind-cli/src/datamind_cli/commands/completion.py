from __future__ import annotations

import click

from datamind_cli.exits import ExitCode
from datamind_cli.state import common_options
from datamind_cli.streams import echo

_VARIABLE = "_DATAMIND_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common_options
@click.pass_context
def cli(ctx: click.Context, shell: str) -> int:
    """Print the completion script of SHELL, to be loaded by its start file.

    \b
    bash  eval "$(datamind completion bash)"                                        in ~/.bashrc
    zsh   eval "$(datamind completion zsh)"                                         in ~/.zshrc
    fish  datamind completion fish > ~/.config/fish/completions/datamind.fish       once
    """
    from click.shell_completion import get_completion_class

    root = ctx.find_root()
    kind = get_completion_class(shell)
    if kind is None or root.info_name is None:
        raise click.UsageError(f"there is no completion for {shell!r}", ctx)
    echo(kind(root.command, {}, root.info_name, _VARIABLE).source())
    return ExitCode.OK
