"""DataMind without await, for scripts and notebooks: ``import datamind as dm; with dm.open("demo") as d: …``."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from datamind.agent import build_datamind
from datamind.agent.direct import IngestSource
from datamind.agent.exporting import ExportReport
from datamind.agent.facade import DataMind
from datamind.agent.forgetting import ForgetPlan
from datamind.capabilities.control.trace import Trace
from datamind.config.settings import Settings
from datamind.core.errors import InputInvalid
from datamind.core.evidence import InferenceResult
from datamind.core.protocols.agent import Approver
from datamind.core.receipts import IngestReceipt, StoreResult
from datamind.core.result_table import ResultTable
from datamind.core.results import DrainReport
from datamind.core.saved_page import SavedFile
from datamind.core.verification import SavedAnswer, Verification

T = TypeVar("T")


def open(
    profile: str = "default", *, base_dir: str | Path | None = None, approver: Approver | None = None, **sections: Any
) -> SyncDataMind:
    """Open a profile; close it with ``close`` or ``with``.

    Args:
        profile: Its name; made if it does not exist.
        base_dir: Folder of ``data/`` and ``storage/``; Settings decide when left out.
        approver: Lets a person decide what a hook asks.
        **sections: Sections of Settings, such as ``kb={"backend": "memory"}``.

    Raises:
        ConfigError: A setting is wrong or a named provider is missing.
        StoreError: The profile's folder cannot be used.
    """
    data: dict[str, Any] = {**sections.pop("data", {}), "profile": profile}
    if base_dir is not None:
        data["base_dir"] = base_dir
    return SyncDataMind(Settings(data=data, **sections), approver=approver)


class SyncDataMind:
    """The facade on an event loop of its own; every method blocks until it is done.

    One that is never closed is closed when the program ends.
    """

    def __init__(self, settings: Settings, *, approver: Approver | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        # A daemon: a program that forgets to close, or dies of an error, still ends.
        self._thread = threading.Thread(target=self._loop.run_forever, name="datamind", daemon=True)
        self._thread.start()
        try:
            self._system: DataMind = self._call(build_datamind(settings, approver=approver))
        except BaseException:
            self._end_loop()
            raise
        atexit.register(self.close)

    def ingest(self, source: IngestSource, **options: Any) -> StoreResult:
        """See ``DataMind.ingest``."""
        return self._call(self._system.ingest(source, **options))

    def query(self, question: str, **options: Any) -> InferenceResult:
        """See ``DataMind.query``."""
        return self._call(self._system.query(question, **options))

    def add(self, source: IngestSource, **options: Any) -> StoreResult:
        """``ingest`` by its short name."""
        return self.ingest(source, **options)

    def ask(self, question: str, **options: Any) -> InferenceResult:
        """``query`` by its short name."""
        return self.query(question, **options)

    def drain(self, timeout_s: float | None = None, **options: Any) -> DrainReport:
        """See ``DataMind.drain``."""
        return self._call(self._system.drain(timeout_s, **options))

    def warm(self) -> None:
        """See ``DataMind.warm``."""
        self._call(self._system.warm())

    def sql(self, statement: str, *, max_rows: int = 10_000) -> ResultTable:
        """See ``DataMind.sql``; the result has ``to_pandas()`` and ``to_arrow()``, and shows itself in a notebook."""
        return self._call(self._system.sql(statement, max_rows=max_rows))

    def trace(self, asked: str) -> Trace:
        """See ``DataMind.trace``."""
        return self._call(self._system.trace(asked))

    def save_answer(self, trace_id: str) -> SavedAnswer:
        """See ``DataMind.save_answer``."""
        return self._call(self._system.save_answer(trace_id))

    def verify(self, answer: SavedAnswer | SavedFile | str) -> Verification:
        """See ``DataMind.verify``."""
        return self._call(self._system.verify(answer))

    def export(self, path: str | Path, **options: Any) -> ExportReport:
        """See ``DataMind.export``; ``datamind.agent.import_profile`` makes a profile of the file."""
        return self._call(self._system.export(path, **options))

    def undo(self, asked: str = "") -> StoreResult:
        """See ``DataMind.undo``."""
        return self._call(self._system.undo(asked))

    def plan_forget(self, **what: Any) -> ForgetPlan:
        """See ``DataMind.plan_forget``."""
        return self._call(self._system.plan_forget(**what))

    def forget(self, plan: ForgetPlan, erase: bool = False) -> StoreResult:
        """See ``DataMind.forget``."""
        return self._call(self._system.forget(plan, erase))

    def revert(self, receipt_id: str) -> StoreResult:
        """See ``DataMind.revert``."""
        return self._call(self._system.revert(receipt_id))

    def receipts(self, *, limit: int = 20) -> Sequence[IngestReceipt]:
        """The latest receipts, newest first."""
        return self._call(self._system.receipts.latest(limit=limit))

    def close(self) -> None:
        """Close every store; may be called twice."""
        if self._thread.is_alive():
            atexit.unregister(self.close)
            self._call(self._system.aclose())
            self._end_loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._thread.is_alive():
            work.close()
            raise InputInvalid("this DataMind is closed", hint="Open the profile again.")
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()  # Ctrl-C here ends the run there
            raise

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
