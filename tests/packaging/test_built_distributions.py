"""What a user gets: the files and metadata of each wheel and source archive."""

from __future__ import annotations

import configparser
import email
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Callable[..., Path]:
    """Builds a member once; returns the folder with its wheel and its source archive."""
    base = tmp_path_factory.mktemp("dist")

    def build_once(member) -> Path:
        target = base / member.name
        if not target.exists():
            command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target)]
            result = subprocess.run(command, cwd=member.folder, capture_output=True, text=True, check=False)
            assert result.returncode == 0, result.stdout + result.stderr
        return target

    return build_once


@pytest.fixture
def wheel(build, member) -> zipfile.ZipFile:
    (path,) = build(member).glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture
def dist_info(member) -> str:
    return f"{member.name.replace('-', '_')}-{member.project['version']}.dist-info"


@pytest.fixture
def metadata(wheel, dist_info) -> Message:
    return email.message_from_bytes(wheel.read(f"{dist_info}/METADATA"))


NOT_INSTALLED = {"datamind_cli/enterprise/make.py"}
"""What makes the example, and needs what nothing else needs."""


def package_files(member) -> set[str]:
    source = member.package.parent
    # The example of the command is a link to a folder beside the distributions.
    walked = os.walk(member.package, followlinks=True)
    files = {Path(folder, name).relative_to(source).as_posix() for folder, _, names in walked for name in names}
    return {name for name in files if "__pycache__" not in name}


def test_a_wheel_holds_its_package_whole_and_nothing_else(member, wheel, dist_info):
    names = set(wheel.namelist())
    assert {name for name in names if not name.startswith(f"{dist_info}/")} == package_files(member) - NOT_INSTALLED
    assert f"{member.package.name}/py.typed" in names
    assert not [name for name in names if name.rpartition("/")[2].startswith(("test_", "conftest"))]


def test_a_wheel_holds_the_licence(wheel, dist_info, workspace):
    assert wheel.read(f"{dist_info}/licenses/LICENSE") == (workspace.root / "LICENSE").read_bytes()


def test_a_wheel_runs_on_every_platform(wheel, dist_info):
    text = wheel.read(f"{dist_info}/WHEEL").decode()
    assert "\nTag: py3-none-any\n" in text
    assert "\nRoot-Is-Purelib: true\n" in text


def test_metadata_says_what_the_project_file_says(member, metadata):
    assert metadata["Name"] == member.name
    assert metadata["Version"] == member.project["version"]
    assert metadata["Summary"] == member.project["description"]
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().startswith(f"# {member.name}\n")


def test_metadata_requires_what_the_project_file_requires(member, metadata):
    required = {Requirement(line) for line in metadata.get_all("Requires-Dist")}
    plain = {requirement for requirement in required if "extra ==" not in str(requirement.marker)}
    assert plain == {Requirement(line) for line in member.project["dependencies"]}
    extras = member.project.get("optional-dependencies", {})
    assert set(metadata.get_all("Provides-Extra", [])) == set(extras)
    assert len(required - plain) == sum(len(lines) for lines in extras.values())


def test_entry_points_are_those_of_the_project_file(member, wheel, dist_info):
    declared = {group: dict(points) for group, points in member.project.get("entry-points", {}).items()}
    if scripts := member.project.get("scripts"):
        declared["console_scripts"] = dict(scripts)
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    if declared:
        parser.read_string(wheel.read(f"{dist_info}/entry_points.txt").decode())
    assert {group: dict(parser[group]) for group in parser.sections()} == declared


def test_a_source_archive_can_be_built_from(build, member):
    (path,) = build(member).glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = {f"src/{name}" for name in package_files(member)}
    assert names - {".gitignore"} == expected | {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO"}
