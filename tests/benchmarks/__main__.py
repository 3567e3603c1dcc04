"""Prints one table of benchmarks: ``python tests/benchmarks [AREA…]``. An area is a file ``bench_<area>.py`` here."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

AREAS = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def main(wanted: list[str]) -> int:
    if unknown := sorted(set(wanted) - set(AREAS)):
        print(f"no such area: {', '.join(unknown)}; there are: {', '.join(AREAS)}", file=sys.stderr)
        return 2
    for area in wanted or AREAS:
        for row in importlib.import_module(f"bench_{area}").rows():
            print(f"{area:<8} {row}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
