"""Every setting acts or is rejected: a field that no code reads must refuse every value but its default."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from datamind.config.catalogue import known_keys, section_types
from datamind.config.describe import describe_settings
from datamind.core.errors import ConfigError
from datamind.plugins import ProviderKind

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = frozenset(section_types())
SHOWS_ONLY = ("datamind-core/src/datamind/config/", "datamind-core/src/datamind/testing/", "datamind-cli/")
ACTS_ALL_THE_SAME = ("datamind-core/src/datamind/config/profile.py",)


@cache
def keys_read() -> frozenset[str]:
    """``section.key`` of every setting that code reads to act on it, not only to show it."""
    read = {kind.setting for kind in ProviderKind if kind.setting}
    read |= {kind.options_key for kind in ProviderKind if kind.setting}
    for path in ROOT.glob("datamind-*/src/**/*.py"):
        where = path.relative_to(ROOT).as_posix()
        if where in ACTS_ALL_THE_SAME or not where.startswith(SHOWS_ONLY):
            read.update(_reads(ast.parse(path.read_bytes())))
    return frozenset(read)


def _reads(tree: ast.AST) -> Iterator[str]:
    """``x.section.key`` and, where ``name = x.section`` stands in the module, ``name.key`` and ``getattr(name, …)``."""
    aliases = dict(_aliases(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            section = _section_of(node.value, aliases)
            if section:
                yield f"{section}.{node.attr}"
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple):
            yield from _looped(node, aliases)


def _section_of(node: ast.expr, aliases: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute) and node.attr in SECTIONS:
        return node.attr
    return aliases.get(node.id, "") if isinstance(node, ast.Name) else ""


def _aliases(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        pairs = zip(target.elts, value.elts, strict=False) if _both_tuples(target, value) else [(target, value)]
        for name, held in pairs:
            if isinstance(name, ast.Name) and isinstance(held, ast.Attribute) and held.attr in SECTIONS:
                yield name.id, held.attr


def _both_tuples(target: ast.expr, value: ast.expr) -> bool:
    return isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)


def _looped(loop: ast.For, aliases: dict[str, str]) -> Iterator[str]:
    """``for name in ("a", "b"): … getattr(section, name)``."""
    names = [item.value for item in loop.iter.elts if isinstance(item, ast.Constant)]
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            section = _section_of(node.args[0], aliases)
            if section and ast.unparse(node.args[1]) == ast.unparse(loop.target):
                yield from (f"{section}.{name}" for name in names)


@pytest.mark.parametrize("key", known_keys())
def test_a69_every_setting_is_read_or_rejected(key: str) -> None:
    if key in keys_read():
        return
    section, _, name = key.partition(".")
    kind = section_types()[section]
    default = kind.model_fields[name].default
    assert isinstance(default, bool), f"{key} is advertised and no code reads it"
    with pytest.raises(ConfigError, match="is rejected"):
        kind(**{name: not default})


def test_the_reading_of_code_finds_what_is_read_and_nothing_else() -> None:
    code = "a = s.llm\nb, c = s.db, s.kb\na.model\nb.dsn\nc\ns.graph.dsn\nfor n in ('x', 'y'):\n    getattr(a, n)\n"
    assert set(_reads(ast.parse(code))) == {"llm.model", "db.dsn", "graph.dsn", "llm.x", "llm.y"}


def test_the_support_matrix_speaks_of_no_setting_that_is_ignored() -> None:
    page = (ROOT / "docs" / "reference" / "support-matrix.md").read_text("utf-8")
    assert "Settings that change nothing" not in page
    keys = {row.key for row in describe_settings()}
    for word in page.replace("`", " ").split():
        section, dot, name = word.strip(".,;:()").partition(".")
        if dot and section in SECTIONS and name.replace("_", "").isalpha() and f"{section}.{name}" not in keys:
            assert f"{section}.{name}" in {kind.value for kind in ProviderKind}, word
