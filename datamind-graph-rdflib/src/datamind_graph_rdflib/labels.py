"""What entities are called, in a SQLite file beside the graph: finds candidates, decides nothing.

Names are added before the graph's own commit and never taken out by a delete, so the file holds every name of the
graph and maybe more; whoever searches looks each candidate up in the graph. The file also says up to which write it
does, so one that is behind, as after a power loss, is known and made anew from the graph.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from datamind.capabilities.graph.names import fold, grams
from datamind.core.errors import StoreError
from datamind.core.protocols.repair import damaged
from datamind.core.set_aside import mark

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS names (
    id INTEGER PRIMARY KEY, iri TEXT NOT NULL, folded TEXT NOT NULL, UNIQUE (folded, iri)
);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    grams, content = '', detail = none, tokenize = "unicode61 remove_diacritics 0 tokenchars '_'"
);
CREATE VIRTUAL TABLE IF NOT EXISTS word_counts USING fts5vocab (words, 'row');
CREATE TABLE IF NOT EXISTS predicates (iri TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (id INTEGER PRIMARY KEY CHECK (id = 1), before TEXT NOT NULL, last TEXT NOT NULL);
"""
_CANDIDATES: Final = 200
_QUERY_GRAMS: Final = 64
_MANY_ROWS: Final = 20_000
_LAST: Final = "\U0010ffff"


class LabelIndex:
    """May be used by several threads. Consistent after a power loss, and maybe behind."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = threading.Lock()
        with self._translated():
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            # What a power loss takes is made anew from the graph; NORMAL keeps what is left in order.
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)

    def add(self, names: Iterable[tuple[str, str]], predicates: Iterable[str] = ()) -> None:
        """Pairs of IRI and name, and predicates; what is known changes nothing."""
        with self._transaction():
            self._insert(names, predicates)

    def complete(
        self, names: Iterable[tuple[str, str]], predicates: Iterable[str], *, receipt_id: str, before: str
    ) -> None:
        """The last names of a write, which is about to be committed after the write ``before``."""
        with self._transaction():
            self._insert(names, predicates)
            self._db.execute("INSERT OR REPLACE INTO written VALUES (1, ?, ?)", (before, receipt_id))

    def is_up_to(self, receipt_id: str) -> bool:
        """Whether the names are those of a graph whose last write this is; empty for none."""
        with self._translated():
            found = self._db.execute("SELECT before, last FROM written").fetchone()
        return receipt_id in (found or ("",))

    def _insert(self, names: Iterable[tuple[str, str]], predicates: Iterable[str]) -> None:
        last = self._db.execute("SELECT coalesce(max(id), 0) FROM names").fetchone()[0]
        rows = ((iri, folded) for iri, name in names if (folded := fold(name)))
        self._db.executemany("INSERT OR IGNORE INTO names (iri, folded) VALUES (?, ?)", rows)
        # In the order of their numbers: the word index writes out what it has gathered at every step back.
        new = self._db.execute("SELECT id, folded FROM names WHERE id > ? ORDER BY id", (last,)).fetchall()
        words = ((key, " ".join(grams(folded))) for key, folded in new)
        self._db.executemany("INSERT INTO words (rowid, grams) VALUES (?, ?)", words)
        self._db.executemany("INSERT OR IGNORE INTO predicates VALUES (?)", ((iri,) for iri in predicates))

    def predicates(self) -> list[str]:
        """IRIs of every predicate there ever was."""
        with self._translated():
            return list(self._rows("SELECT iri FROM predicates"))

    def candidates(self, text: str) -> list[str]:
        """IRIs whose names may answer, at most some hundreds: the same, with this beginning, or much alike."""
        wanted = fold(text)
        if not wanted:
            return []
        with self._translated():
            found = dict.fromkeys(self._rows("SELECT iri FROM names WHERE folded = ? LIMIT ?", wanted, _CANDIDATES))
            prefix = "SELECT iri FROM names WHERE folded >= ? AND folded < ? ORDER BY length(folded), id LIMIT ?"
            found.update(dict.fromkeys(self._rows(prefix, wanted, wanted + _LAST, _CANDIDATES)))
            alike = " OR ".join(f'"{gram}"' for gram in self._telling(grams(wanted)[:_QUERY_GRAMS]))
            words = "SELECT iri FROM words JOIN names ON id = words.rowid WHERE words MATCH ? ORDER BY rank LIMIT ?"
            found.update(dict.fromkeys(self._rows(words, alike, _CANDIDATES)))
        return list(found)

    def _telling(self, wanted: list[str]) -> list[str]:
        """The rarest grams that together are in not too many names, and at least one."""
        marks = ",".join("?" * len(wanted))
        counts = dict(self._db.execute(f"SELECT term, doc FROM word_counts WHERE term IN ({marks})", wanted))  # noqa: S608
        chosen: list[str] = []
        rows = 0
        for gram in sorted(counts, key=lambda gram: (counts[gram], gram)):
            rows += counts[gram]
            if chosen and rows > _MANY_ROWS:
                break
            chosen.append(gram)
        return chosen or wanted[:1]

    def _rows(self, sql: str, *values: object) -> Iterator[str]:
        return (row[0] for row in self._db.execute(sql, values))

    def close(self) -> None:
        """Close the file."""
        with self._translated():
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with self._turn:
                yield
        except sqlite3.Error as error:
            message = f"the names of the graph in {str(self._path)!r} cannot be used ({error})."
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                mark(self._path.with_name("oxigraph"))
                raise damaged(message) from error
            raise StoreError(message) from error
