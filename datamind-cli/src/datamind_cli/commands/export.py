from __future__ import annotations

from pathlib import Path

import click

from datamind_cli.exits import ExitCode
from datamind_cli.moving import show_counts, told_bytes
from datamind_cli.render import Output, count_of
from datamind_cli.session import opened_for_reading, run
from datamind_cli.state import State, common_options, state_of
from datamind_cli.streams import progress_line


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@click.option("--with-audit-key", is_flag=True, help="Take the key of the audit chain along; keep such a file secret.")
@common_options
@click.pass_context
def cli(ctx: click.Context, file: Path, force: bool, with_audit_key: bool) -> int:
    """Write the whole profile to FILE, a zip that `datamind import` makes a profile of again.

    In it are the ledger, every stored source, and the tables (parquet), the graph (N-Quads), memories (JSON Lines) and
    skills for other programs. Secrets of the settings, global memories and your own files are not. Exits with 1 when
    stored content was found missing.
    """
    state = state_of(ctx)
    target = file.absolute()
    return run(lambda: _export(state, target, force=force, with_audit_key=with_audit_key))


async def _export(state: State, target: Path, *, force: bool, with_audit_key: bool) -> ExitCode:
    out = Output(state)
    async with opened_for_reading(state) as system:
        with progress_line(enabled=not state.as_json) as line:
            report = await system.export(
                target,
                replace=force,
                with_audit_key=with_audit_key,
                tell=lambda done, name: told_bytes(line, done, name),
            )
    if out.is_json:
        out.json(report)
    else:
        show_counts(out, report.counts)
        for what in report.left_out:
            out.line(f"not in it: {what}", dim=True)
        for name in report.missing:
            out.line(f"stored content {name[:16]} is missing or damaged: `datamind doctor`")
        out.line(out.join([f"profile {report.profile} in {report.path}", f"{report.size:,} bytes"]))
    if report.missing:
        out.note(f"{count_of(len(report.missing), 'stored content')} could not be exported.")
    return ExitCode.NEGATIVE if report.missing else ExitCode.OK
