"""Which part of the code may import which. Every import counts, at whatever depth of the module it stands."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

MAY_IMPORT = {
    "core": set(),
    "config": {"core"},
    "plugins": {"core", "config"},
    "engine_host": {"core"},
    "capabilities": {"core", "config", "plugins", "engine_host"},
    "agent": {"core", "config", "plugins", "engine_host", "capabilities"},
    "sync": {"core", "config", "plugins", "engine_host", "capabilities", "agent"},
    "testing": {"core", "config", "plugins", "engine_host", "capabilities", "agent", "sync"},
}
# The root package offers names of every layer, loading each when it is asked for.
ROOT_PACKAGE = ""


def imports_of(module: str, path: Path) -> Iterator[tuple[str, int]]:
    """Every imported dotted name with its line; `from a import b` gives `a.b`."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes(), filename=str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{base}.{alias.name}", node.lineno


def part_of(dotted: str) -> str:
    """The layer a name of `datamind` belongs to; a name of the root package itself has none."""
    second = dotted.split(".")[1:2]
    return second[0] if second and second[0] in MAY_IMPORT else ROOT_PACKAGE


def core_modules(workspace) -> Iterator[tuple[str, Path]]:
    return workspace.members[0].modules()


def test_every_part_of_core_has_a_place_in_the_order(workspace):
    package = workspace.members[0].package
    parts = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - {"__init__"} <= set(MAY_IMPORT), "give the new part its row in MAY_IMPORT"


def test_layers_import_only_what_lies_below_them(workspace):
    wrong = [
        f"{path.relative_to(workspace.root)}:{line} {part} imports {target}"
        for module, path in core_modules(workspace)
        if (part := part_of(module)) != ROOT_PACKAGE
        for target, line in imports_of(module, path)
        if target.split(".")[0] == "datamind" and part_of(target) not in MAY_IMPORT[part] | {part, ROOT_PACKAGE}
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_plugins_package_imports_pluggy(workspace):
    wrong = [
        f"{path.relative_to(workspace.root)}:{line}"
        for member in workspace.members
        for module, path in member.modules()
        if not module.startswith("datamind.plugins")
        for target, line in imports_of(module, path)
        if target.split(".")[0] == "pluggy"
    ]
    assert not wrong, "\n".join(wrong)


def test_only_tests_import_the_testing_package(workspace):
    wrong = [
        f"{path.relative_to(workspace.root)}:{line}"
        for member in workspace.members
        for module, path in member.modules()
        if not module.startswith("datamind.testing")
        for target, line in imports_of(module, path)
        if target.startswith("datamind.testing")
    ]
    assert not wrong, "\n".join(wrong)


def test_members_import_no_member_but_core(workspace, member):
    others = {other.package.name for other in workspace.members} - {member.package.name, "datamind"}
    wrong = [
        f"{path.relative_to(workspace.root)}:{line} imports {target}"
        for module, path in member.modules()
        for target, line in imports_of(module, path)
        if target.split(".")[0] in others
    ]
    assert not wrong, "\n".join(wrong)


def imported_on_load(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Modules imported when the module is: not inside functions, not under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom):
            yield "." * child.level + (child.module or ""), child.lineno
        elif isinstance(child, ast.Import):
            yield from ((alias.name, child.lineno) for alias in child.names)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from imported_on_load(ast.Module(child.orelse, []))
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imported_on_load(child)


def test_plugin_modules_load_only_the_standard_library_and_the_plugin_api(workspace, plugin_module):
    (path,) = [p for member in workspace.members for name, p in member.modules() if name == plugin_module]
    wrong = [
        f"{path.relative_to(workspace.root)}:{line} imports {name}"
        for name, line in imported_on_load(ast.parse(path.read_bytes()))
        if name != "datamind.plugins" and name.split(".")[0] not in sys.stdlib_module_names
    ]
    assert not wrong, "\n".join(wrong)


def test_the_load_scan_skips_only_what_does_not_run():
    source = """
if TYPE_CHECKING:
    import a
else:
    import b
try:
    import c
except ImportError:
    c = None
class D:
    import d
def f():
    import e
from . import g
"""
    assert [name for name, _ in imported_on_load(ast.parse(source))] == ["b", "c", "d", "."]


@pytest.mark.parametrize(
    ("module", "file", "source", "expected"),
    [
        ("datamind.core.a", "a.py", "import datamind.agent.b", "datamind.agent.b"),
        ("datamind.core.a", "a.py", "from datamind import agent", "datamind.agent"),
        ("datamind.core.a", "a.py", "def f():\n    from ..agent import b", "datamind.agent.b"),
        ("datamind.core", "__init__.py", "from ..agent import b", "datamind.agent.b"),
        ("datamind.core.a", "a.py", "from . import c", "datamind.core.c"),
    ],
)
def test_the_scan_sees_every_form_of_import(tmp_path, module, file, source, expected):
    path = tmp_path / file
    path.write_text(source)
    assert [name for name, _ in imports_of(module, path)] == [expected]
