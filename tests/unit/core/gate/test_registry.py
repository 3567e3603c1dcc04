"""Registries: what a role holds, by construction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from datamind.core.errors import ConfigError
from datamind.core.tools import ToolRegistry, paths_of
from datamind.core.types import Role, ToolAccess, ToolEffect
from datamind.testing.gates import make_tool

CATALOGUE = tuple(make_tool(f"tool_{effect}", effect=effect) for effect in ToolEffect)


def test_the_roles_hold_disjoint_halves_of_the_catalogue() -> None:
    store, retrieve = (ToolRegistry.select(CATALOGUE, role) for role in (Role.STORE, Role.RETRIEVE))
    assert set(store) == {"tool_write", "tool_destructive"}
    assert set(retrieve) == {"tool_pure", "tool_read"}
    assert not Role.STORE.access & Role.RETRIEVE.access
    assert Role.STORE.access | Role.RETRIEVE.access == set(ToolAccess)


@pytest.mark.parametrize("effect", [ToolEffect.WRITE, ToolEffect.DESTRUCTIVE])
def test_a_write_that_keeps_no_receipts_is_refused(effect: ToolEffect) -> None:
    bare = replace(make_tool("save", effect=effect), receipted=False)
    with pytest.raises(ConfigError, match="save"):
        ToolRegistry([bare])
    with pytest.raises(ConfigError):
        ToolRegistry.select([bare], Role.STORE)
    assert "save" in ToolRegistry([bare.with_ledger(bare.handler)])


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="look"):
        ToolRegistry([make_tool("look"), make_tool("look")])


@pytest.mark.parametrize("name", ["Look", "look-up", "look up", "", "1look", "_look", "l\u043eok", "look\n", "l" * 65])
def test_a_tool_has_a_plain_name(name: str) -> None:
    with pytest.raises(ConfigError):
        make_tool(name)


def test_a_registry_is_frozen() -> None:
    registry: Any = ToolRegistry.select(CATALOGUE, Role.RETRIEVE)
    with pytest.raises(TypeError):
        registry["save"] = CATALOGUE[2]
    with pytest.raises(TypeError):
        registry._tools["save"] = CATALOGUE[2]
    with pytest.raises(AttributeError):
        registry.update({"save": CATALOGUE[2]})
    assert set(registry) == {"tool_pure", "tool_read"}


def test_definitions_do_not_depend_on_the_order_of_the_catalogue() -> None:
    tools = [make_tool(name) for name in ("b", "a", "c")]
    assert [tool.name for tool in ToolRegistry(tools).definitions()] == ["a", "b", "c"]
    assert ToolRegistry(tools).definitions() == ToolRegistry(tools[::-1]).definitions()


def test_paths_are_found_in_nested_arguments_and_lists() -> None:
    args = {"path": "/a", "files": ["/b", "/c"], "source": {"path": "/d"}, "none": None, "text": "/e"}
    assert list(paths_of(args, ("path", "files", "source.path", "none", "absent", "text.deeper"))) == [
        "/a",
        "/b",
        "/c",
        "/d",
    ]
