"""Generated passages, questions and vectors, the same for us and for peers."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np

DIMENSION = 384
QUERIES = 50
STEMS = [f"{a}{b}{c}" for a in "bcdfglmnprst" for b in ("ar", "el", "in", "ov", "ut") for c in ("da", "mo", "ni", "se")]
WORDS = [f"{one}{other}" for one in STEMS[::3] for other in STEMS[::2]]
WEIGHTS = [1 / (rank + 10) for rank in range(len(WORDS))]


def paragraph(rng: random.Random, words: int) -> str:
    """About that many words, frequent and rare ones as in a language."""
    return " ".join(rng.choices(WORDS, WEIGHTS, k=words + rng.randrange(-9, 10))) + f" {rng.randrange(10**6)}."


def question(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=4))


def unit_vectors(seed: int, count: int) -> np.ndarray:
    made = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def write_set(folder: Path, size: int) -> None:
    """``chunks.jsonl`` of id, title and text, ``queries.json``, and float32 rows for each of both."""
    rng = random.Random(4)
    rows = [{"id": str(n), "title": f"Note {n}", "text": paragraph(rng, 45)} for n in range(size)]
    (folder / "chunks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.json").write_text(json.dumps([question(rng) for _ in range(QUERIES)]))
    (folder / "chunks.f32").write_bytes(unit_vectors(3, size).tobytes())
    (folder / "queries.f32").write_bytes(unit_vectors(5, QUERIES).tobytes())
