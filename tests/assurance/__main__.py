"""Prints what the promises about writes rest on: ``python tests/assurance [PART…]``; exits 1 if one does not hold.

Every figure counts what was really done here: processes that were really killed, disks that were really full.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("DATAMIND_TEST_KILLS", "100")  # each write is killed at every moment, not at a choice of them
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

PARTS = ("crashes", "disks", "sequences", "digits", "cost")


def main(wanted: list[str]) -> int:
    if unknown := sorted(set(wanted) - set(PARTS)):
        print(f"no such part: {', '.join(unknown)}; there are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    memory = Path("/dev/shm")
    failed = 0
    for part in wanted or PARTS:
        with tempfile.TemporaryDirectory(prefix="datamind-", dir=memory if memory.is_dir() else None) as folder:
            for figure in importlib.import_module(f"tests.assurance.{part}").figures(Path(folder)):
                failed += not figure.holds
                print(f"{part:<10} {figure}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
