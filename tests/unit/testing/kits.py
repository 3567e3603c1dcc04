"""Runs a conformance class outside pytest and says which of its tests fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datamind.testing.conformance.base import Conformance, ProviderConformance

PATIENCE_S = 20


async def failures_of(suite: type[Conformance], folder: Path, only: str = "test_") -> dict[str, BaseException]:
    """Names of failing tests with what they raised; a skipped test is not among them."""
    failures: dict[str, BaseException] = {}
    for name in sorted(name for name in dir(suite) if name.startswith(only)):
        place = folder / suite.__name__ / name
        place.mkdir(parents=True)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await getattr(suite(), name)(place)
        except pytest.skip.Exception:
            continue
        except (Exception, pytest.fail.Exception) as error:
            failures[name] = error
    return failures


def suite_of(
    base: type[ProviderConformance], make: Callable[[], Any], *, capabilities: frozenset[str] | None = None
) -> type[ProviderConformance]:
    """The standard tests for what ``make`` returns."""

    class Suite(base):  # type: ignore[misc, valid-type]
        async def open_provider(self, folder: Path, **dependencies: Any) -> Any:
            return make()

    Suite.capabilities = capabilities or frozenset()
    return Suite


def numbers_of(failures: dict[str, BaseException]) -> set[str]:
    """``g1``, ``g2`` … of the failing tests; other names stay whole."""
    return {name.split("_")[1] if name.startswith("test_g") else name for name in failures}
