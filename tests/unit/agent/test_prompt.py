"""Prompts: every placeholder filled, equal bytes for equal input."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from datamind.agent.prompt import fill, make_system_prompt, placeholders
from datamind.core.types import DataSurface, Role
from datamind.plugins import PromptSection

FILES = sorted(path.name.removesuffix(".md") for path in (files("datamind.agent") / "prompts").iterdir())
SECTIONS = (PromptSection("Tables", 10, "Use {braces} as they are."), PromptSection("表格", 20, "用中文。"))


def test_there_is_a_prompt_for_each_role_and_for_the_end() -> None:
    assert FILES == ["finish", "retrieve", "store"]
    assert {role.value for role in Role} < set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_prompt_file_begins_with_its_purpose_and_its_inputs(name: str) -> None:
    text = (files("datamind.agent") / "prompts" / f"{name}.md").read_text("utf-8")
    header = re.match(r"<!-- Purpose: .+ Inputs: (?P<inputs>.+)\. -->", text)
    assert header is not None
    assert set(re.findall(r"\{([a-z_]+)\}", header["inputs"])) == placeholders(name)


@pytest.mark.parametrize("role", list(Role))
def test_every_placeholder_is_filled_and_the_header_is_not_sent(role: Role) -> None:
    prompt = make_system_prompt(role, [DataSurface.MEMORY, DataSurface.KB], SECTIONS)
    assert "<!--" not in prompt
    assert "memory, kb" in prompt
    assert re.findall(r"\{[a-z_]+\}", prompt) == ["{braces}"], "text of a section is not a placeholder"
    assert prompt.index("## Tables") < prompt.index("## 表格")


@pytest.mark.parametrize("role", list(Role))
def test_no_surface_is_said_to_be_none(role: Role) -> None:
    assert "here: none" in make_system_prompt(role, [])


def test_a_value_that_looks_like_a_placeholder_is_left_alone() -> None:
    assert "({sections})" in fill("finish", reason="{sections}")


def test_a_missing_value_is_an_error_and_not_a_hole() -> None:
    with pytest.raises(KeyError):
        fill("finish")


@pytest.mark.parametrize("role", list(Role))
def test_b42_equal_inputs_give_equal_bytes(role: Role) -> None:
    first = make_system_prompt(role, ["memory"], SECTIONS).encode()
    assert make_system_prompt(role, ["memory"], SECTIONS).encode() == first
