from __future__ import annotations

import click

from datamind_cli.exits import ExitCode
from datamind_cli.explaining import explained_codes, explanation
from datamind_cli.render import Output
from datamind_cli.state import common_options, state_of


def _complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [code for code in explained_codes() if code.startswith(incomplete)]


@click.command("explain")
@click.argument("code", metavar="[CODE]", required=False, shell_complete=_complete)
@common_options
@click.pass_context
def cli(ctx: click.Context, code: str | None) -> int:
    """Say what the error CODE means, why it happens and what to do; list all codes without one."""
    out = Output(state_of(ctx))
    if code:
        page = explanation(code)
        if out.is_json:
            out.json({"code": code, "page": page})
        else:
            out.line(page.rstrip())
        return ExitCode.OK
    titles = {name: explanation(name).partition("\n")[0].partition(": ")[2] for name in explained_codes()}
    if out.is_json:
        out.json(titles)
    else:
        out.table(("code", "meaning"), list(titles.items()))
    return ExitCode.OK
