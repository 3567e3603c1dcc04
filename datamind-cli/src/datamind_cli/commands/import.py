from __future__ import annotations

from pathlib import Path

import click

from datamind_cli.exits import ExitCode
from datamind_cli.moving import show_counts, told_bytes
from datamind_cli.render import Output
from datamind_cli.session import load_settings, run
from datamind_cli.state import State, common_options, state_of
from datamind_cli.streams import progress_line


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@common_options
@click.pass_context
def cli(ctx: click.Context, file: Path) -> int:
    """Make a profile of FILE, which `datamind export` wrote; --profile gives it another name.

    Every byte is checked and every store filled before the profile is there; one that exists is never touched. Exits
    with 1 when a surface does not hold what was exported.
    """
    state = state_of(ctx)
    return run(lambda: _import(state, file))


async def _import(state: State, file: Path) -> ExitCode:
    from datamind.agent import import_profile

    out = Output(state)
    settings = load_settings(state)
    name = state.flags.get("data.profile", "")
    with progress_line(enabled=not state.as_json) as line:
        report = await import_profile(
            file, settings, profile=name, tell=lambda done, what: told_bytes(line, done, what)
        )
    missing = [repair for repair in report.repairs if repair.missing]
    is_equal = not (missing or report.differences)
    if out.is_json:
        out.json(report)
    else:
        show_counts(out, report.counts)
        for text in (*report.differences, *(f"{repair.surface}: {repair}" for repair in missing)):
            out.line(text)
        for note in report.notes:
            out.line(note, dim=True)
        was = f", once {report.former}" if report.former != report.profile else ""
        out.line(f"profile {report.profile}{was}: all is as it was exported" if is_equal else "not all is here")
        out.note(f'Next: datamind ask --profile {report.profile} "..."')
    return ExitCode.OK if is_equal else ExitCode.NEGATIVE
