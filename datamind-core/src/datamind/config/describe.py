"""The settings as a table for documentation and ``datamind explain``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import ByteSize, SecretStr
from pydantic.fields import FieldInfo

from datamind.config.catalogue import environment_name, section_types

_NAMES: Final[dict[Any, str]] = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    ByteSize: "size",
    Path: "path",
    SecretStr: "secret",
}
_SIGNS: Final = {"ge": "≥", "gt": ">", "le": "≤"}


@dataclass(frozen=True, slots=True)
class SettingDescription:
    """One row: what a setting is called, takes, defaults to and means; an empty default is none."""

    key: str
    variable: str
    type: str
    default: str
    description: str


def describe_settings() -> list[SettingDescription]:
    """Every setting in the order of the documentation; the same on every machine."""
    return [
        SettingDescription(
            key := f"{section}.{name}", environment_name(key), _type(field), _default(field), field.description or ""
        )
        for section, kind in section_types().items()
        for name, field in kind.model_fields.items()
    ]


def _type(field: FieldInfo) -> str:
    metadata = [*field.metadata, *_metadata(field.annotation)]
    limits = [
        f"{sign} {getattr(item, name):g}" for item in metadata for name, sign in _SIGNS.items() if hasattr(item, name)
    ]
    return " ".join([_type_name(field.annotation), *limits])


def _type_name(annotation: Any) -> str:
    arguments = [part for part in get_args(annotation) if part not in (NoneType, Ellipsis)]
    if get_origin(annotation) is Literal:
        return " or ".join(arguments)
    if get_origin(annotation) is tuple:
        return f"list of {_type_name(arguments[0])}"
    if get_origin(annotation) is dict:
        return "table"
    return _type_name(arguments[0]) if arguments else _NAMES[annotation]


def _metadata(annotation: Any) -> Iterator[Any]:
    for part in get_args(annotation):
        for item in getattr(part, "__metadata__", ()):
            yield from item.metadata if isinstance(item, FieldInfo) else (item,)


def _default(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    if isinstance(extra, dict) and "shown_default" in extra:
        return str(extra["shown_default"])
    value = field.get_default(call_default_factory=True)
    if isinstance(value, ByteSize):
        return value.human_readable().replace(".0", "")
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value in (None, (), {}) else f"{value}"
