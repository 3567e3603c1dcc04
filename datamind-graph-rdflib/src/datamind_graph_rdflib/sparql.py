"""SPARQL in a process of its own: started on first use, killed at a deadline, started again."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, Final

import anyio

from datamind.core.errors import InputInvalid, LimitExceeded, StoreError
from datamind.core.protocols.graph import ParsedQuery, QueryResult, Term

_PARSE_TIMEOUT_S: Final = 10.0
_START_S: Final = 20.0
_MAX_REPLY: Final = 32 * 1024 * 1024
_MAX_BYTES: Final = 4 * 1024 * 1024


class SparqlProcess:
    """One child that answers one request at a time.

    The child opens the graph read-only for each query, so that it sees every write so far and can change nothing.
    """

    def __init__(self, graph_folder: Path, *, memory_mb: int) -> None:
        self._folder = graph_folder
        self._memory_mb = memory_mb
        self._turn = anyio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._is_closed = False

    async def parse(self, text: str) -> ParsedQuery:
        """What rdflib reads in it."""
        try:
            reply = await self._ask({"op": "parse", "text": text}, _PARSE_TIMEOUT_S)
        except LimitExceeded as error:
            return ParsedQuery(form="unparsed", error=error.message)
        return ParsedQuery.model_validate(reply)

    async def query(self, text: str, *, limit_rows: int, timeout_s: float) -> QueryResult:
        """Run one query.

        Raises:
            InputInvalid: The engine takes it for no query.
            LimitExceeded: Its time or its memory was over; it is stopped.
            StoreError: The graph cannot be read.
        """
        request = {
            "op": "query",
            "folder": str(self._folder),
            "text": text,
            "limit_rows": limit_rows,
            "max_bytes": _MAX_BYTES,
        }
        reply = await self._ask(request, timeout_s)
        if reply.get("error") == "syntax":
            raise InputInvalid(f"the query cannot be read: {reply['message'][:300]}", code="input_invalid.sparql")
        if "error" in reply:
            raise StoreError(f"the graph cannot be queried ({reply['message'][:300]}).")
        rows = tuple(tuple(None if cell is None else Term(*cell) for cell in row) for row in reply["rows"])
        return QueryResult(columns=tuple(reply["columns"]), rows=rows, answer=reply["answer"], cut=reply["cut"])

    async def aclose(self) -> None:
        """End the child; may be called twice."""
        self._is_closed = True
        await self._kill()

    async def _ask(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        async with self._turn:
            if self._is_closed:
                raise StoreError("the graph is closed", retryable=False)
            process = await self._running()
            try:
                async with asyncio.timeout(timeout_s):
                    return await _exchange(process, request)
            except TimeoutError:
                await self._kill()
                raise LimitExceeded(
                    f"the query was stopped after {timeout_s:g} s", code="limit_exceeded.time", hint="Make it narrower."
                ) from None
            except (EOFError, OSError):
                await self._kill()
                raise LimitExceeded(
                    "the query took more memory than graph.options.query_memory_mb allows",
                    code="limit_exceeded.memory",
                    hint="Make it narrower.",
                ) from None
            except BaseException:
                # Whoever left meanwhile must not leave a query running, nor its answer to the next one.
                await self._kill()
                raise

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            command = [sys.executable, "-m", "datamind_graph_rdflib.sparql_child", str(self._memory_mb)]
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, limit=_MAX_REPLY
            )
            self._process = process
            try:
                async with asyncio.timeout(_START_S):
                    await _exchange(process, {"op": "hello"})
            except (TimeoutError, EOFError, OSError):
                await self._kill()
                raise StoreError("the process for SPARQL queries does not start.") from None
        return self._process

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.wait()
        # Closes the pipes now; the loop that would do it later may be gone by then.
        transport = getattr(process, "_transport", None)
        if transport is not None:
            transport.close()


async def _exchange(process: asyncio.subprocess.Process, request: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None  # pipes
    process.stdin.write(json.dumps(request).encode("ascii") + b"\n")
    await process.stdin.drain()
    try:
        line = await process.stdout.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        raise EOFError from None
    reply: dict[str, Any] = await anyio.to_thread.run_sync(json.loads, line)
    return reply
