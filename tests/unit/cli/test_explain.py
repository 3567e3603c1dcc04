"""Every error code has a page with a command that exists."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from datamind_cli.exits import error_classes
from datamind_cli.explaining import explained_codes, explanation
from datamind_cli.main import cli

CODES = sorted({kind.default_code for kind in error_classes()})
# Codes of the command itself, and of notices.
OTHERS = {"usage", "fault", "interrupted"}
OTHERS |= {"surface_off", "skipped", "citation", "vectors", "max_cost", "rejected_row", "erase"}


def test_every_error_code_has_a_page_and_every_page_a_code():
    assert set(explained_codes()) == set(CODES) | OTHERS


@pytest.mark.parametrize("code", explained_codes())
def test_a_page_says_what_why_and_what_to_do(code):
    page = explanation(code)
    assert page.startswith(f"# {code}: ")
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == ["## What it means", "## Why it happens", "## What to do"]
    assert all(len(line) <= 120 for line in page.splitlines())


def commands_of(page: str) -> list[list[str]]:
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    return [shlex.split(line) for line in block.splitlines()]


@pytest.mark.parametrize("code", explained_codes())
def test_the_commands_of_a_page_parse(code):
    for program, *arguments in commands_of(explanation(code)):
        assert program == "datamind"
        command: click.Command = cli
        context = click.Context(cli, info_name="datamind")
        while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
            name = arguments.pop(0)
            found = command.get_command(context, name)
            assert found is not None, name
            command, context = found, click.Context(found, info_name=name, parent=context)
        if arguments[:1] not in (["--help"], ["--version"]):
            command.make_context(command.name, arguments, resilient_parsing=False)


@pytest.mark.parametrize("code", explained_codes())
def test_narrower_codes_on_a_page_belong_to_it(code):
    for narrower in re.findall(r"`([a-z_]+\.[a-z_]+)`", explanation(code)):
        first = narrower.partition(".")[0]
        assert first == code or first not in explained_codes(), narrower


def test_a_narrower_code_shows_the_page_of_its_first_part(run):
    result = run("explain", "path_denied.link")
    assert result.exit_code == 0
    assert result.stdout.startswith("# path_denied: ")


def test_an_unknown_code_suggests_the_nearest(run):
    result = run("explain", "path_denid")
    assert result.exit_code == 2
    assert "did you mean 'path_denied'?" in result.stderr


def test_without_a_code_all_are_listed(run, run_json):
    assert set(run_json("explain")) == set(explained_codes())
    listed = run("explain").stdout
    assert all(code in listed for code in explained_codes())


def test_a_page_as_json(run_json):
    assert run_json("explain", "conflict") == {"code": "conflict", "page": explanation("conflict")}


def test_the_code_of_a_rejected_row_has_a_page(run):
    assert run("explain", "too_many_fields").stdout.startswith("# rejected_row: ")
