"""The lexical side: FTS5 with bm25 over tokens that came ready."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from datamind.capabilities.memory.words import memory_tokens
from datamind.capabilities.text.tokens import TOKENS_VERSION
from datamind_memory_sqlite.filters import Condition
from datamind_memory_sqlite.rows import encode_tokens

MAX_QUERY_TOKENS: Final = 64
"""Further tokens of a query are left out: a pasted page is no better a question than its beginning."""

MAX_POSTINGS: Final = 20_000
"""Rows that the words of one query may touch before the most common words are left out; see ``rank_words``."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row of ``memories`` with its score, and what breaks ties."""

    row: int
    memory_id: str
    valid_from: int
    score: float

    @property
    def order(self) -> tuple[float, int, str]:
        """Best first, ties newest first, then by id."""
        return -self.score, -self.valid_from, self.memory_id


def rank_words(connection: sqlite3.Connection, tokens: Sequence[str], condition: Condition, limit: int) -> list[Ranked]:
    """Memories that share a token with the query, best first; every score is above 0.

    In a store above ``MAX_POSTINGS`` memories, words so common that they would touch more rows than that do not
    count where rarer ones fill the limit.
    """
    words = list(dict.fromkeys(encode_tokens(tokens)))[:MAX_QUERY_TOKENS]
    if not words:
        return []
    rare = _rare(connection, words)
    found = _rank(connection, rare, condition, limit)
    if len(found) < limit and len(rare) < len(words):
        return _rank(connection, words, condition, limit)
    return found


def _rank(connection: sqlite3.Connection, words: Sequence[str], condition: Condition, limit: int) -> list[Ranked]:
    # CROSS JOIN: the planner must look rows up by the words, not words up by the rows.
    rows = connection.execute(
        "SELECT m.row, m.memory_id, m.valid_from, -bm25(words) AS score "  # noqa: S608
        "FROM words CROSS JOIN memories AS m ON m.row = words.rowid "
        f"WHERE words MATCH ? AND {condition.sql} "
        "ORDER BY score DESC, m.valid_from DESC, m.memory_id LIMIT ?",
        (" OR ".join(words), *condition.values, limit),
    )
    return [Ranked(*row) for row in rows.fetchall()]


def _rare(connection: sqlite3.Connection, words: Sequence[str]) -> list[str]:
    """The rarest words, as many as stay within ``MAX_POSTINGS`` rows, and at least one."""
    (size,) = connection.execute("SELECT max(row) FROM memories").fetchone()
    if (size or 0) <= MAX_POSTINGS:
        return list(words)
    counts = {word: _count(connection, word) for word in words}
    chosen: list[str] = []
    total = 0
    for word in sorted(words, key=lambda word: counts[word]):
        total += counts[word]
        if total > MAX_POSTINGS and chosen and total > counts[word]:
            break
        chosen.append(word)
    return chosen


def _count(connection: sqlite3.Connection, word: str) -> int:
    """Rows that hold a word, counted no further than needed."""
    (count,) = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (word, MAX_POSTINGS + 1)
    ).fetchone()
    return int(count)


def refresh_words(connection: sqlite3.Connection) -> None:
    """Make the words of every memory anew when they were cut by another version of the tokenizer; else one read."""
    if words_are_current(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not words_are_current(connection):  # another process may have done it meanwhile
            facts = connection.execute("SELECT row, text, subject, attribute, value FROM memories").fetchall()
            connection.execute("DELETE FROM words")
            connection.executemany(
                "INSERT INTO words (rowid, tokens) VALUES (?, ?)",
                ((row, " ".join(encode_tokens(memory_tokens(*fact)))) for row, *fact in facts),
            )
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('tokens', ?)", (str(TOKENS_VERSION),))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def words_are_current(connection: sqlite3.Connection) -> bool:
    """Whether the words were cut by this version of the tokenizer."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'tokens'").fetchone()
    return row is not None and row[0] == str(TOKENS_VERSION)
