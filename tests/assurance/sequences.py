"""Random sequences of writes, reverts and erasures over all surfaces, on the real engines."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.assurance.figures import Figure
from tests.support.sequences import run_sequence, seeds

SEQUENCES = 100


def figures(folder: Path) -> Iterator[Figure]:
    """After every step exactly what must be seen is seen; what was erased is in no file."""
    problems = []
    for seed in seeds(SEQUENCES):
        problems += asyncio.run(run_sequence(folder / str(seed), seed))
        shutil.rmtree(folder / str(seed))
    value = f"{len(problems)} of {SEQUENCES} left something behind, or took something along"
    yield Figure("random sequences of writes, reverts, erasures", value, not problems, problems)
