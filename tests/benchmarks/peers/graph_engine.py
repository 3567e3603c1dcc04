"""The engine's own bulk loader on the same file: what our load is measured by. Nothing else of the store is there."""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path

import pyoxigraph as ox
from report import names, report, taken


def main(file: Path) -> None:
    count = file.read_bytes().count(b"\n")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as below:
        graph = ox.Store(below)

        def load() -> None:
            graph.bulk_load(path=str(file), format=ox.RdfFormat.N_TRIPLES)
            graph.flush()

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        results = {"load": taken(load, count=count)}
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    settings = f"bulk_load into the default graph alone, no names, no receipts; it took {grown:.0f} MB"
    report(names("pyoxigraph"), settings, results)


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "graph.nt")
