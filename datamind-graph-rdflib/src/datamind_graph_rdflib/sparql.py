"""SPARQL in a process of its own, which opens the graph read-only for each query and is killed at a deadline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import anyio.to_thread

from datamind.core.errors import LimitExceeded
from datamind.core.lease import Lease
from datamind.core.protocols.graph import ParsedQuery, QueryResult, Term
from datamind.engine_host import EngineHost, EngineLimits, EngineSpec

_PARSE_TIMEOUT_S: Final = 10.0
_IDLE_S: Final = 60.0
_OPEN_FILES: Final = 1024


class SparqlProcess:
    """Parses and runs one query at a time; started by the first."""

    def __init__(self, graph_folder: Path, lease: Lease, *, memory_mb: int) -> None:
        self._lease = lease
        limits = EngineLimits(address_space_bytes=memory_mb * 1024**2, open_files=_OPEN_FILES)
        self._host = EngineHost(
            EngineSpec(
                "sparql",
                "datamind_graph_rdflib.querying:make_engine",
                {"folder": str(graph_folder)},
                limits,
                idle_s=_IDLE_S,
            )
        )

    async def parse(self, text: str) -> ParsedQuery:
        """What rdflib reads in it."""
        try:
            reply = await self._host.call("parse", payloads=[_bytes(text)], deadline_s=_PARSE_TIMEOUT_S, retry=True)
        except LimitExceeded as error:
            return ParsedQuery(form="unparsed", error=error.message)
        return ParsedQuery.model_validate(reply.value)

    async def query(self, text: str, *, limit_rows: int, timeout_s: float) -> QueryResult:
        """Run one query.

        Raises:
            InputInvalid: It is no query, or one that changes or asks something else.
            LimitExceeded: Its time or its memory was over; it is stopped.
            StoreError: The graph cannot be read.
        """
        async with self._lease.use():
            reply = await self._host.call(
                "query", {"limit_rows": limit_rows}, payloads=[_bytes(text)], deadline_s=timeout_s, retry=True
            )
        return await anyio.to_thread.run_sync(_read, bytes(reply.payloads[0]))

    async def aclose(self) -> None:
        """End the process; may be called twice."""
        await self._host.aclose()


def _bytes(text: str) -> bytes:
    # A query is too long for the JSON part of a request, and may hold half a character.
    return text.encode("utf-8", "replace")


def _read(payload: bytes) -> QueryResult:
    found = json.loads(payload)
    rows = tuple(tuple(None if cell is None else Term(*cell) for cell in row) for row in found["rows"])
    return QueryResult(columns=tuple(found["columns"]), rows=rows, answer=found["answer"], cut=found["cut"])
