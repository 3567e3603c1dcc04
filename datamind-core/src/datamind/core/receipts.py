"""What a write returns: computed by code from the store, never from a model's words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from datamind.core import notebook
from datamind.core.record import Instant, Record
from datamind.core.results import RunResult
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, new_id

WriteStatus = Literal["stored", "unchanged", "partial", "failed", "denied"]
StoreStatus = Literal["stored", "unchanged", "partial", "failed", "nothing_written"]
RevertKind = Literal["exact", "restores_previous", "none"]


class RejectedRow(Record):
    """A row that was not stored; its text is never repeated here.

    Attributes:
        line: Line in the source, from 1.
    """

    line: int
    code: str


class Detected(Record):
    """What was found out about a source while reading it.

    Attributes:
        escape: What stands before a quote inside quotes, where that is not another quote.
        header: Whether the first record of a table named its columns; None where the format says so itself.
        columns: Name of each column to its type as it is stored.
        sheet: The sheet of a workbook that was read.
        other_sheets: Those that hold something too and were not.
    """

    encoding: str = ""
    delimiter: str = ""
    escape: str = ""
    header: bool | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    sheet: str = ""
    other_sheets: tuple[str, ...] = ()
    media_type: str = ""
    language: str = ""
    rejected: tuple[RejectedRow, ...] = ()
    rejected_total: int = 0
    renamed: dict[str, str] = Field(default_factory=dict)


class WriteError(Record):
    """Why a write failed."""

    code: str
    message: str
    retryable: bool = False


class SurfaceWriteResult(Record):
    """What one write did to one surface.

    Attributes:
        operation: ``added``, ``replaced``, ``superseded``, ``updated``, ``deleted``, ``forgotten`` or ``none``.
        ids: Ids of what was written or removed, at most 1,000; ``items_written`` is the full count.
        closed_ids: Ids of earlier versions this write closed.
        version: Version of the store or table after the write, where it has one.
    """

    surface: DataSurface
    operation: str
    status: WriteStatus
    items_written: int = 0
    ids: tuple[str, ...] = ()
    closed_ids: tuple[str, ...] = ()
    version: str = ""
    detected: Detected = Detected()
    error: WriteError | None = None
    revert: RevertKind = "none"


class IngestReceipt(Record):
    """Proof of one write on one surface; returned after the store has synced and was read back.

    Attributes:
        receipt_id: ``rcpt_<26 characters>.<profile>``: it names the profile whose control.db holds it.
        started_at: When the intent became durable.
        completed_at: When the store had synced and the read-back agreed.
        read_back: What the read-back saw; empty when the write changed nothing.
    """

    receipt_id: str
    idempotency_key: str
    trace_id: str
    tool: str
    source: SourceRef | None
    started_at: Instant
    completed_at: Instant
    result: SurfaceWriteResult
    read_back: str = ""

    @property
    def status(self) -> WriteStatus:
        """Status of the surface write."""
        return self.result.status

    @property
    def profile(self) -> str:
        """Profile whose control.db holds the receipt."""
        return profile_of_receipt(self.receipt_id)

    def __str__(self) -> str:
        return notebook.receipt_text(self)

    def _repr_html_(self) -> str:
        return notebook.receipts_html((self,))


def new_receipt_id(profile: str) -> str:
    """A fresh receipt id that names its profile."""
    return f"{new_id('rcpt')}.{profile}"


def profile_of_receipt(receipt_id: str) -> str:
    """Profile named by a receipt id; empty if it names none."""
    return receipt_id.partition(".")[2]


def overall_status(results: Iterable[SurfaceWriteResult]) -> StoreStatus:
    """Status of a run from the results of its writes; nothing at all is ``nothing_written``.

    ``stored`` needs at least one stored write and no failure; a failure or denial beside a success is ``partial``.
    """
    seen = {result.status for result in results}
    good, bad = seen & {"stored", "unchanged"}, seen & {"failed", "denied"}
    if not seen or seen == {"denied"}:
        return "nothing_written"
    if "partial" in seen or (good and bad):
        return "partial"
    if bad:
        return "failed"
    return "stored" if "stored" in seen else "unchanged"


class SkippedFile(Record):
    """A file or folder that was met while storing and not stored.

    Attributes:
        path: Inside the folder that was named, or the path itself.
        code: ``skipped.<reason>``, or ``surface_off.<surface>`` when nothing installed takes it.
    """

    path: str
    code: str


class StoreResult(RunResult):
    """What ``ingest`` returns.

    Attributes:
        status: From receipts and read-backs alone.
        skipped: What was passed over in the folders that were named; nothing of it was written.
        gone: Uris of files that a folder held before and holds no longer; what they gave is still stored.
        flags: ``unreceipted_claim`` when the agent's words say something was saved and no receipt does.
        approvals: Ids of tickets that wait for a person.
    """

    status: StoreStatus
    receipts: tuple[IngestReceipt, ...] = ()
    flags: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    gone: tuple[str, ...] = ()

    def __str__(self) -> str:
        return notebook.store_text(self)

    def _repr_html_(self) -> str:
        return notebook.store_html(self)
