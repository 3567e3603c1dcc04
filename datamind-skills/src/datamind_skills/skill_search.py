"""Which skill a question asks for: BM25 over name, description, keywords and body."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from datamind.capabilities.text.tokens import tokenize, tokenize_for_index
from datamind_skills.skill_files import SkillFile

if TYPE_CHECKING:
    from bm25s import BM25

MAX_QUERY_CHARS: Final = 2_000
MAX_BODY_CHARS: Final = 20_000
"""A body is indexed up to here; what a skill is for stands at its beginning."""

SCORE_MEANING: Final = "BM25 over name, description, keywords and body; above 0, higher is better, no upper bound"
_NAME_WEIGHT = 3
_DESCRIPTION_WEIGHT = 2


class SkillIndex:
    """The ranker, built anew when a skill changed; tokens of unchanged files are kept. Not thread-safe."""

    def __init__(self, body_of: Callable[[SkillFile], str]) -> None:
        self._body_of = body_of
        self._tokens: dict[tuple[str, str], list[str]] = {}
        self._names: list[str] = []
        self._key: tuple[tuple[str, str], ...] = ()
        self._ranker: BM25 | None = None

    def search(self, skills: dict[str, SkillFile], text: str, limit: int) -> list[tuple[str, float]]:
        """Names and scores, best first, ties by name; a score of 0 is no hit."""
        # A repeated word must not count twice: the library adds up the terms it is given.
        terms = list(dict.fromkeys(tokenize(text[:MAX_QUERY_CHARS])))
        if not skills or not terms:  # the library raises on an empty corpus and on an empty query
            return []
        scores = self._ranked(skills).get_scores(terms)
        hits = [(name, float(score)) for name, score in zip(self._names, scores, strict=True) if score > 0]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:limit]

    def _ranked(self, skills: dict[str, SkillFile]) -> Any:
        key = tuple((file.location, file.checksum) for file in skills.values())
        if self._ranker is None or key != self._key:
            self._rebuild(skills, key)
        return self._ranker

    def _rebuild(self, skills: dict[str, SkillFile], key: tuple[tuple[str, str], ...]) -> None:
        from bm25s import BM25

        tokens: dict[tuple[str, str], list[str]] = {}
        for entry, file in zip(key, skills.values(), strict=True):
            tokens[entry] = self._tokens.get(entry) or self._tokens_of(file)
        ranker = BM25(method="lucene")
        ranker.index(list(tokens.values()), show_progress=False)
        self._ranker, self._tokens, self._names, self._key = ranker, tokens, list(skills), key

    def _tokens_of(self, file: SkillFile) -> list[str]:
        header = file.header
        name = tokenize_for_index(" ".join((header.name.replace("-", " "), *header.keywords)))
        description = tokenize_for_index(header.description)
        body = tokenize_for_index(self._body_of(file)[:MAX_BODY_CHARS])
        return name * _NAME_WEIGHT + description * _DESCRIPTION_WEIGHT + body
