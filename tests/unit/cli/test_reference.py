"""The reference page follows from the commands."""

from __future__ import annotations

import re

import click

from datamind_cli.exits import MEANINGS
from datamind_cli.main import BUILT_IN, cli
from datamind_cli.reference import reference_page


def test_every_command_option_and_exit_code_is_on_the_page():
    page = reference_page()
    context = click.Context(cli)
    for name in BUILT_IN:
        command = cli.get_command(context, name)
        leaves = command.commands.values() if isinstance(command, click.Group) else [command]
        assert f"## `datamind {name}" in page
        for leaf in leaves:
            for option in (parameter for parameter in leaf.params if isinstance(parameter, click.Option)):
                assert f"`{option.opts[-1]}" in page, f"{name} {option.opts}"
    for code, text in MEANINGS.items():
        assert f"| {code.value} | {text} |" in page


def test_the_page_is_tidy_markdown():
    page = reference_page()
    anchors = re.findall(r"\{ #([a-z-]+) \}", page)
    assert len(anchors) == len(set(anchors))
    assert page.count("```") % 2 == 0
    assert "\b" not in page
    assert page.endswith("\n")
    assert not re.search(r"^\| .*[^|\n]$", page, re.MULTILINE)
