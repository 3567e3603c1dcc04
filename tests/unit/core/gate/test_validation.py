"""Arguments by pydantic model and by JSON Schema: the same strictness, one line for the model to act on."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from datamind.core.arguments import read_arguments
from datamind.core.context import ToolContext
from datamind.core.errors import ArgumentsInvalid
from datamind.core.tools import ToolOutput, ToolSpec
from datamind.core.types import DataSurface, ToolEffect
from datamind.core.validation import make_schema_validator, shorten


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    source: str = ""


class Arguments(BaseModel):
    """No ``extra`` of its own: the tool refuses unknown keys all the same."""

    query: str = Field(min_length=1)
    top_k: int = Field(5, ge=1, le=50)
    score: float = 0.0
    exact: bool = False
    mode: Literal["a", "b"] = "a"
    filters: Inner = Field(default_factory=Inner)


async def _handler(args: Any, ctx: ToolContext) -> ToolOutput:
    return ToolOutput()


MODEL = ToolSpec.of(
    Arguments, _handler, name="look", description="Look.", effect=ToolEffect.READ, surface=DataSurface.KB
)
SCHEMA = ToolSpec("look", "Look.", MODEL.input_schema, _handler, ToolEffect.READ, DataSurface.KB)


@pytest.mark.parametrize("spec", [MODEL, SCHEMA], ids=["model", "schema"])
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"query": "a", "top_k": -1}, "top_k"),
        ({"query": "a", "top_k": 51}, "top_k"),
        ({"query": "a", "top_k": "3"}, "top_k"),
        ({"query": "a", "top_k": 3.5}, "top_k"),
        ({"query": "a", "top_k": True}, "top_k"),
        ({"query": "a", "score": "0.5"}, "score"),
        ({"query": "a", "exact": 1}, "exact"),
        ({"query": "a", "exact": "true"}, "exact"),
        ({"query": "a", "mode": "c"}, "mode"),
        ({"query": ""}, "query"),
        ({"query": None}, "query"),
        ({"query": ["a"]}, "query"),
        ({}, "query"),
        ({"top_k": 3}, "query"),
        ({"query": "a", "approved": True}, "approved"),
        ({"query": "a", "_role": "store"}, "_role"),
        ({"query": "a", "profile": "tenant_b"}, "profile"),
        ({"query": "a", "Query": "b"}, "Query"),
        ({"query": "a", "filters": {"source": "s", "profile": "x"}}, "profile"),
        ({"query": "a", "filters": "source"}, "filters"),
    ],
)
def test_a50_a_wrong_argument_is_named(spec: ToolSpec, arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        spec.parse(read_arguments(json.dumps(arguments)))
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", [MODEL, SCHEMA], ids=["model", "schema"])
@pytest.mark.parametrize("arguments", [{"query": "a"}, {"query": "网关", "top_k": 50, "score": 1, "mode": "b"}])
def test_what_fits_passes(spec: ToolSpec, arguments: dict[str, Any]) -> None:
    parsed = spec.parse(read_arguments(json.dumps(arguments)))
    assert dict(parsed)["query"] == arguments["query"]


def test_every_mistake_of_a_model_is_told_at_once_and_values_are_shortened() -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        MODEL.parse({"query": "", "top_k": -1, "mode": "z" * 5000})
    message = str(caught.value)
    assert [name in message for name in ("query", "top_k", "mode")] == [True] * 3
    assert len(message) < 600


def test_an_unknown_argument_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ArgumentsInvalid, match=r"Known: exact, filters, mode, query, score, top_k\."):
        MODEL.parse({"query": "a", "k": 1})


def test_a_schema_message_does_not_repeat_a_megabyte() -> None:
    validate = make_schema_validator({"type": "object", "properties": {"n": {"type": "integer"}}})
    with pytest.raises(ArgumentsInvalid) as caught:
        validate({"n": "x" * 1_000_000})
    assert len(str(caught.value)) < 300


def test_the_schema_a_model_is_told_forbids_what_validation_forbids() -> None:
    assert MODEL.definition().input_schema["additionalProperties"] is False
    assert MODEL.definition().input_schema["required"] == ["query"]


def test_shorten_keeps_both_ends() -> None:
    assert shorten("abc") == "'abc'"
    assert len(shorten("x" * 500)) <= 60
    assert shorten("a" * 250 + "z" * 250).endswith("zzz'")
