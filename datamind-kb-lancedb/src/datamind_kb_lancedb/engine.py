"""What every call to the engine has in common: its exceptions stop here, and what lost a race is tried again."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import anyio

from datamind.core.errors import StoreError

T = TypeVar("T")

_ATTEMPTS: Final = 12
_FIRST_WAIT_S: Final = 0.005
ENGINE_ERRORS: Final = (RuntimeError, ValueError, OSError, KeyError)
"""The engine has no exceptions of its own."""


@contextmanager
def translated(action: str) -> Iterator[None]:
    """Turn what the engine raises into a StoreError with that as its cause."""
    try:
        yield
    except ENGINE_ERRORS as error:
        if _is_full(error):
            raise StoreError(
                f"the knowledge base could not be {action}: the disk is full.",
                code="store_error.disk_full",
                hint="Free some space and try again.",
            ) from error
        first = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise StoreError(
            f"the knowledge base could not be {action}: {first}",
            hint="If it stays so, `datamind kb reindex` builds it again from the stored texts.",
        ) from error


async def committed(action: str, write: Callable[[], Awaitable[T]]) -> T:
    """Run a write until no other commit is in its way.

    Raises:
        StoreError: It failed, or lost too many races.
    """
    with translated(action):
        for attempt in range(_ATTEMPTS):
            try:
                return await write()
            except ENGINE_ERRORS as error:
                if attempt == _ATTEMPTS - 1 or not is_conflict(error):
                    raise
            await anyio.sleep(_FIRST_WAIT_S * 2**attempt * (0.5 + random.random()))  # noqa: S311
        raise AssertionError  # the last attempt returns or raises


def is_conflict(error: BaseException) -> bool:
    """Whether another commit came first; the engine says so in words only."""
    text = str(error).lower()
    return "conflict" in text or "concurrent" in text


def _is_full(error: BaseException) -> bool:
    return "no space left" in str(error).lower() or "os error 28" in str(error).lower()
