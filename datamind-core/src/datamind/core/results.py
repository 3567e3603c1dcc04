"""What every run of an agent reports, whatever its role."""

from __future__ import annotations

from typing import Any, Literal

from datamind.core.messages import Message, Usage
from datamind.core.record import Record
from datamind.core.types import DataSurface

StopReason = Literal[
    "end_turn",
    "max_turns",
    "max_tool_calls",
    "max_input_tokens",
    "max_output_tokens",
    "max_cost",
    "wall_clock",
    "repeated_call",
    "refusal",
    "max_tokens",
    "direct",
]
"""Why a run ended with an answer (``direct``: no model took part); a run that cannot answer raises a typed error."""


class ToolTrace(Record):
    """One tool call of a run, as it ended."""

    call_id: str
    name: str
    input: dict[str, Any]
    is_error: bool
    code: str = ""
    duration_s: float = 0.0
    evidence_ids: tuple[str, ...] = ()
    receipt_ids: tuple[str, ...] = ()


class Notice(Record):
    """Something the reader of a result must know, such as a surface that is off."""

    code: str
    message: str


class DrainReport(Record):
    """What one drain of the vectors did.

    Attributes:
        embedded: Texts that have a vector by it.
        remaining: Texts that still wait for one.
        refused: Texts that the embedding makes no vector of; they are found by words.
        notice: Why it stopped early, or why there are no vectors.
    """

    embedded: int = 0
    remaining: int = 0
    refused: int = 0
    notice: Notice | None = None


class RunResult(Record):
    """Fields that both agents' results share.

    Attributes:
        iterations: Model calls made.
        extractive: True when no language model wrote the answer.
    """

    answer: str = ""
    surfaces_used: tuple[DataSurface, ...] = ()
    tool_trace: tuple[ToolTrace, ...] = ()
    history: tuple[Message, ...] = ()
    iterations: int = 0
    stop_reason: StopReason = "end_turn"
    usage: Usage = Usage()
    model: str = ""
    extractive: bool = False
    notices: tuple[Notice, ...] = ()
    trace_id: str = ""
    duration_s: float = 0.0

    def __str__(self) -> str:
        return self.answer
