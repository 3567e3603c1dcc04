"""DataMind without await, for scripts and notebooks: ``import datamind as dm; with dm.open("demo") as d: …``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from datamind.agent import build_datamind
from datamind.agent.direct import IngestSource
from datamind.agent.facade import DataMind
from datamind.capabilities.control.trace import Trace
from datamind.config.settings import Settings
from datamind.core.evidence import InferenceResult
from datamind.core.protocols.agent import Approver
from datamind.core.receipts import IngestReceipt, StoreResult


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
    """The facade on an event loop of its own; every method blocks until it is done."""

    def __init__(self, settings: Settings, *, approver: Approver | None = None) -> None:
        self._stack = ExitStack()
        self._portal: BlockingPortal = self._stack.enter_context(start_blocking_portal())
        try:
            self._system: DataMind = self._portal.call(lambda: build_datamind(settings, approver=approver))
        except BaseException:
            self._stack.close()
            raise
        self._stack.callback(self._portal.call, self._system.aclose)

    def ingest(self, source: IngestSource, **options: Any) -> StoreResult:
        """See ``DataMind.ingest``."""
        return self._portal.call(lambda: self._system.ingest(source, **options))

    def query(self, question: str, **options: Any) -> InferenceResult:
        """See ``DataMind.query``."""
        return self._portal.call(lambda: self._system.query(question, **options))

    def add(self, source: str | Path | Sequence[Path] | Sequence[Mapping[str, Any]], **options: Any) -> StoreResult:
        """``ingest`` by its short name."""
        return self.ingest(source, **options)

    def ask(self, question: str, **options: Any) -> InferenceResult:
        """``query`` by its short name."""
        return self.query(question, **options)

    def trace(self, asked: str) -> Trace:
        """See ``DataMind.trace``."""
        return self._portal.call(lambda: self._system.trace(asked))

    def receipts(self, *, limit: int = 20) -> Sequence[IngestReceipt]:
        """The latest receipts, newest first."""
        return self._portal.call(lambda: self._system.receipts.latest(limit=limit))

    def close(self) -> None:
        """Close every store; may be called twice."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
