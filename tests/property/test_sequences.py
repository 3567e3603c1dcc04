"""Writes, reverts and erasures in any order: what must be seen is seen, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sequences import run_sequence, seeds


@pytest.mark.parametrize("seed", list(seeds(4, first=1)))
async def test_nothing_is_left_behind_or_goes_with_it(tmp_path: Path, seed: int) -> None:
    """``nox -s assurance -- sequences`` runs a hundred."""
    assert await run_sequence(tmp_path, seed) == []
