"""Every distribution has the same shape, says what it needs, and is released with the others."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from importlib.metadata import packages_distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import datamind
from datamind.plugins import PluginHost
from datamind.plugins.discovery import installed_entry_points
from datamind.plugins.known import KNOWN_DISTRIBUTIONS, NOT_RELEASED, PROVIDER_REQUIREMENTS, distribution_of

REQUIRED_SECTIONS = ("Install", "Limits")
REQUIRED_SECTIONS_OF_PLUGINS = ("Install", "Settings", "Options", "Limits")


def requirements_of(member, *, extras: bool) -> list[Requirement]:
    lines = list(member.project.get("dependencies", []))
    if extras:
        lines += [line for group in member.project.get("optional-dependencies", {}).values() for line in group]
    return [Requirement(line) for line in lines]


def test_the_member_list_is_the_folders(workspace):
    folders = {path.parent.name for path in workspace.root.glob("datamind-*/pyproject.toml")}
    names = [member.name for member in workspace.members]
    assert sorted(folders) == sorted(names)
    assert names[0] == "datamind-core"


def test_the_workspace_itself_is_no_project(workspace):
    assert "project" not in workspace.pyproject


def test_name_and_import_name_follow_the_folder(member):
    assert member.project["name"] == member.name
    expected = "datamind" if member.name == "datamind-core" else member.name.replace("-", "_")
    assert member.package.name == expected
    assert member.package.parent.name == "src"
    owned = [path.name for path in member.package.parent.iterdir() if path.name != "__pycache__"]
    assert owned == [expected]


def test_versions_are_in_lockstep(workspace, member):
    assert member.project["version"] == workspace.members[0].project["version"] == datamind.__version__
    assert re.match(r"1\.\d+\.\d+$", datamind.__version__)


def test_members_accept_every_release_of_this_major(workspace, member):
    names = {other.name for other in workspace.members}
    for requirement in requirements_of(member, extras=True):
        if canonicalize_name(requirement.name) in names:
            assert str(requirement.specifier) in (">=1.0,<2", "<2,>=1.0"), requirement


def test_only_core_is_required_without_asking(workspace, member):
    names = {other.name for other in workspace.members} - {"datamind-core"}
    required = {canonicalize_name(requirement.name) for requirement in requirements_of(member, extras=False)}
    assert not required & names
    assert "datamind-core" in required or member.name == "datamind-core"


def test_the_default_set_is_every_member(workspace):
    (command,) = (member for member in workspace.members if member.name == "datamind-cli")
    named = {Requirement(line).name for line in command.project["optional-dependencies"]["default"]}
    assert named == {member.name for member in workspace.members} - {"datamind-core", "datamind-cli"}


def test_every_requirement_has_a_floor(member):
    for requirement in requirements_of(member, extras=True):
        assert any(part.operator in (">=", "==", "~=") for part in requirement.specifier), requirement


def test_the_floor_of_python_is_the_same_everywhere(workspace, member):
    assert member.project["requires-python"] == ">=3.11"
    assert workspace.pyproject["tool"]["ruff"]["target-version"] == "py311"
    assert workspace.pyproject["tool"]["mypy"]["python_version"] == "3.11"


def test_the_package_is_typed_and_licensed(workspace, member):
    assert (member.package / "py.typed").is_file()
    assert member.project["license"] == "Apache-2.0"
    # A copy, because a wheel and a source archive can only take files from the folder of their project.
    assert (member.folder / "LICENSE").read_bytes() == (workspace.root / "LICENSE").read_bytes()


def test_the_readme_says_what_a_user_asks(member):
    text = (member.folder / member.project["readme"]).read_text(encoding="utf-8")
    headings = {line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("## ")}
    required = REQUIRED_SECTIONS_OF_PLUGINS if member.plugins else REQUIRED_SECTIONS
    assert not set(required) - headings, f"{member.name}/README.md lacks these sections"
    assert f"pip install {member.name}" in text or f'pip install "{member.name}' in text
    assert text.startswith(f"# {member.name}\n")


@cache
def imported_packages(member) -> set[str]:
    found = set()
    for _, path in member.modules():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found - sys.stdlib_module_names - {member.package.name}


def owners_of(workspace, module: str) -> set[str]:
    """Distributions that provide a module; an editable member lists no files, so members are told apart here.

    What is not installed, such as an extra, is looked for under its own name.
    """
    members = {member.package.name: {member.name} for member in workspace.members}
    return members.get(module) or {canonicalize_name(name) for name in installed().get(module, [module])}


@cache
def installed() -> dict[str, list[str]]:
    """Distributions by the packages that they provide."""
    return dict(packages_distributions())


def test_every_import_is_declared(workspace, member):
    declared = {canonicalize_name(requirement.name) for requirement in requirements_of(member, extras=True)}
    missing = {name for name in imported_packages(member) if not owners_of(workspace, name) & declared}
    assert not missing, f"{member.name} imports these and its pyproject.toml does not require them"


def test_every_requirement_is_used(workspace, member):
    used = set().union(*(owners_of(workspace, name) for name in imported_packages(member)))
    required = {canonicalize_name(requirement.name) for requirement in requirements_of(member, extras=False)}
    # tzdata is data: zoneinfo reads it where the system has none. snowballstemmer imports pystemmer.
    assert not required - used - {"tzdata", "pystemmer"}, f"{member.name} requires these and imports none of them"


def test_every_entry_point_names_a_plugin_module(member):
    for name, module in member.plugins.items():
        assert module == f"{member.package.name}.plugin"
        assert f"datamind-{name}" == member.name
        assert (member.package / "plugin.py").is_file()


def test_what_errors_tell_to_install_exists(workspace):
    members = {member.name for member in workspace.members}
    assert not NOT_RELEASED & members, "take it off NOT_RELEASED in datamind/plugins/known.py"
    assert KNOWN_DISTRIBUTIONS - members == NOT_RELEASED


def test_every_provider_of_a_member_is_known():
    entries = [entry for entry in installed_entry_points()[0] if entry.dist.name in KNOWN_DISTRIBUTIONS]
    for spec in PluginHost(entries, {}).providers():
        if spec.origin.name != "core":
            requirement = PROVIDER_REQUIREMENTS[spec.kind, spec.name]
            assert distribution_of(requirement) == spec.origin.distribution
