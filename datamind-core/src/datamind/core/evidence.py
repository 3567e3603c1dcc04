"""What an answer rests on, and the answer itself."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from datamind.core import notebook
from datamind.core.receipts import IngestReceipt
from datamind.core.record import Record
from datamind.core.result_table import ResultTable
from datamind.core.results import RunResult
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, content_hash, derived_id


class TextLocator(Record):
    """A character span ``[start, end)`` of the stored source text."""

    type: Literal["text"] = "text"
    start: int
    end: int
    page: int | None = None
    heading: str = ""


class TableLocator(Record):
    """Cells of a table and the statement that read them.

    Attributes:
        kinds: What each column holds, as ``TableColumn.kind``.
        data_versions: Version of each table when the statement ran.
    """

    type: Literal["table"] = "table"
    tables: tuple[str, ...]
    columns: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    row_key: str = ""
    statement: str = ""
    parameters: tuple[Any, ...] = ()
    result_hash: str = ""
    data_versions: dict[str, str] = Field(default_factory=dict)


class TripleLocator(Record):
    """One statement of the graph, in N-Triples terms.

    Attributes:
        names: What subject, predicate and object are called; empty if nobody asked.
    """

    type: Literal["triple"] = "triple"
    subject: str
    predicate: str
    object: str
    names: tuple[str, ...] = ()


class MemoryLocator(Record):
    """A remembered item."""

    type: Literal["memory"] = "memory"
    memory_id: str


class SkillLocator(Record):
    """A skill, and the character span of its body when a part is cited."""

    type: Literal["skill"] = "skill"
    name: str
    start: int | None = None
    end: int | None = None


class ToolLocator(Record):
    """The output of a utility: what was computed from which arguments.

    Attributes:
        repeatable: False for a clock or anything random; ``verify`` then says ``not repeatable``.
    """

    type: Literal["tool"] = "tool"
    tool: str
    arguments: dict[str, Any]
    repeatable: bool = True


Locator = Annotated[
    TextLocator | TableLocator | TripleLocator | MemoryLocator | SkillLocator | ToolLocator,
    Field(discriminator="type"),
]


class Evidence(Record):
    """One retrieved piece, resolvable to stored bytes.

    Attributes:
        receipt_ids: All receipts the content rests on, oldest first; empty for what was never written through DataMind.
        content: Exactly the stored bytes the locator names, as text.
        score: Best first within one call; never compared across different ``score_meaning``.
        note: What a reader should know beside the content, such as "preference, until 2026-05-01".
    """

    evidence_id: str
    surface: DataSurface
    source: SourceRef
    receipt_ids: tuple[str, ...] = ()
    locator: Locator
    content: str
    content_hash: str
    score: float | None = None
    score_meaning: str = ""
    note: str = ""

    @classmethod
    def of(
        cls,
        surface: DataSurface,
        source: SourceRef,
        locator: Locator,
        content: str,
        *,
        receipt_ids: tuple[str, ...] = (),
        score: float | None = None,
        score_meaning: str = "",
        note: str = "",
    ) -> Evidence:
        """Evidence whose id follows from what it shows, so that the same span found twice is one."""
        hashed = content_hash(content)
        return cls(
            evidence_id=derived_id("ev", source.source_id, locator.model_dump_json(), hashed),
            surface=surface,
            source=source,
            receipt_ids=receipt_ids,
            locator=locator,
            content=content,
            content_hash=hashed,
            score=score,
            score_meaning=score_meaning,
            note=note,
        )

    def table(self) -> ResultTable | None:
        """The rows that it shows, if it is of tables."""
        if not isinstance(self.locator, TableLocator):
            return None
        found = json.loads(self.content)
        rows = tuple(tuple(row) for row in found["rows"])
        return ResultTable(tuple(found["columns"]), rows, self.locator.kinds)


class Citation(Record):
    """One ``[n]`` of an answer, resolved by code.

    Attributes:
        claim: The sentence or phrase the marker stands behind.
        supported: Its quotations and numbers occur in the cited evidence.
        unsupported: The quotations and numbers that do not.
    """

    number: int
    evidence_id: str
    claim: str
    supported: bool
    unsupported: tuple[str, ...] = ()


class Claims(Record):
    """How many cited claims hold."""

    supported: int = 0
    unsupported: int = 0
    stale: int = 0


class InferenceResult(RunResult):
    """What ``query`` returns.

    Attributes:
        answer: Text with markers ``[n]``; every remaining marker has a citation.
        evidence: In the order of first retrieval; ``[n]`` is position n, from 1.
    """

    evidence: tuple[Evidence, ...] = ()
    citations: tuple[Citation, ...] = ()
    receipts: tuple[IngestReceipt, ...] = ()
    claims: Claims = Claims()

    @property
    def tables(self) -> tuple[ResultTable, ...]:
        """The rows of each piece of evidence that is of tables, in its order."""
        found = (item.table() for item in self.evidence)
        return tuple(table for table in found if table is not None)

    def __str__(self) -> str:
        return notebook.answer_text(self)

    def _repr_html_(self) -> str:
        return notebook.answer_html(self)
