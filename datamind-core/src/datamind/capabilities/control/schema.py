"""Tables of control.db and how an older file becomes a newer one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from datamind.core.errors import StoreError

_V1: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE contents (
    content_hash TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    body BLOB                       -- NULL: the bytes are in blobs/<first two characters>/<hash>
) WITHOUT ROWID;

CREATE TABLE intents (
    seq INTEGER PRIMARY KEY,
    unit_id TEXT NOT NULL UNIQUE,
    idempotency_key TEXT NOT NULL UNIQUE,
    request_hash TEXT NOT NULL,
    receipt_id TEXT NOT NULL UNIQUE,
    trace_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    session TEXT NOT NULL,
    tool TEXT NOT NULL,
    surface TEXT NOT NULL,
    args TEXT NOT NULL,
    content_hash TEXT,
    source TEXT,
    state TEXT NOT NULL CHECK (state IN ('intent', 'applied', 'committed', 'failed')),
    owner TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 1,
    result TEXT,
    started_at TEXT NOT NULL
);
CREATE INDEX intents_open ON intents (seq) WHERE state IN ('intent', 'applied');
CREATE INDEX intents_trace ON intents (trace_id);

CREATE TABLE receipts (
    seq INTEGER PRIMARY KEY,
    receipt_id TEXT NOT NULL UNIQUE,
    unit_id TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    surface TEXT NOT NULL,
    status TEXT NOT NULL,
    source_id TEXT,
    completed_at TEXT NOT NULL,
    reverted_by TEXT,
    body TEXT NOT NULL
);
CREATE INDEX receipts_trace ON receipts (trace_id);
CREATE INDEX receipts_source ON receipts (source_id);

CREATE TABLE sources (
    document_id TEXT NOT NULL,
    source_id TEXT NOT NULL,
    surface TEXT NOT NULL,
    uri TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    source TEXT NOT NULL,
    title TEXT NOT NULL,
    metadata TEXT NOT NULL,
    receipt_ids TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'replaced', 'deleted')),
    added_at TEXT NOT NULL,
    ended_at TEXT,
    end_receipt_id TEXT,
    revision INTEGER NOT NULL,
    PRIMARY KEY (surface, source_id)
) WITHOUT ROWID;
CREATE INDEX sources_document ON sources (surface, document_id, state);
CREATE INDEX sources_revision ON sources (surface, revision);

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    receipt_id TEXT NOT NULL,
    body TEXT NOT NULL,
    prev TEXT NOT NULL,
    hash TEXT NOT NULL,
    mac TEXT NOT NULL,
    epoch INTEGER NOT NULL
);
CREATE INDEX audit_trace ON audit (trace_id);
CREATE INDEX audit_receipt ON audit (receipt_id);

CREATE TABLE approvals (
    ticket_id TEXT PRIMARY KEY,
    call_hash TEXT NOT NULL,
    profile TEXT NOT NULL,
    session TEXT NOT NULL,
    role TEXT NOT NULL,
    tool TEXT NOT NULL,
    schema_hash TEXT NOT NULL,
    args TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    precondition TEXT NOT NULL,
    reason TEXT NOT NULL,
    candidates TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'consumed', 'expired')),
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    decided_at TEXT,
    decided_by TEXT,
    receipt_id TEXT
) WITHOUT ROWID;

CREATE TABLE answers (
    seq INTEGER PRIMARY KEY,
    trace_id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    question TEXT NOT NULL,
    answered_at TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE answer_evidence (
    evidence_id TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (evidence_id, trace_id)
) WITHOUT ROWID;
CREATE INDEX answer_evidence_trace ON answer_evidence (trace_id, number);
CREATE TABLE evidence_receipts (
    receipt_id TEXT NOT NULL,
    evidence_id TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    PRIMARY KEY (receipt_id, evidence_id, trace_id)
) WITHOUT ROWID;

CREATE TABLE conversations (
    session TEXT NOT NULL,
    role TEXT NOT NULL,
    turn INTEGER NOT NULL,
    trace_id TEXT NOT NULL,
    at TEXT NOT NULL,
    messages TEXT NOT NULL,
    PRIMARY KEY (session, role, turn)
) WITHOUT ROWID;

CREATE TABLE embedding_cache (
    model_id TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model_id, content_hash)
) WITHOUT ROWID;
"""

_V2: Final = """
CREATE INDEX receipts_surface ON receipts (surface, seq);
"""

_V3: Final = """
CREATE TABLE erasures (
    erase_id TEXT PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('begun', 'done', 'refused')),
    owner TEXT NOT NULL,
    plan TEXT NOT NULL,
    begun_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE erased_receipts (receipt_id TEXT PRIMARY KEY) WITHOUT ROWID;
"""

_V4: Final = """
CREATE TABLE changed_versions (
    surface TEXT NOT NULL,
    receipt_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    before TEXT,                    -- NULL: it had no active version
    after TEXT,                     -- NULL: the version that the receipt wrote; 'null': none
    PRIMARY KEY (surface, receipt_id, document_id)
) WITHOUT ROWID;
CREATE INDEX receipts_reverted ON receipts (reverted_by) WHERE reverted_by IS NOT NULL;
INSERT INTO changed_versions SELECT surface, end_receipt_id, document_id, json_object('document_id', document_id,
    'source', json(source), 'content_hash', content_hash, 'title', title, 'metadata', json(metadata),
    'receipt_ids', json(receipt_ids), 'added_at', added_at), CASE state WHEN 'deleted' THEN 'null' END
    FROM sources WHERE end_receipt_id IS NOT NULL;
"""

MIGRATIONS: Final = (_V1, _V2, _V3, _V4)
"""Statement ``i`` takes a file from version ``i`` to ``i + 1``; an entry never changes once released."""


def check_file(connection: sqlite3.Connection, path: Path) -> None:
    """Look at a file without changing it.

    Raises:
        StoreError: It was written by a newer DataMind, or by another program.
    """
    connection.execute("BEGIN")  # one snapshot: another process may be making the tables
    version = _version(connection)
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.execute("COMMIT")
    _refuse_newer(version)
    if (version or tables) and "intents" not in tables:
        raise StoreError(
            f"{str(path)!r} is a database of something else.",
            code="store_error.foreign_file",
            retryable=False,
            hint="Move it away, or set data.base_dir to another folder.",
        )


def objects_of(connection: sqlite3.Connection) -> set[tuple[str, ...]]:
    """Every table, index, view and trigger of a file, with the statement that made it."""
    return {tuple(row) for row in connection.execute("SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_master")}


def objects_at(version: int) -> set[tuple[str, ...]]:
    """Those of a file of this version, with nothing that somebody else added."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for script in MIGRATIONS[:version]:
            for statement in _statements(script):
                connection.execute(statement)
        return objects_of(connection)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to the newest version in one transaction.

    Raises:
        StoreError: The file was written by a newer DataMind; it is left as it is.
    """
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)  # another process may have migrated while this one waited
        _refuse_newer(version)
        for script in MIGRATIONS[version:]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _refuse_newer(version: int) -> None:
    if version > len(MIGRATIONS):
        raise StoreError(
            f"control.db has version {version}, this DataMind knows {len(MIGRATIONS)}.",
            code="store_error.newer",
            retryable=False,
            hint="Upgrade datamind-core.",
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> list[str]:
    # executescript() would commit the open transaction first.
    lines = (line.partition("--")[0] for line in script.splitlines())
    return [statement for statement in " ".join(lines).split(";") if statement.strip()]
