from __future__ import annotations

import click

from datamind.core.errors import DataMindError
from datamind_cli.checking import (
    Check,
    environment_checks,
    failed,
    folder_checks,
    plugin_checks,
    system_checks,
)
from datamind_cli.exits import ExitCode
from datamind_cli.main import BUILT_IN
from datamind_cli.plugin_commands import lenient_environ, quiet_plugins
from datamind_cli.render import Output, count_of, shorten
from datamind_cli.session import load_settings, need_profile, opened_system, run
from datamind_cli.state import State, common_options, state_of

_DETAIL_CHARS = 160


@click.command("doctor")
@common_options
@click.pass_context
def cli(ctx: click.Context) -> int:
    """Check plugins, settings, folders, control.db and every store; exits with 1 when something is wrong."""
    state = state_of(ctx)
    out = Output(state)
    with quiet_plugins():
        checks = run(lambda: _checks(state))
    wrong = sum(check.state == "failed" for check in checks)
    if out.is_json:
        out.json([vars(check) for check in checks])
    else:
        max_chars = _DETAIL_CHARS if not out.verbosity else 10 * _DETAIL_CHARS
        rows = [(check.state, check.name, shorten(check.detail, max_chars), check.remedy) for check in checks]
        out.table(("state", "check", "detail", "what to do"), rows)
        out.line(f"{count_of(wrong, 'thing')} wrong." if wrong else "Nothing is wrong.")
    return ExitCode.NEGATIVE if wrong else ExitCode.OK


async def _checks(state: State) -> list[Check]:
    from datamind.agent.listing import make_host
    from datamind.plugins import PluginHost, ProviderRegistry
    from datamind_cli.initialising import absent_defaults

    host = PluginHost(environ=lenient_environ())
    host.commands(BUILT_IN)
    host.providers()
    environment = list(environment_checks())
    try:
        settings = load_settings(state)
    except DataMindError as error:
        return [*plugin_checks(host.records, host.unmatched), *environment, failed("settings", error)]
    checks = [*environment, Check("settings", "ok", f"profile {settings.data.profile}"), *folder_checks(settings)]
    try:
        need_profile(settings)
    except DataMindError as error:  # looking at it would make it
        return [*plugin_checks(host.records, host.unmatched), *checks, failed("profile", error)]
    absent = absent_defaults(settings, ProviderRegistry(host))
    host = make_host(settings, strict=False)
    host.commands(BUILT_IN)
    try:
        async with opened_system(state, settings, host=host) as system:
            checks += [check async for check in system_checks(system, absent)]
    except DataMindError as error:
        checks.append(failed("start", error))
    return [*plugin_checks(host.records, host.unmatched), *checks]
