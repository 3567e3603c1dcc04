"""Any answer, resolved against any number of pieces of evidence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from datamind.agent.evidence import EvidenceNormalizer, find_markers
from datamind.core.evidence import Evidence, TextLocator
from datamind.core.outcome import ToolOutcome
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface

PIECES = st.sampled_from(
    [
        *(
            "It opens at 9",
            "周报用中文",
            " ",
            ". ",
            "。",
            "\n",
            "\n\n- ",
            "a",
            "row_of",
            "`",
            "```\n",
            "：",
            "x.",
            "2024",
        ),
        *("[1]", "[2]", "[9]", "[0]", "[1, 2]", "[1,9]", "【1】", "[123]", "[1234]", "[", "]", "(", ":", "“9”", "1. "),
    ]
)
answers = st.lists(PIECES, max_size=30).map("".join)


def holding(count: int) -> EvidenceNormalizer:
    normalizer = EvidenceNormalizer()
    texts = [f"passage {number}" for number in range(count)]
    source = SourceRef.of_text("all", profile="test")
    found = [Evidence.of(DataSurface.KB, source, TextLocator(start=0, end=len(text)), text) for text in texts]
    normalizer.add(ToolOutcome("c", "look", evidence=tuple(found)))
    return normalizer


@given(answers, st.integers(0, 3))
def test_every_marker_left_is_known_or_a_list_and_has_its_citation(answer: str, count: int) -> None:
    normalizer = holding(count)
    resolved = normalizer.resolve(answer)
    for citation in resolved.citations:
        assert normalizer.evidence[citation.number - 1].evidence_id == citation.evidence_id
        assert citation.supported is not bool(citation.unsupported)
    numbers = {citation.number for citation in resolved.citations}
    for marker in find_markers(resolved.text):
        known = [number for number in marker.numbers if number <= count]
        assert len(known) < len(marker.numbers) > 1 or set(known) <= numbers, marker


@given(answers, st.integers(0, 3))
def test_resolving_again_changes_nothing(answer: str, count: int) -> None:
    first = holding(count).resolve(answer)
    again = holding(count).resolve(first.text)
    assert (again.text, again.citations, again.claims) == (first.text, first.citations, first.claims)


@given(answers)
def test_nothing_but_markers_and_the_blanks_before_them_is_taken_out(answer: str) -> None:
    text = EvidenceNormalizer().resolve(answer).text

    def bare(words: str) -> str:
        return "".join(character for character in words if character not in " \t\n[]【】0123456789")

    assert bare(text) == bare(answer)


@given(st.text(alphabet="[]0123456789,` \n:(a_", max_size=200))
def test_any_text_is_resolved(answer: str) -> None:
    holding(2).resolve(answer)
