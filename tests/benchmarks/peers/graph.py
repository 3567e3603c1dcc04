"""networkx in memory, kept as JSON: a triple is durable when the whole file is written and synced."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import networkx as nx
from report import names, report, taken

LINE = re.compile(r"<([^>]*)> <([^>]*)> <([^>]*)> \.")
SAVES, WALKS = 3, 40


def load(file: Path) -> Any:
    graph = nx.MultiDiGraph()
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            match = LINE.match(line)
            if match:
                graph.add_edge(match[1], match[3], key=match[2])
    return graph


def save(graph: Any, path: Path) -> None:
    aside = path.with_suffix(".new")
    with aside.open("w", encoding="utf-8") as file:
        json.dump(nx.node_link_data(graph, edges="edges"), file)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def two_hops(graph: Any, start: str) -> set[tuple[str, str, str]]:
    found: set[tuple[str, str, str]] = set()
    frontier, seen = {start}, {start}
    for _ in range(2):
        edges = [*graph.out_edges(frontier, keys=True), *graph.in_edges(frontier, keys=True)]
        found.update(edges)
        frontier = {end for edge in edges for end in edge[:2]} - seen
        seen |= frontier
    return found


def main(file: Path) -> None:
    with tempfile.TemporaryDirectory() as below:
        path = Path(below) / "graph.json"
        held: list[Any] = []

        def load_and_save() -> None:
            held.append(load(file))
            save(held[0], path)

        loaded = taken(load_and_save)
        graph = held[0]

        def one() -> None:
            for number in range(SAVES):
                graph.add_edge(f"new {number}", "hub", key="p")
                save(graph, path)

        def walks() -> None:
            for number in range(WALKS):
                assert two_hops(graph, f"urn:t:e:item{number * 31}")

        results = {
            "load": {**loaded, "count": graph.number_of_edges()},
            "one": taken(one, count=SAVES),
            "two hops": taken(walks, count=WALKS),
        }
    report(f"{names('networkx')} + JSON", "MultiDiGraph, node-link JSON written whole and synced", results)


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "graph.nt")
