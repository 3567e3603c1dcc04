"""The repository speaks of the product alone, and its scripts do what its pages say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement

import datamind

DEMO_COMMAND = "python -m pip install nox && python -m nox -s demo"
TESTS_COMMAND = "python -m pip install nox && python -m nox -s tests"

# Spelled in pieces, so that this file passes its own test.
REGISTRY_HOSTS = ["py" + "pi.org", "pythonhosted" + ".org", "npm" + "js.org", "npm" + "js.com", "anaconda" + ".org"]
MACHINE_PATHS = ["/wo" + "rk/", "/ro" + "ot/", "../sh" + "ared", "/home/" + "user"]
INDEX_OPTIONS = ["index-" + "url", "trusted-" + "host"]


@pytest.fixture(scope="module")
def files(workspace) -> dict[str, str]:
    """Text of every file that git would hold: tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=workspace.root,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = {name: workspace.root / name for name in listed.stdout.split("\0") if name}
    return {name: path.read_text(encoding="utf-8", errors="replace") for name, path in paths.items() if path.is_file()}


@pytest.mark.parametrize("word", REGISTRY_HOSTS + MACHINE_PATHS + INDEX_OPTIONS)
def test_no_file_names_a_registry_or_a_place_of_one_machine(files, word):
    found = re.compile(rf"(?<![\w.]){re.escape(word)}", re.IGNORECASE)
    assert not [name for name, text in files.items() if found.search(text)]


def test_nothing_built_or_private_is_kept(files):
    kept = [name for name in files if re.search(r"(^|/)(\.env|.*\.(pyc|whl|sqlite|db|key|pem)|\.venv/.*)$", name)]
    assert not kept


def test_licence_is_apache(files):
    assert files["LICENSE"].split()[:4] == ["Apache", "License", "Version", "2.0,"]


@pytest.mark.parametrize("command", [DEMO_COMMAND, TESTS_COMMAND])
def test_the_readme_starts_a_newcomer_with_two_commands(files, command):
    assert command in files["README.md"].splitlines()


def test_the_changelog_follows_keep_a_changelog(files):
    headings = re.findall(r"^## \[(.+?)\](?: - \d{4}-\d{2}-\d{2})?$", files["CHANGELOG.md"], re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in headings[1:])
    assert datamind.__version__ in headings[1:] or len(headings) == 1
    kinds = set(re.findall(r"^### (.+)$", files["CHANGELOG.md"], re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_ci_runs_the_command_of_the_readme_and_every_check(workspace, files):
    script = files[".ci/run"]
    assert script.startswith("#!/usr/bin/env bash\n")
    assert "\nset -euo pipefail\n" in script
    assert os.access(workspace.root / ".ci" / "run", os.X_OK)
    # On lines of their own: in `a && b` a failing `a` does not stop a script.
    commands = [*TESTS_COMMAND.split(" && "), "python -m nox -s lint types packaging"]
    assert script.splitlines()[-3:] == commands


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_ci_stops_at_the_first_failure(workspace, tmp_path):
    (tmp_path / "python").write_text('#!/bin/sh\necho "$@"\n[ "$2" = pip ]\n')
    (tmp_path / "python").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    result = subprocess.run(
        [str(workspace.root / ".ci" / "run")], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stdout.splitlines() == ["-m pip install nox", "-m nox -s tests"]


def test_every_session_named_in_the_contributing_guide_exists(files):
    named = set(re.findall(r"python -m nox -s (\w+)", files["CONTRIBUTING.md"]))
    defined = set(re.findall(r"^@nox\.session.*\ndef (\w+)\(", files["noxfile.py"], re.MULTILINE))
    assert named == defined


def test_every_tool_is_pinned_inside_its_range(workspace, files):
    pins = {
        requirement.name.lower(): requirement
        for line in files["requirements/constraints.txt"].splitlines()
        if line and not line.startswith("#")
        for requirement in [Requirement(line)]
    }
    ranges = [line for name in ("dev", "docs") for line in files[f"requirements/{name}.txt"].splitlines()]
    for member in workspace.members:
        project = tomllib.loads(files[f"{member.name}/pyproject.toml"])["project"]
        ranges += project["dependencies"]
    names = {member.name for member in workspace.members}
    for line in ranges:
        text = line.partition("#")[0].strip()
        if not text or Requirement(text).name in names:
            continue
        requirement = Requirement(text)
        (pin,) = pins[requirement.name.lower()].specifier
        assert requirement.specifier.contains(pin.version), f"{text} against {pin}"


def test_no_member_is_pinned(workspace, files):
    assert not re.search(r"^datamind|^-e ", files["requirements/constraints.txt"], re.MULTILINE)
