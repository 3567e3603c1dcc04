from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from datamind_cli.exits import ExitCode
from datamind_cli.plugin_commands import examined_plugins, quiet_plugins
from datamind_cli.render import Output, count_of
from datamind_cli.state import common_options, state_of

if TYPE_CHECKING:
    from datamind.plugins import PluginHost, PluginRecord


@click.command("plugins")
@common_options
@click.pass_context
def cli(ctx: click.Context) -> int:
    """List the installed plugins, what each provides, and why one does not work; -v adds its traceback."""

    state = state_of(ctx)
    out = Output(state)
    with quiet_plugins():
        host, remarks = examined_plugins(state)
    rows = described_plugins(host)
    if out.is_json:
        out.json(rows)
        return ExitCode.OK
    columns = ("name", "distribution", "version", "state")
    out.table((*columns, "provides"), [(*(row[column] for column in columns), _provides(row)) for row in rows])
    for record in host.records:
        if record.cause:
            out.line(f"{record.name}: {record.cause}")
        if record.traceback and out.verbosity:
            out.line(record.traceback)
    for remark in (*host.unmatched, *remarks):
        out.line(remark)
    return ExitCode.OK


def described_plugins(host: PluginHost) -> list[dict[str, Any]]:
    """Every record with what its plugin registers. Asking may turn a loaded plugin into a failed one."""
    from datamind_cli.main import BUILT_IN

    provided: dict[tuple[str, str], list[str]] = {}
    for provider in host.providers():
        provided.setdefault(_key(provider.origin), []).append(f"{provider.kind} {provider.name}")
    for command in host.commands(BUILT_IN):
        provided.setdefault(_key(command.origin), []).append(f"command {command.name}")
    return [_row(record, provided.get(_key(record), [])) for record in host.records]


def _key(record: PluginRecord | None) -> tuple[str, str]:
    return (record.name, record.distribution) if record else ("", "")


def _row(record: PluginRecord, provides: list[str]) -> dict[str, Any]:
    return {
        "name": record.name,
        "distribution": record.distribution,
        "version": record.version,
        "state": record.state.value,
        "cause": record.cause,
        "provides": provides if record.state == "ok" else [],
        "traceback": record.traceback,
    }


def _provides(row: dict[str, Any]) -> str:
    names = row["provides"]
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {count_of(len(names) - 3, 'other')}"
