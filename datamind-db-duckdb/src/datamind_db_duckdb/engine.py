"""The child process that owns the DuckDB file. Nothing outside it can be reached from its SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import duckdb

from datamind.core.errors import InputInvalid, LimitExceeded, StoreError
from datamind.engine_host import EngineReply, EngineRequest
from datamind_db_duckdb.catalogue import Catalogue
from datamind_db_duckdb.querying import Queries
from datamind_db_duckdb.writing import Writes

_HOLDER: Final = re.compile(r"PID (\d+)")
_LOCKED_DOWN: Final = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}


def open_engine(options: Mapping[str, Any]) -> DuckDBEngine:
    """The engine's factory.

    Raises:
        StoreError: Another process has the file (``store_error.locked``), or it is damaged.
    """
    config = _LOCKED_DOWN | {name: str(value) for name, value in options["config"].items()}
    try:
        connection = duckdb.connect(options["path"], config=config)
    except duckdb.Error as error:
        holder = _HOLDER.search(str(error))
        if holder is None:
            raise
        raise StoreError(
            f"the tables are open in another process, number {holder[1]}",
            code="store_error.locked",
            hint="Close it, or ask through it: several processes cannot have the file at once.",
        ) from None
    Catalogue(connection).prepare()
    return DuckDBEngine(connection)


class DuckDBEngine:
    """Operations over one connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._queries = Queries(connection)
        self._writes = Writes(connection)
        self.operations: Mapping[str, Callable[[EngineRequest], EngineReply]] = {
            "tables": self._reading(lambda args: self._queries.tables()),
            "describe": self._reading(lambda args: self._queries.describe(args["table"], args["sample"])),
            "query": self._reading(self._queries.query),
            "look": self._reading(self._writes.look),
            "load": self._load,
            "create": self._writing(self._writes.create),
            "drop": self._writing(self._writes.drop),
            "close": self._close,
        }

    def _reading(self, work: Callable[[Mapping[str, Any]], Any]) -> Callable[[EngineRequest], EngineReply]:
        def run(request: EngineRequest) -> EngineReply:
            args = json.loads(bytes(request.payloads[0]))
            with self._transaction("BEGIN TRANSACTION READ ONLY", "ROLLBACK"):
                return _reply(work(args))

        return run

    def _writing(self, work: Callable[[Mapping[str, Any]], Any]) -> Callable[[EngineRequest], EngineReply]:
        def run(request: EngineRequest) -> EngineReply:
            args = json.loads(bytes(request.payloads[0]))
            with self._transaction("BEGIN TRANSACTION", "COMMIT"):
                return _reply(work(args))

        return run

    def _load(self, request: EngineRequest) -> EngineReply:
        (stage,) = request.files
        args, plan = (json.loads(bytes(payload)) for payload in request.payloads)
        with self._transaction("BEGIN TRANSACTION", "COMMIT"):
            return _reply(self._writes.load(args, plan, stage))

    def _close(self, request: EngineRequest) -> EngineReply:
        self._connection.close()
        return EngineReply()

    @contextmanager
    def _transaction(self, begin: str, end: str) -> Iterator[None]:
        self._connection.execute(begin)
        try:
            yield
            self._connection.execute(end)
        except BaseException as error:
            self._roll_back()
            if isinstance(error, duckdb.Error):
                raise _translated(error) from error
            raise

    def _roll_back(self) -> None:
        try:
            self._connection.abort()
            self._connection.execute("ROLLBACK")
        except duckdb.Error:  # the engine has rolled back by itself
            return


def _reply(value: Any) -> EngineReply:
    return EngineReply(None, (json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"),))


def _translated(error: Exception) -> Exception:
    line = " ".join(str(error).split())[:500]
    match error:
        case duckdb.InterruptException():
            return LimitExceeded("the statement did not end in time and was stopped", code="limit_exceeded.time")
        case duckdb.OutOfMemoryException():
            return LimitExceeded(
                "the statement needs more memory than db.options.memory_limit", code="limit_exceeded.memory"
            )
        case duckdb.IOException() | duckdb.InternalException() | duckdb.FatalException():
            return StoreError(f"the database failed: {line}")
    return InputInvalid(f"the statement was refused: {line}", code="input_invalid.statement")
