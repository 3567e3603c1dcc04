"""The strict argument reader: the only code that parses what a model sends."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

from datamind.core.errors import ArgumentsInvalid

MAX_DEPTH: Final = 64
MAX_BYTES: Final = 256 * 1024

_BLANK: Final = " \t\r\n"
_BRACKET_OR_STRING: Final = re.compile(r'[\[{]|[\]}]|"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def read_arguments(text: str, *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Parse the JSON text of a tool call's arguments.

    Refuses what strict schema validation alone would accept: repeated keys, NaN, Infinity, numbers that
    overflow, lone surrogates, and anything over ``max_bytes`` of UTF-8 or ``MAX_DEPTH`` levels. Empty text is
    an empty object; whether that is enough is the schema's affair.

    Raises:
        ArgumentsInvalid: With a line the model can act on; nothing ran.
    """
    if len(text) > max_bytes or _utf8_size(text) > max_bytes:
        raise ArgumentsInvalid(
            f"the arguments have more than {max_bytes} bytes",
            code="arguments_invalid.size",
            hint="Send less at a time.",
        )
    if not text.strip(_BLANK):
        return {}
    _check_depth(text)
    value = _parse(text)
    if not isinstance(value, dict):
        raise ArgumentsInvalid(f"the arguments are a {type(value).__name__}, not a JSON object")
    if _SURROGATE_ESCAPE.search(text):
        _check_strings(value)
    return value


def _utf8_size(text: str) -> int:
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise ArgumentsInvalid(
            "the arguments contain half a surrogate pair", code="arguments_invalid.unicode", hint="Send valid Unicode."
        ) from None


def _parse(text: str) -> Any:
    try:
        return json.loads(
            text, object_pairs_hook=_unique_pairs, parse_constant=_refuse_constant, parse_float=_finite_float
        )
    except json.JSONDecodeError as error:
        raise ArgumentsInvalid(
            f"the arguments are not complete JSON ({error.msg} at character {error.pos})",
            code="arguments_invalid.json",
            hint="Send the whole call again.",
        ) from None
    except ValueError:  # an integer of more digits than Python converts
        raise ArgumentsInvalid("a number has too many digits", code="arguments_invalid.number") from None


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise ArgumentsInvalid(f"the key {key[:80]!r} is given twice", code="arguments_invalid.duplicate_key")
        seen[key] = value
    return seen


def _refuse_constant(name: str) -> NoReturn:
    raise ArgumentsInvalid(f"{name} is not a JSON number", code="arguments_invalid.number")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ArgumentsInvalid(f"the number {digits[:40]!r} overflows", code="arguments_invalid.number")
    return value


def _check_depth(text: str) -> None:
    # Before parsing, for the parser recurses; most texts of a megabyte have few brackets and are not scanned.
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKET_OR_STRING.finditer(text):
        if match[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise ArgumentsInvalid(f"the arguments nest deeper than {MAX_DEPTH}", code="arguments_invalid.depth")
        elif match[0] in "]}":
            depth -= 1


def _check_strings(value: Any) -> None:
    # Escaped surrogates (\ud800) pass the JSON parser and would fail in the store, after the intent.
    if isinstance(value, str):
        _utf8_size(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            _utf8_size(key)
            _check_strings(item)
    elif isinstance(value, list):
        for item in value:
            _check_strings(item)
