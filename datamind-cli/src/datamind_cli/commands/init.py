from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from datamind_cli.exits import ExitCode
from datamind_cli.initialising import Proposal, make_proposals, unusable_vendor_variables
from datamind_cli.plugin_commands import lenient_environ, quiet_plugins
from datamind_cli.render import Output
from datamind_cli.session import load_settings
from datamind_cli.state import common_options, state_of
from datamind_cli.streams import is_terminal


@click.command("init")
@click.option("-y", "--yes", is_flag=True, help="Agree to everything that would be asked.")
@common_options
@click.pass_context
def cli(ctx: click.Context, yes: bool) -> int:
    """Write the settings of a profile into data/profiles/NAME/datamind.toml.

    Values given with --set are written. Keys of model vendors in the environment are never used silently: init names
    those it sees and asks whether to write the setting. A value that is there is replaced only with your consent.
    """
    from datamind.config import Profile, write_profile_file
    from datamind.plugins import PluginHost, ProviderRegistry

    state = state_of(ctx)
    out = Output(state)
    settings = load_settings(state)
    profile = Profile.of(settings)
    with quiet_plugins():
        registry = ProviderRegistry(PluginHost(environ=lenient_environ()))
    proposals = make_proposals(settings, registry, profile, state.flags)
    existed = profile.settings_file.exists()
    chosen, left = _decide(proposals, yes)
    profile.ensure()
    if chosen or not existed:
        write_profile_file(profile, {proposal.key: proposal.value for proposal in chosen})
    missing = unusable_vendor_variables(registry)
    if out.is_json:
        out.json(
            {
                "profile": profile.name,
                "settings_file": str(profile.settings_file),
                "written": [proposal.key for proposal in chosen],
                "left": [proposal.key for proposal in left],
                "unusable_variables": [name for name, _ in missing],
            }
        )
        return ExitCode.OK
    out.line(f"{profile.settings_file} " + ("is there already" if existed else "is new"))
    _report(out, chosen, left)
    for name, advice in missing:
        out.line(f"  {name} is set, and its model client is not installed. {advice}")
    out.note(f'Next: datamind ingest FOLDER --profile {profile.name}, then datamind ask "..."')
    return ExitCode.OK


def _decide(proposals: Sequence[Proposal], yes: bool) -> tuple[list[Proposal], list[Proposal]]:
    can_ask = is_terminal(sys.stdin) and is_terminal(sys.stderr)
    chosen: list[Proposal] = []
    left: list[Proposal] = []
    for proposal in proposals:
        agreed = yes or not proposal.asks
        if not agreed and can_ask:
            agreed = click.confirm(f"{proposal.reason}. Write {proposal.shown}?", err=True)
        (chosen if agreed else left).append(proposal)
    return chosen, left


def _report(out: Output, chosen: Sequence[Proposal], left: Sequence[Proposal]) -> None:
    for proposal in chosen:
        out.line(f"  written: {proposal.shown} ({proposal.reason})")
    for proposal in left:
        out.line(f"  left: {proposal.shown} ({proposal.reason}); init --yes writes it")
