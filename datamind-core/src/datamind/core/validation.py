"""Turning what a validator says into one line a person or a model can act on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from datamind.core.errors import ArgumentsInvalid

_SHOWN = 60


def shorten(value: object, limit: int = _SHOWN) -> str:
    """``repr`` of a value, cut to ``limit`` characters in the middle."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 12]}…{text[-10:]}"


def describe_errors(error: ValidationError, *, show_values: bool = True) -> str:
    """Every mistake of a pydantic error: ``where: what (got value)``, joined by ``; ``."""
    lines = []
    for item in error.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in item["loc"]) or "value"
        value = f" (got {shorten(item['input'])})" if show_values and item["type"] != "missing" else ""
        lines.append(f"{where}: {item['msg'].removeprefix('Value error, ')}{value}")
    return "; ".join(lines)


def make_schema_validator(schema: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Validation by a tool's own JSON Schema, for tools that bring no model. Built on first use."""
    validators: list[Any] = []

    def validate(args: Mapping[str, Any]) -> dict[str, Any]:
        if not validators:
            import jsonschema

            kind = jsonschema.validators.validator_for(dict(schema), default=jsonschema.Draft202012Validator)
            validators.append(kind(dict(schema)))
        for error in validators[0].iter_errors(dict(args)):
            where = re.sub(r"^\$\.?", "", error.json_path) or "value"
            raise ArgumentsInvalid(f"{where}: {shorten(error.message, 200)}")
        return dict(args)

    return validate
