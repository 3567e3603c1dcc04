"""The child process that owns the DuckDB file. Nothing outside it can be reached from its SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import duckdb

from datamind.core.errors import InputInvalid, LimitExceeded, StoreError
from datamind.core.protocols.repair import damaged
from datamind.engine_host import EngineReply, EngineRequest
from datamind_db_duckdb.catalogue import Catalogue
from datamind_db_duckdb.querying import Queries
from datamind_db_duckdb.rewriting import write_anew
from datamind_db_duckdb.writing import Writes

_DAMAGE: Final = re.compile(
    r"not a valid DuckDB database|Corrupt database file|Could not read enough bytes|[Cc]hecksum|[Dd]eserializ"
)
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
    """The engine's factory; the file is opened by the first operation."""
    config = _LOCKED_DOWN | {name: str(value) for name, value in options["config"].items()}
    return DuckDBEngine(options["path"], config)


class _Open(NamedTuple):
    """A connection, and what works over it."""

    connection: Any
    queries: Queries
    writes: Writes


def _connect(path: str, config: Mapping[str, str]) -> _Open:
    try:
        connection = duckdb.connect(path, config=dict(config))
    except duckdb.Error as error:
        holder = _HOLDER.search(str(error))
        if holder is None:
            raise _translated(error) from error
        raise StoreError(
            f"the tables are open in another process, number {holder[1]}",
            code="store_error.locked",
            hint="Close it, or ask through it: several processes cannot have the file at once.",
        ) from None
    try:
        Catalogue(connection).prepare()
    except BaseException as error:
        connection.close()  # or the file stays this process's, with or without the lease
        if isinstance(error, duckdb.Error):
            raise _translated(error) from error
        raise
    return _Open(connection, Queries(connection), Writes(connection))


class DuckDBEngine:
    """Operations over one connection, which ``release`` closes and the next operation opens again."""

    def __init__(self, path: str, config: Mapping[str, str]) -> None:
        self._path = path
        self._config = config
        self._opened: _Open | None = None
        self.operations: Mapping[str, Callable[[EngineRequest], EngineReply]] = {
            "tables": self._reading(lambda args: self._file.queries.tables()),
            "describe": self._reading(lambda args: self._file.queries.describe(args["table"], args["sample"])),
            "query": self._reading(lambda args: self._file.queries.query(args)),
            "look": self._reading(lambda args: self._file.writes.look(args)),
            "prepare": self._reading(lambda args: self._file.writes.prepare()),
            "load": self._load,
            "create": self._writing(lambda args: self._file.writes.create(args)),
            "drop": self._writing(lambda args: self._file.writes.drop(args)),
            "remove_import": self._writing(lambda args: self._file.writes.remove_import(args)),
            "rewrite": self._rewrite,
            "release": self._release,
            "close": self._release,
        }

    @property
    def _file(self) -> _Open:
        """Raises StoreError: another process has the file (``store_error.locked``), or it is damaged."""
        if self._opened is None:
            self._opened = _connect(self._path, self._config)
        return self._opened

    def _reading(self, work: Callable[[Mapping[str, Any]], Any]) -> Callable[[EngineRequest], EngineReply]:
        def run(request: EngineRequest) -> EngineReply:
            args = json.loads(bytes(request.payloads[0]))
            with self._transaction("BEGIN TRANSACTION READ ONLY", "ROLLBACK"):
                return _reply(work(args))

        return run

    def _writing(self, work: Callable[[Mapping[str, Any]], Any]) -> Callable[[EngineRequest], EngineReply]:
        def run(request: EngineRequest) -> EngineReply:
            args = json.loads(bytes(request.payloads[0]))
            with self._write():
                return _reply(work(args))

        return run

    def _load(self, request: EngineRequest) -> EngineReply:
        (stage,) = request.files
        args, plan = (json.loads(bytes(payload)) for payload in request.payloads)
        with self._write():
            return _reply(self._file.writes.load(args, plan, stage))

    def _release(self, request: EngineRequest) -> EngineReply:
        if self._opened is not None:
            self._opened.connection.close()
            self._opened = None
        return EngineReply()

    def _rewrite(self, request: EngineRequest) -> EngineReply:
        with self._transaction("BEGIN TRANSACTION", "COMMIT"):
            Catalogue(self._file.connection).drop_details()
        self._file.connection.execute("FORCE CHECKPOINT")  # whatever is only in the log
        self._release(request)
        try:
            write_anew(self._path)
        except duckdb.Error as error:
            raise _translated(error) from error
        return _reply(None)

    @contextmanager
    def _write(self) -> Iterator[None]:
        self._file.queries.forget()
        with self._transaction("BEGIN TRANSACTION", "COMMIT"):
            yield

    @contextmanager
    def _transaction(self, begin: str, end: str) -> Iterator[None]:
        connection = self._file.connection
        connection.execute(begin)
        try:
            yield
            connection.execute(end)
        except BaseException as error:
            _roll_back(connection)
            if isinstance(error, duckdb.Error):
                raise _translated(error) from error
            raise


def _roll_back(connection: Any) -> None:
    try:
        connection.abort()
        connection.execute("ROLLBACK")
    except duckdb.Error:  # the engine has rolled back by itself
        return


def _reply(value: Any) -> EngineReply:
    return EngineReply(None, (json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"),))


def _translated(error: Exception) -> Exception:
    line = " ".join(str(error).split())[:500]
    if _DAMAGE.search(line):
        return damaged(f"the database file is damaged: {line}")
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
