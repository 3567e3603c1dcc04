"""Commands of plugins, and what becomes of broken ones."""

from __future__ import annotations

import json
import sys

import pytest

from datamind_cli import plugin_commands
from tests.support.plugins import plugin_source, write_distribution

COMMANDS = "def datamind_register_commands():\n    return [{}]"
HELLO = """
import click

@click.command("hello")
def command():
    click.echo("hello from a plugin")
"""


def offering(*names, target="acme.hello:command"):
    specs = ", ".join(f"CommandSpec({name!r}, 'Says hello.', {target!r})" for name in names)
    return plugin_source(COMMANDS.format(specs))


@pytest.fixture
def site(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(folder) in str(sys.modules[name].__file__):
            del sys.modules[name]


def test_a_command_of_a_plugin_joins_the_group(run, site):
    write_distribution(site, "acme", offering("hello"), modules={"hello": HELLO})
    assert "hello  Says hello." in run("--help").stdout
    result = run("hello")
    assert (result.exit_code, result.stdout) == (0, "hello from a plugin\n")
    assert "command hello" in run("plugins").stdout


def test_help_does_not_import_the_command(run, site):
    write_distribution(site, "acme", offering("hello"), modules={"hello": "raise RuntimeError('imported')"})
    assert "hello  Says hello." in run("--help").stdout
    result = run("hello")
    assert result.exit_code == 3
    assert "'acme.hello:command' cannot be loaded" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_target_that_is_no_command_is_named(run, site):
    write_distribution(site, "acme", offering("hello"), modules={"hello": "command = print"})
    result = run("hello")
    assert result.exit_code == 3
    assert "'hello' of acme 1.0 is no click command" in result.stderr


def test_b26_a_built_in_command_keeps_its_name(run, site, run_json):
    write_distribution(site, "acme", offering("ask", "hello"), modules={"hello": HELLO})
    text = run("--help").stdout
    assert text.count("  ask ") == 1
    assert "question" in run("ask", "").stderr
    (row,) = [row for row in run_json("plugins") if row["name"] == "acme"]
    assert row["state"] == "failed"
    assert row["cause"].startswith("Command 'ask' is claimed by both datamind-core ")


def test_two_plugins_with_one_command_stop_no_built_in_one(run, site):
    write_distribution(site, "acme", offering("hello"), modules={"hello": HELLO})
    write_distribution(site, "bolt", offering("hello", target="bolt.hello:command"), modules={"hello": HELLO})
    assert run("--help").exit_code == 0
    assert run("profiles").exit_code == 0
    result = run("hello")
    assert result.exit_code == 2
    assert "acme 1.0" in result.stderr
    assert "bolt 1.0" in result.stderr
    listed = run("plugins").stdout
    assert listed.count("Command 'hello' is claimed by both acme 1.0 (plugin 'acme') and bolt 1.0 (plugin 'bolt')") == 2


def test_b26_a_broken_plugin_stops_nothing_and_shows_its_traceback(run, site, run_json):
    write_distribution(site, "acme", "import nothing_like_this\n")
    for command in (["--help"], ["profiles"], ["config", "show"], ["plugins"]):
        assert run(*command).exit_code == 0
    listed = run("plugins").stdout
    assert "acme: ModuleNotFoundError: No module named 'nothing_like_this'" in listed
    assert "Traceback" not in listed
    assert "Traceback" in run("plugins", "-v").stdout
    (row,) = [row for row in run_json("plugins") if row["name"] == "acme"]
    assert (row["state"], row["distribution"], row["version"]) == ("failed", "acme", "1.0")
    assert "nothing_like_this" in row["traceback"]


def test_strict_mode_stops_work_but_not_the_list(run, site, monkeypatch):
    write_distribution(site, "acme", "import nothing_like_this\n")
    monkeypatch.setenv("DATAMIND_PLUGINS_STRICT", "1")
    assert "acme" in run("plugins").stdout
    assert run("--help").exit_code == 0
    result = run("receipts")
    assert result.exit_code == 3
    assert "DATAMIND_PLUGINS_STRICT" in result.stderr


def test_a_blocked_plugin_is_listed_as_such(run_json, site, monkeypatch):
    write_distribution(site, "acme", offering("hello"), modules={"hello": HELLO})
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "acme")
    (row,) = [row for row in run_json("plugins") if row["name"] == "acme"]
    assert row["state"] == "blocked"
    assert row["provides"] == []


def test_a_switch_that_is_not_understood_is_one_line(run, monkeypatch):
    monkeypatch.setenv("DATAMIND_PLUGINS_STRICT", "perhaps")
    assert run("plugins").exit_code == 0
    result = run("receipts")
    assert result.exit_code == 3
    assert result.stderr.count("\n") == 1


