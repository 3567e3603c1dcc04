"""Every code that code can print stands on a page of ``datamind explain``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from datamind.capabilities.control.database import _CAUSES
from datamind_cli.explaining import explained_codes, explanation

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"[a-z_]+(\.[a-z_]+)?")
MADE = {f"store_error.{detail}" for detail, _ in _CAUSES.values()}
"""Codes put together from parts, where the parts do not stand in one place."""
BY_LIMIT = {"budget_exceeded", "surface_off"}
"""First parts whose second names a limit or a surface; their pages say so."""


def codes() -> set[str]:
    found = set(MADE)
    for path in ROOT.glob("datamind-*/src/**/*.py"):
        if "/testing/" not in path.as_posix():
            found.update(_codes(ast.parse(path.read_bytes())))
    return found


def _codes(tree: ast.AST) -> Iterator[str]:
    """What is given as ``code``, what a class says, and whatever reads like a narrower code of a page."""
    pages = frozenset(explained_codes())
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "code":
            yield from _texts(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            first, dot, second = node.value.partition(".")
            if first in pages and dot and re.fullmatch(r"[a-z][a-z_]*[a-z]", second):
                yield node.value


def _texts(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Constant) and isinstance(value.value, str) and CODE.fullmatch(value.value):
        yield value.value
    elif isinstance(value, ast.IfExp):
        yield from _texts(value.body)
        yield from _texts(value.orelse)


@pytest.mark.parametrize("code", sorted(codes()))
def test_a_code_has_a_page_that_lists_it(code: str) -> None:
    page = explanation(code)
    first, dot, _ = code.partition(".")
    if dot and first not in BY_LIMIT:
        assert f"`{code}`" in page, f"list it under 'Why it happens' on the page of {first}"


def test_codes_are_found_wherever_they_stand() -> None:
    code = "f(code='a_b' if x else 'c')\ng('t', 'conflict.busy_now')\nh('kb.store', 'access_denied.sparql_')"
    assert set(_codes(ast.parse(code))) == {"a_b", "c", "conflict.busy_now"}
