"""An answer as it is saved to a file, and what looking at it again finds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from datamind.core.evidence import Claims, InferenceResult
from datamind.core.receipts import IngestReceipt
from datamind.core.record import Instant, Record

CitationState = Literal["intact", "stale", "changed", "gone", "not_repeatable"]
"""``intact``: it is there as it was cited. ``stale``: its source was replaced, and the old text is still held.
``changed``: it says something else now. ``gone``: it is on no read path. ``not_repeatable``: a clock, chance or rows
without an order; nothing can be said."""


class Surroundings(Record):
    """The text of a source just before and just after a cited span."""

    before: str = ""
    after: str = ""


class SavedAnswer(Record):
    """An answer with everything that is needed to read it, and to verify it later.

    Attributes:
        format: Another page, or other fields, is another format.
        profile: The profile that keeps the answer; it is verified against this one.
        result: As it was returned, without the history.
        receipts: Those that the cited evidence rests on, oldest first.
        surroundings: By evidence id, of what is cited from texts.
    """

    format: Literal["datamind.answer/1"] = "datamind.answer/1"
    profile: str
    question: str
    session: str = ""
    answered_at: Instant
    result: InferenceResult
    receipts: tuple[IngestReceipt, ...] = ()
    surroundings: dict[str, Surroundings] = Field(default_factory=dict)


class CitationCheck(Record):
    """One citation, looked at again.

    Attributes:
        supported: The quotations and numbers of the claim occur in the cited evidence, as saved.
        detail: What differs; empty when nothing does.
    """

    number: int
    evidence_id: str
    claim: str
    state: CitationState
    supported: bool
    detail: str = ""


class Verification(Record):
    """What ``verify`` found.

    Attributes:
        problems: What is wrong with the saved answer itself: it differs from the one that was given, or cannot be
            compared with it.
        claims: Each claim once. One that rests on something changed or gone is not supported any more.
    """

    trace_id: str
    profile: str
    question: str
    answered_at: Instant
    problems: tuple[str, ...] = ()
    citations: tuple[CitationCheck, ...] = ()
    claims: Claims = Claims()

    @property
    def is_ok(self) -> bool:
        """The answer is the one that was given, every claim is supported, and nothing it cites has changed."""
        held = all(check.supported and check.state in ("intact", "not_repeatable") for check in self.citations)
        return held and not self.problems
