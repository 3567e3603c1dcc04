"""How an engine's errors cross: the name of a DataMind error, its code and one line. Never a traceback."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from datamind.core import errors
from datamind.engine_host.frames import FrameError, FrameTooLarge

MAX_LINE: Final = 1_000
_CODE: Final = re.compile(r"[a-z_]{1,40}(\.[a-z_0-9]{1,40}){0,3}")
# What an engine has reason to say. Whatever else arrives, such as a forged request for approval, is a broken frame.
_KINDS: Final = {
    kind.__name__: kind
    for kind in (
        errors.ConfigError,
        errors.AccessDenied,
        errors.PathDenied,
        errors.ArgumentsInvalid,
        errors.InputInvalid,
        errors.NotFound,
        errors.SurfaceUnavailable,
        errors.SourceUnreadable,
        errors.LimitExceeded,
        errors.Conflict,
        errors.StoreError,
        errors.IntegrityError,
    )
}


def describe_failure(error: Exception, engine: str, operation: str) -> dict[str, Any]:
    """The error as JSON. A library's own becomes a StoreError with its first line."""
    told = _told(error, engine, operation)
    return {
        "kind": type(told).__name__,
        "code": told.code,
        "message": one_line(told.message),
        "hint": one_line(told.hint),
        "retryable": told.retryable,
    }


def read_failure(value: object) -> errors.DataMindError:
    """The error that ``describe_failure`` described.

    Raises:
        FrameError: It is none, or of a kind or code that no engine may use.
    """
    match value:
        case {
            "kind": str(name),
            "code": str(code),
            "message": str(message),
            "hint": str(hint),
            "retryable": bool(again),
        }:
            kind = _KINDS.get(name)
            if (
                kind
                and _CODE.fullmatch(code)
                and (code == kind.default_code or code.startswith(kind.default_code + "."))
            ):
                return kind(one_line(message), code=code, hint=one_line(hint), retryable=again)
    raise FrameError("it reports an error of no known kind")


def one_line(text: str) -> str:
    """Printable, without line breaks, and not too long."""
    line = " ".join(text[: 4 * MAX_LINE].split())
    return "".join(character if character.isprintable() else "\ufffd" for character in line[:MAX_LINE])


def _told(error: Exception, engine: str, operation: str) -> errors.DataMindError:
    where = f"engine {engine!r} in {operation!r}"
    if isinstance(error, errors.DataMindError):
        if type(error).__name__ in _KINDS:
            return error
        return errors.StoreError(f"{where}: {error}", retryable=error.retryable)
    if isinstance(error, MemoryError):
        return out_of_memory(engine, operation)
    if isinstance(error, FrameTooLarge):
        return errors.LimitExceeded(f"{where}: the answer is too large: {error}", code="limit_exceeded.size")
    if isinstance(error, FrameError):
        return errors.StoreError(f"{where}: the answer cannot be sent: {error}", retryable=False)
    lines = str(error).strip().splitlines() or [""]
    return errors.StoreError(f"{where}: {type(error).__name__}: {lines[0]}", retryable=False)


def out_of_memory(engine: str, operation: str) -> errors.LimitExceeded:
    """The one error for every way to run out of memory."""
    return errors.LimitExceeded(
        f"engine {engine!r} ran out of memory in {operation!r}",
        code="limit_exceeded.memory",
        hint="Ask for less at a time.",
    )


def as_mapping(value: object) -> Mapping[str, Any]:
    """The value, if it is a JSON object."""
    if not isinstance(value, dict):
        raise FrameError("a JSON object is missing")
    return value
