"""The tables of memory.db, and how a file gets them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from datamind.core.errors import StoreError

APPLICATION_ID: Final = 0x444D4D31
"""Marks the file as ours (``DMM1``), so that a database of something else is never written to."""

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        """CREATE TABLE memories (
            row INTEGER PRIMARY KEY,
            memory_id TEXT NOT NULL UNIQUE,
            scope TEXT NOT NULL,
            session TEXT NOT NULL,
            kind TEXT NOT NULL,
            text TEXT NOT NULL,
            subject TEXT NOT NULL,
            attribute TEXT NOT NULL,
            value TEXT NOT NULL,
            functional INTEGER NOT NULL,
            valid_from INTEGER NOT NULL,
            valid_to INTEGER,
            created_at INTEGER NOT NULL,
            origin TEXT NOT NULL,
            receipt_id TEXT NOT NULL,
            closed_by TEXT NOT NULL,
            close_receipt_id TEXT NOT NULL,
            forget_receipt_id TEXT,
            subject_key TEXT NOT NULL,
            attribute_key TEXT NOT NULL,
            content_key TEXT NOT NULL
        )""",
        "CREATE INDEX memories_by_fact ON memories (subject_key, attribute_key, scope, session, valid_from, valid_to)",
        "CREATE INDEX memories_by_content ON memories (content_key)",
        "CREATE INDEX memories_by_session ON memories (session, valid_from) WHERE session <> ''",
        "CREATE INDEX memories_by_age ON memories (valid_from DESC, memory_id)",
        # Tokens come as hexadecimal digits, so that this tokenizer neither splits nor folds them.
        "CREATE VIRTUAL TABLE words USING fts5(tokens, tokenize = 'ascii')",
        """CREATE TABLE outcomes (
            draft_id TEXT PRIMARY KEY,
            status TEXT NOT NULL,
            memory_id TEXT NOT NULL,
            closed_ids TEXT NOT NULL
        ) WITHOUT ROWID""",
        "CREATE TABLE models (model INTEGER PRIMARY KEY, model_id TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL)",
        # A number is never used twice, so whoever holds vectors in memory asks for those above the last one seen.
        """CREATE TABLE vectors (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            row INTEGER NOT NULL,
            model INTEGER NOT NULL,
            vector BLOB NOT NULL,
            UNIQUE (row, model)
        )""",
    ),
    ("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",),
    (
        # What each write made of a memory that can be changed; before is NULL for one that it added.
        """CREATE TABLE changes (
            receipt_id TEXT NOT NULL,
            memory_id TEXT NOT NULL,
            before TEXT,
            after TEXT NOT NULL,
            PRIMARY KEY (receipt_id, memory_id)
        )""",
        "CREATE INDEX changes_by_memory ON changes (memory_id)",
        "CREATE TABLE reverts (by_receipt TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
    ),
)
"""What leads from each version to the next; ``PRAGMA user_version`` counts how many a file has."""


def check_schema(connection: sqlite3.Connection, path: Path) -> int:
    """The version of a file; 0 for an empty one. Changes nothing.

    Raises:
        StoreError: A later version than this one knows, or a database that is not a memory store.
    """
    ((version,), (application,)) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("user_version", "application_id")
    )
    if application == APPLICATION_ID:
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{str(path)!r} has memory schema {version}, and this version knows {len(MIGRATIONS)}",
                hint="Upgrade datamind-memory-sqlite.",
                code="store_error.newer_schema",
                retryable=False,
            )
        return int(version)
    if version or application or connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise StoreError(
            f"{str(path)!r} is a database of something else, not a memory store",
            hint="Move it away, or choose another base_dir.",
            code="store_error.foreign_file",
            retryable=False,
        )
    return 0


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the newest version in one transaction; two processes at once do it once."""
    if check_schema(connection, path) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statements in MIGRATIONS[check_schema(connection, path) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
