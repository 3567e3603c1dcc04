"""One changed digit, in a saved answer or in a stored source."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from tests.assurance.figures import Figure
from tests.integration.test_verify import changed_digits_of_answers, changed_digits_of_sources


def figures(folder: Path) -> Iterator[Figure]:
    """``verify`` finds it."""
    found, tried = asyncio.run(changed_digits_of_answers(folder / "answers"))
    yield Figure("one changed digit in a saved answer", f"{found} of {tried} found", found == tried)
    found, tried = asyncio.run(changed_digits_of_sources(folder / "sources", tries=100))
    yield Figure("one changed digit in a stored source", f"{found} of {tried} found", found == tried)