@pytest.fixture
def only_site(site, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(site)])
    return site


def test_help_skips_plugins_only_when_their_text_names_no_command(only_site):
    assert not plugin_commands.may_offer_commands()
    write_distribution(only_site, "silent", plugin_source(provider="x"))
    assert not plugin_commands.may_offer_commands()


@pytest.mark.parametrize(
    ("source", "entry_points"),
    [
        (offering("hello"), None),
        ("from elsewhere import *\n", None),
        (plugin_source(), {"acme": "somewhere_else.plugin"}),  # its text is not found
        (plugin_source(), {"acme": "acme.objects:plugin"}),
    ],
)
def test_help_loads_plugins_that_may_name_a_command(only_site, source, entry_points):
    write_distribution(only_site, "acme", source, entry_points=entry_points)
    assert plugin_commands.may_offer_commands()


def test_json_of_plugins_is_complete(run, site):
    rows = json.loads(run("plugins", "--json").stdout)
    core = rows[0]
    assert (core["name"], core["state"]) == ("core", "ok")
    assert "kb.store memory" in core["provides"]


TOOLS = "def datamind_register_tools(services):\n    {}"
HOOKS = "def datamind_register_tool_hooks(settings, services):\n    {}"
SECTIONS = "def datamind_prompt_sections(role, services):\n    {}"
KB_SEARCH = """\
    from datamind.core.tools import ToolSpec
    from datamind.core.types import DataSurface, ToolEffect
    return [ToolSpec("memory_recall", "Mine.", {"type": "object"}, print, ToolEffect.READ, DataSurface.MEMORY)]"""


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (TOOLS.format("raise RuntimeError('boom')"), "datamind_register_tools: RuntimeError: boom"),
        (HOOKS.format("raise RuntimeError('boom')"), "datamind_register_tool_hooks: RuntimeError: boom"),
        (SECTIONS.format("raise RuntimeError('boom')"), "datamind_prompt_sections: RuntimeError: boom"),
        (HOOKS.format("return [ToolHookSpec('sundays', 5, 'acme.nowhere:make')]"), "acme.nowhere"),
        (TOOLS.format("\n" + KB_SEARCH), "Tool 'memory_recall' is claimed by both datamind-core "),
        (TOOLS.format("raise RuntimeError(services.control.profile)"), "RuntimeError: default"),
        (TOOLS.format("raise RuntimeError(services.settings.llm.model)"), "RuntimeError: claude"),
    ],
)
def test_b26_a_plugin_that_fails_in_a_build_is_listed_and_stops_nothing(run, site, run_json, source, cause):
    write_distribution(site, "acme", plugin_source(source))
    (row,) = [row for row in run_json("plugins") if row["name"] == "acme"]
    assert (row["state"], row["distribution"]) == ("failed", "acme")
    assert cause in row["cause"]
    assert f"acme: {row['cause']}" in run("plugins").stdout
    assert run("store", "Remember: the lamp is red.").exit_code == 0
    asked = run("ask", "What colour is the lamp?")
    assert asked.exit_code == 0
    assert "red" in asked.stdout
    checked = run("doctor")
    assert checked.exit_code == 1
    assert "plugin 'acme' of acme 1.0 failed" in " ".join(checked.stdout.split())


def test_plugins_that_settings_block_are_listed_as_blocked(run, run_json, site):
    write_distribution(site, "acme", plugin_source(TOOLS.format("raise RuntimeError('boom')")))
    rows = run_json("plugins", "--set", "plugins.block=acme")
    assert [row["state"] for row in rows if row["name"] == "acme"] == ["blocked"]


def test_settings_that_name_what_is_missing_do_not_hide_the_list(run, site):
    write_distribution(site, "acme", plugin_source(TOOLS.format("return []")))
    result = run("plugins", "--set", "kb.backend=nothing")
    assert result.exit_code == 0
    assert "acme" in result.stdout
    assert "was not looked at: kb.backend='nothing'" in result.stdout


@pytest.mark.parametrize("variable", ["DATAMIND_PLUGINS_BLOCK", "DATAMIND_PLUGINS"])
def test_a_list_with_a_name_that_nothing_has_is_told(run, monkeypatch, variable):
    monkeypatch.setenv(variable, "memory-sqlyte,memory-sqlite,model-offline,skills")
    sentence = f"{variable} names 'memory-sqlyte', and no plugin of that name is installed."
    assert sentence in run("plugins").stdout
    checked = run("doctor")
    assert checked.exit_code == 1
    assert sentence.split(",")[0] in " ".join(checked.stdout.split())
