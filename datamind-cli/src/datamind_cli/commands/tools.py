from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from datamind_cli.exits import ExitCode
from datamind_cli.render import Output, shorten
from datamind_cli.session import opened_for_reading, run
from datamind_cli.state import State, common_options, state_of

if TYPE_CHECKING:
    from datamind.core.tools import ToolSpec

_DESCRIPTION_CHARS = 80


@click.command("tools")
@click.option("--role", type=click.Choice(["store", "retrieve"]), help="Only the tools of this agent.")
@common_options
@click.pass_context
def cli(ctx: click.Context, role: str | None) -> int:
    """List the tools, and which agent holds each; --json adds their schemas."""
    state = state_of(ctx)
    return run(lambda: _tools(state, role))


async def _tools(state: State, role: str | None) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        rows = [_described(spec) for spec in system.catalogue]
    rows = [row for row in rows if role in (None, row["role"])]
    if out.is_json:
        out.json(rows)
        return ExitCode.OK
    columns = ("name", "role", "surface", "effect")
    out.table(
        (*columns, "description"),
        [(*(row[column] for column in columns), shorten(row["description"], _DESCRIPTION_CHARS)) for row in rows],
    )
    return ExitCode.OK


def _described(spec: ToolSpec) -> dict[str, Any]:
    from datamind.core.types import Role

    (role,) = (role for role in Role if spec.access in role.access)
    return {
        "name": spec.name,
        "role": role.value,
        "surface": spec.surface.value,
        "effect": spec.effect.value,
        "revert": spec.revert,
        "description": spec.description,
        "input_schema": dict(spec.input_schema),
    }
