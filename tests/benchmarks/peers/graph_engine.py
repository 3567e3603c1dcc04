"""The engine's own bulk loader on the same file: what our load is measured by. Nothing else of the store is there."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pyoxigraph as ox
from report import names, report, taken


def peak_mb() -> float:
    # What getrusage says begins with the peak of the process that started this one.
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


def main(file: Path) -> None:
    count = file.read_bytes().count(b"\n")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as below:
        graph = ox.Store(below)

        def load() -> None:
            graph.bulk_load(path=str(file), format=ox.RdfFormat.N_TRIPLES)
            graph.flush()

        before = peak_mb()
        results = {"load": taken(load, count=count)}
    settings = f"bulk_load into the default graph alone, no names, no receipts; it took {peak_mb() - before:.0f} MB"
    report(names("pyoxigraph"), settings, results)


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "graph.nt")
