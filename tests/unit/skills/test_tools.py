"""The utility tools behind the gate: pure, citable, and closed to whatever a model sends."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from datamind.core.dispatch import dispatch
from datamind.core.evidence import ToolLocator
from datamind.core.messages import ToolCall
from datamind.core.types import DataSurface, Role, ToolAccess
from datamind.testing.gates import make_gate, make_request
from datamind_skills.tools import utility_tools

NAMES = ["calculator", "unit_convert", "get_current_time", "analyze_text"]
BOATS = {"term": "boats", "count": 1}


def convert(value: object, from_unit: str, to_unit: str) -> dict[str, Any]:
    return {"value": value, "from_unit": from_unit, "to_unit": to_unit}


async def call(name: str, arguments: dict[str, Any] | str, role: Role = Role.RETRIEVE) -> Any:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return await dispatch(
        ToolCall(id="call_1", name=name, arguments=text), make_request(role), make_gate(*utility_tools(), role=role)
    )


def test_the_names_and_access_of_the_tools() -> None:
    assert [tool.name for tool in utility_tools()] == NAMES
    assert {tool.access for tool in utility_tools()} == {ToolAccess.UTILITY}
    assert {tool.surface for tool in utility_tools()} == {DataSurface.UTILITY}
    assert all(not tool.path_args and not tool.sql_args for tool in utility_tools())


@pytest.mark.parametrize(
    ("name", "arguments", "data", "content"),
    [
        ("calculator", {"expression": "0.1 +\n0.2"}, {"value": "0.3", "exact": True}, "0.1 + 0.2 = 0.3"),
        ("calculator", {"expression": "2/3"}, {"exact": False, "fraction": "2/3"}, "2/3 ≈ 0.666"),
        ("unit_convert", convert(5, "斤", "kg"), {"result": "2.5"}, "5 chinese_jin = 2.5 kilogram"),
        ("unit_convert", convert(0.1, "m", "cm"), {"result": "10"}, "0.1 meter = 10 centimeter"),
        ("unit_convert", convert("1e3", "m", "km"), {"value": "1000"}, "1000 meter = 1 kilometer"),
        ("analyze_text", {"text": "Two boats.", "max_terms": 1}, {"words": 2, "terms": [BOATS]}, "words 2"),
    ],
)
async def test_what_the_tools_answer(name: str, arguments: dict[str, Any], data: dict[str, Any], content: str) -> None:
    outcome = await call(name, arguments)
    assert not outcome.is_error, outcome.message
    assert {key: outcome.data[key] for key in data} == data
    (evidence,) = outcome.evidence
    assert content in evidence.content
    assert evidence.surface is DataSurface.UTILITY
    assert evidence.source.uri == f"tool:{name}"
    assert isinstance(evidence.locator, ToolLocator)
    assert evidence.locator.repeatable is True
    assert evidence.locator.arguments.items() >= arguments.items()
    json.loads(outcome.to_text({evidence.evidence_id: 1}))


async def test_the_same_call_is_the_same_evidence() -> None:
    first, second = [await call("calculator", {"expression": "2 ** 64"}) for _ in range(2)]
    assert first.evidence == second.evidence


async def test_the_clock_is_not_repeatable() -> None:
    outcome = await call("get_current_time", {"timezone": "上海"})
    assert outcome.data["zone"] == "Asia/Shanghai"
    assert outcome.evidence[0].locator.repeatable is False
    assert outcome.data["iso"] in outcome.evidence[0].content
    assert (await call("get_current_time", "")).data["utc"].endswith("Z")


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("calculator", {"expression": "9**9**9"}, "limit_exceeded"),
        ("calculator", {"expression": "().__class__"}, "input_invalid"),
        ("calculator", {"expression": "1" * 1001}, "arguments_invalid"),
        ("calculator", {"expression": ""}, "arguments_invalid"),
        ("calculator", {}, "arguments_invalid"),
        ("calculator", {"expression": 5}, "arguments_invalid"),
        ("calculator", {"expression": "1", "approved": True}, "arguments_invalid"),
        ("calculator", '{"expression": "1", "expression": "2"}', "arguments_invalid.duplicate_key"),
        ("calculator", '{"expression": "\\ud800"}', "arguments_invalid.unicode"),
        ("unit_convert", convert(True, "m", "km"), "arguments_invalid"),
        ("unit_convert", convert(None, "m", "km"), "arguments_invalid"),
        ("unit_convert", convert("9**9**9", "m", "km"), "input_invalid"),
        ("unit_convert", convert(10**4000, "m", "km"), "limit_exceeded"),
        ("unit_convert", '{"value": NaN, "from_unit": "m", "to_unit": "km"}', "arguments_invalid.number"),
        ("unit_convert", convert(1, "USD", "EUR"), "input_invalid"),
        ("get_current_time", {"timezone": "../../etc/passwd"}, "input_invalid"),
        ("analyze_text", {"text": "x" * 50_001}, "arguments_invalid"),
        ("analyze_text", {"text": "x", "max_terms": 51}, "arguments_invalid"),
        ("calculatоr", {"expression": "1"}, "access_denied"),
    ],
)
async def test_what_is_refused_is_an_outcome_with_a_code(name: str, arguments: dict[str, Any] | str, code: str) -> None:
    outcome = await call(name, arguments)
    assert outcome.is_error
    assert outcome.code.startswith(code)
    assert "\n" not in outcome.message
    assert not outcome.evidence


@pytest.mark.parametrize("name", NAMES)
async def test_the_store_role_holds_none_of_them(name: str) -> None:
    outcome = await call(name, {}, Role.STORE)
    assert outcome.denied


def test_the_plugin_registers_them_and_loads_no_library_for_it() -> None:
    script = """
        import sys
        from datamind_skills import plugin
        assert not [m for m in ("pydantic", "datamind_skills.tools") if m in sys.modules]
        (spec,) = plugin.datamind_register_providers()
        print(spec.kind.value, spec.name)
        print([tool.name for tool in plugin.datamind_register_tools(services=None)])
        print([m for m in ("pint", "numpy", "bm25s", "yaml") if m in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["skills.source profile", str(NAMES), "[]"]


async def test_the_plugin_is_found_and_its_source_opens(tmp_path: Any) -> None:
    from datamind.plugins import ProviderKind, load_attribute
    from datamind_skills import plugin

    (spec,) = plugin.datamind_register_providers()
    assert spec.kind is ProviderKind.SKILLS_SOURCE
    assert callable(load_attribute(spec.factory))
    assert load_attribute(spec.options)().extra_dirs == ()
