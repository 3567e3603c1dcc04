"""The audit chain: appended in the transaction of what it records."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

from datamind.core.durable import sync_folder
from datamind.core.errors import StoreError
from datamind.core.logging import redactor
from datamind.core.record import now

GENESIS = "0" * 64
_KEY_BYTES = 32


class AuditChain:
    """Appends records of one profile. Each holds the hash of the one before and a MAC of a key kept elsewhere.

    A profile that was imported goes on with a key of its own: ``epoch`` of a record says which key its MAC is of.
    """

    def __init__(self, key_folder: Path) -> None:
        self._key_folder = key_folder
        self._key: bytes | None = None
        self._epoch = 0

    def append(
        self, connection: sqlite3.Connection, kind: str, *, trace_id: str, receipt_id: str = "", **fields: Any
    ) -> int:
        """Add one record in the open transaction; returns its sequence number.

        Raises:
            StoreError: The key cannot be read or made; the caller's write must then not happen.
        """
        last = connection.execute("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
        seq, prev = (last["seq"] + 1, last["hash"]) if last else (1, GENESIS)
        at = now().isoformat()
        body = canonical_json(redactor.value({"kind": kind, **fields}))
        hashed = record_hash(seq, at, trace_id, receipt_id, body, prev)
        mac = hmac.new(self._load_key(connection), hashed.encode(), hashlib.sha256).hexdigest()
        connection.execute(
            "INSERT INTO audit (seq, at, trace_id, receipt_id, body, prev, hash, mac, epoch)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (seq, at, trace_id, receipt_id, body, prev, hashed, mac, self._epoch),
        )
        return seq

    def key_file(self, name: str) -> Path:
        """Where the key of this name is kept."""
        return self._key_folder / f"{name}.key"

    def _load_key(self, connection: sqlite3.Connection) -> bytes:
        if self._key is None:
            name = connection.execute("SELECT value FROM meta WHERE key = 'profile_uid'").fetchone()["value"]
            path = self.key_file(name)
            row = connection.execute("SELECT value FROM meta WHERE key = 'audit_epoch'").fetchone()
            self._epoch = int(row["value"]) if row else 0
            try:
                self._key = _read_or_make_key(path)
            except OSError as error:
                raise StoreError(
                    f"the audit key {str(path)!r} cannot be used ({error.strerror or error}), so nothing is written.",
                    code="store_error.audit_key",
                    retryable=False,
                    hint="Set hooks.audit_key to a folder of your own.",
                ) from error
        return self._key


def record_hash(seq: int, at: str, trace_id: str, receipt_id: str, body: str, prev: str) -> str:
    """SHA-256 over the canonical JSON of a record and the hash of the record before it."""
    return hashlib.sha256(canonical_json([seq, at, trace_id, receipt_id, body, prev]).encode()).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values have equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _read_or_make_key(path: Path) -> bytes:
    # Made and read within a transaction of its profile, so a draft that is there was left by a dead process.
    draft = path.with_name(f".{path.name}.new")
    if not path.exists():
        _make_key(path, draft)
    draft.unlink(missing_ok=True)
    key = path.read_bytes()
    if len(key) != _KEY_BYTES:
        raise OSError(f"it has {len(key)} bytes instead of {_KEY_BYTES}")
    return key


def _make_key(path: Path, draft: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(os.urandom(_KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    # A link appears whole or not at all, and never over the key of a copy of this profile.
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)
    sync_folder(path.parent)
    with contextlib.suppress(OSError):  # it may lie in a folder that nobody may list
        sync_folder(path.parent.parent)
