"""The generated set, as the peers read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

DIMENSION = 384


class Set(NamedTuple):
    texts: list[str]
    queries: list[str]
    vectors: np.ndarray
    query_vectors: np.ndarray


def read_set(folder: Path) -> Set:
    with (folder / "chunks.jsonl").open() as lines:
        texts = [json.loads(line)["text"] for line in lines]
    vectors, asked = (
        np.fromfile(folder / name, np.float32).reshape(-1, DIMENSION) for name in ("chunks.f32", "queries.f32")
    )
    return Set(texts, json.loads((folder / "queries.json").read_text()), vectors, asked)
