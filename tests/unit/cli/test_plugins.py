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


def test_a_built_in_command_keeps_its_name(run, site):
    write_distribution(site, "acme", offering("ask", "hello"), modules={"hello": HELLO})
    text = run("--help").stdout
    assert text.count("  ask ") == 1
    assert "question" in run("ask", "").stderr
    assert run("hello").exit_code == 0


def test_two_plugins_with_one_command_stop_no_built_in_one(run, site):
    write_distribution(site, "acme", offering("hello"), modules={"hello": HELLO})
    write_distribution(site, "bolt", offering("hello", target="bolt.hello:command"), modules={"hello": HELLO})
    assert run("--help").exit_code == 0
    assert run("profiles").exit_code == 0
    result = run("hello")
    assert result.exit_code == 2
    assert "acme 1.0" in result.stderr
    assert "bolt 1.0" in result.stderr
    assert "commands of plugins are not offered" in run("plugins").stdout


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
