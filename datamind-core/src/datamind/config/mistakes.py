"""What pydantic found wrong, as lines for a person, without a secret in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo

from datamind.config.redaction import redact_text
from datamind.core.errors import ConfigError
from datamind.core.validation import shorten

_TEXTS: Final = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "literal_error": "must be one of {expected}",
    "byte_size": "must be a number of bytes or a size such as 2GiB",
    "byte_size_unit": "must be a size such as 2GiB or 100MB",
    "string_type": "must be text",
    "path_type": "must be a path",
    "tuple_type": "must be a list",
    "dict_type": "must be a table",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
}


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong value; ``key`` is empty when two values of a section do not fit together."""

    key: str
    shown: str
    text: str

    def line(self, place: str) -> str:
        """The mistake as one line; ``place`` says where the value was set, or is empty."""
        if not self.key:
            return f"{self.text}."
        source = f" ({place})" if place else ""
        text = f"{self.key}{self.shown}{source} {self.text}"
        return text if text.endswith("?") else f"{text}."


class SectionInvalid(ConfigError):
    """A section that does not hold; carries its mistakes so that Settings can add where each value came from."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(join_lines([mistake.line("") for mistake in self.mistakes]))


def join_lines(lines: list[str]) -> str:
    """One mistake as it is; several below a first line that counts them."""
    if len(lines) == 1:
        return lines[0]
    return "\n  ".join([f"{len(lines)} mistakes in the settings:", *lines])


def mistakes_of(section: str, fields: Mapping[str, FieldInfo], error: ValidationError) -> list[Mistake]:
    """One mistake per key: a union reports each of its members, and the first is enough."""
    found: dict[str, Mistake] = {}
    for item in error.errors(include_url=False):
        name = str(item["loc"][0]) if item["loc"] else ""
        key = f"{section}.{name}" if name else ""
        found.setdefault(name or str(len(found)), Mistake(key, _shown(name, fields, item["input"]), _text(key, item)))
    return list(found.values())


def _text(key: str, item: Any) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        from datamind.config.catalogue import unknown_key_text

        return unknown_key_text(key)
    if kind == "value_error":
        return str(context["error"]).removesuffix(".")
    if item["input"] is None:
        return "needs a value; leave it out to get the default"
    return _TEXTS[kind].format(**context) if kind in _TEXTS else str(item["msg"])


def _shown(name: str, fields: Mapping[str, FieldInfo], value: object) -> str:
    if name not in fields or SecretStr in _types_in(fields[name].annotation):
        return ""
    if isinstance(value, str):
        # Before it is cut: half a URL may end inside its password.
        return f" = {shorten(redact_text(value))}"
    return f" = {value!r}" if isinstance(value, bool | int | float) else ""


def _types_in(annotation: Any) -> set[Any]:
    parts = getattr(annotation, "__args__", ())
    return {annotation}.union(*(_types_in(part) for part in parts))
