"""The group: help, version, unknown commands, options before and after the command."""

from __future__ import annotations

import importlib
import json

import click
import pytest

import datamind
from datamind_cli import main as cli_main
from datamind_cli.main import BUILT_IN, cli
from datamind_cli.state import State, common_options, state_of


def test_help_lists_every_command_and_exit_code(run):
    result = run("--help")
    assert result.exit_code == 0
    for name, text in BUILT_IN.items():
        assert f"  {name} " in result.stdout
        assert text.split()[0] in result.stdout
    for code in ("0", "1", "2", "3", "4", "5", "6", "70", "130", "141"):
        assert f"  {code}  " in result.stdout


def test_the_short_help_works_everywhere(run):
    assert run("-h").stdout == run("--help").stdout


def test_version(run):
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"datamind {datamind.__version__}\n")


def test_no_command_shows_the_help_and_is_a_mistake(run):
    result = run()
    assert result.exit_code == 2
    assert "Commands:" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_command_exists_takes_the_common_options_and_is_described(name, run):
    command = importlib.import_module(f"datamind_cli.commands.{name}").cli
    leaves = list(command.commands.values()) if isinstance(command, click.Group) else [command]
    for leaf in leaves:
        options = {option for parameter in leaf.params for option in parameter.opts}
        assert {"--profile", "--set", "--json", "--no-color", "--verbose"} <= options
        assert leaf.help
        for parameter in leaf.params:
            assert isinstance(parameter, click.Argument) or parameter.help, parameter
    assert run(name, "--help").exit_code == 0


def test_an_unknown_command_suggests_the_nearest(run):
    result = run("aks")
    assert result.exit_code == 2
    assert "'aks'; did you mean 'ask'?" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_command_of_another_distribution_names_what_to_install(run, monkeypatch):
    result = run("serve")
    assert result.exit_code == 2
    assert "It comes with datamind-http, which is not released yet" in result.stderr


def test_an_unknown_option_is_one_line(run):
    result = run("ask", "--profil", "x", "question")
    assert result.exit_code == 2
    assert (
        result.stderr == "datamind: No such option '--profil'. Did you mean '--profile'? See `datamind ask --help`.\n"
    )


@pytest.fixture
def probe(monkeypatch):
    """A command that keeps the state it was called with."""
    states: list[State] = []

    @click.command("probe")
    @common_options
    @click.pass_context
    def command(ctx):
        states.append(state_of(ctx))

    monkeypatch.setitem(BUILT_IN, "probe", "For this test.")
    module = type("Module", (), {"cli": command})
    monkeypatch.setattr(cli_main, "import_module", lambda name: module)
    return states


@pytest.mark.parametrize(
    "line",
    [
        "--profile work --set llm.model=m --json -v probe",
        "probe --profile work --set llm.model=m --json -v",
        "--json probe --profile work -v --set llm.model=m",
    ],
)
def test_common_options_stand_before_or_after_the_command(run, probe, line):
    assert run(*line.split()).exit_code == 0
    assert probe == [State({"data.profile": "work", "llm.model": "m"}, as_json=True, verbosity=1)]


def test_the_option_behind_the_command_wins(run, probe):
    run("--profile", "one", "--set", "llm.model=a", "probe", "--profile", "two", "--set", "llm.model=b=c")
    assert probe[0].flags == {"data.profile": "two", "llm.model": "b=c"}


@pytest.mark.parametrize("pair", ["llm.model", "=x", ""])
def test_a_setting_without_key_or_value_is_a_mistake(run, pair):
    result = run("config", "show", "--set", pair)
    assert result.exit_code == 2
    assert "section.key=value" in result.stderr


@pytest.mark.parametrize("key", ["llm.api_key", "db.dsn", "kb.options.token"])
def test_b27_a_secret_is_refused_on_the_command_line(run, key):
    result = run("config", "show", "--set", f"{key}=hunter2hunter2")
    assert result.exit_code == 2
    assert "hunter2" not in result.stdout + result.stderr
    assert "DATAMIND__" in result.stderr


def test_json_mistakes_are_json_on_standard_error(run):
    result = run("--json", "ask", "")
    assert result.exit_code == 2
    assert result.stdout == ""
    error = json.loads(result.stderr)["error"]
    assert error["code"] == "input_invalid"
    assert error["retryable"] is False


def test_a_fault_is_one_line_and_its_traceback_needs_asking(run, monkeypatch):
    def fail(name):
        raise RuntimeError("the cause")

    monkeypatch.setattr(cli_main, "import_module", fail)
    result = run("ask", "question")
    assert result.exit_code == 70
    assert "RuntimeError: the cause" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in run("-v", "ask", "question").stderr


def test_completion_prints_a_script_for_each_shell(run):
    for shell in ("bash", "zsh", "fish"):
        result = run("completion", shell)
        assert result.exit_code == 0
        assert "_DATAMIND_COMPLETE" in result.stdout
    assert run("completion", "tcsh").exit_code == 2


def test_completion_offers_commands_and_codes(run, monkeypatch):
    def complete(*words):
        monkeypatch.setenv("_DATAMIND_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(("datamind", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        return run().stdout.split()

    assert complete("re") == ["plain,receipts", "plain,revert"]
    assert complete("explain", "path") == ["plain,path_denied"]


def test_the_group_is_usable_as_a_click_command():
    assert isinstance(cli, click.Group)
