"""Conversations of a profile, by session and role."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from pydantic import TypeAdapter

from datamind.capabilities.control.database import ControlDB
from datamind.core.messages import Message
from datamind.core.record import now
from datamind.core.types import Role

_messages = TypeAdapter(tuple[Message, ...])


class ConversationLog:
    """Turns as they were sent, so that a session can go on in another process."""

    def __init__(self, db: ControlDB) -> None:
        self._db = db

    async def append(self, session: str, role: Role, trace_id: str, messages: Sequence[Message]) -> None:
        """Add one turn: the messages it brought, in order."""
        body = _messages.dump_json(tuple(messages)).decode()

        def work(db: sqlite3.Connection) -> None:
            query = "SELECT max(turn) AS last FROM conversations WHERE session = ? AND role = ?"
            last = db.execute(query, (session, role)).fetchone()["last"]
            db.execute(
                "INSERT INTO conversations (session, role, turn, trace_id, at, messages) VALUES (?, ?, ?, ?, ?, ?)",
                (session, role, 0 if last is None else last + 1, trace_id, now().isoformat(), body),
            )

        await self._db.write_soft(work)

    async def history(self, session: str, role: Role, *, turns: int) -> tuple[Message, ...]:
        """The last ``turns`` turns, oldest first."""
        query = "SELECT messages FROM conversations WHERE session = ? AND role = ? ORDER BY turn DESC LIMIT ?"
        rows = await self._db.read(lambda db: db.execute(query, (session, role, turns)).fetchall())
        return tuple(message for row in reversed(rows) for message in _messages.validate_json(row["messages"]))

    async def sessions(self) -> Sequence[tuple[str, int, str]]:
        """``(session, turns, time of the last turn)``, the latest first."""
        query = "SELECT session, count(*) AS n, max(at) AS last FROM conversations GROUP BY session ORDER BY last DESC"
        return await self._db.read(lambda db: [(row["session"], row["n"], row["last"]) for row in db.execute(query)])

    async def delete(self, session: str) -> int:
        """Remove a session; returns how many turns it had."""
        query = "DELETE FROM conversations WHERE session = ?"
        return await self._db.write(lambda db: db.execute(query, (session,)).rowcount)
