"""The page of a saved answer stays as it is within its format."""

from __future__ import annotations

from hashlib import sha256

from datamind.core.evidence import Citation, Claims, Evidence, InferenceResult, TextLocator
from datamind.core.saved_page import to_html
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface
from datamind.core.verification import SavedAnswer, Surroundings

SOURCE = SourceRef.of_content("text", "text:one", b"x", media_type="text/plain", profile="p", origin="user")


def saved() -> SavedAnswer:
    item = Evidence.of(DataSurface.KB, SOURCE, TextLocator(start=4, end=27), "The torch hangs outside.", note="Tools")
    claim = "The torch hangs outside."
    result = InferenceResult(
        answer=f"{claim} [1]",
        evidence=(item,),
        citations=(Citation(number=1, evidence_id=item.evidence_id, claim=claim, supported=True),),
        claims=Claims(supported=1),
        trace_id="trace_1",
        model="m",
    )
    around = {item.evidence_id: Surroundings(before="Now ", after=" Go on.")}
    return SavedAnswer(
        profile="p", question="Where?", answered_at="2026-04-01T08:00:00Z", result=result, surroundings=around
    )


def test_a_page_drawn_otherwise_has_another_format() -> None:
    """Pages that people keep are compared with what is drawn from their data: see ``SavedAnswer.format``."""
    page = to_html(saved())
    assert (saved().format, sha256(page.encode()).hexdigest()[:16]) == ("datamind.answer/1", "8d6f0a13999b1e5c")


def test_the_words_of_the_claim_are_marked_in_their_surroundings() -> None:
    assert '<span class="around">Now </span><mark>The torch hangs outside</mark>.' in to_html(saved())
