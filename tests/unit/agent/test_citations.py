"""Numbers of evidence and markers of answers: what counts, what is removed, what is checked."""

from __future__ import annotations

import json

import pytest

from datamind.agent.evidence import EvidenceNormalizer, find_markers, uncited, unsupported_parts
from datamind.core.evidence import Evidence, TextLocator
from datamind.core.messages import Message, TextBlock, ToolResultBlock
from datamind.core.outcome import ToolOutcome
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface


def evidence(text: str, note: str = "") -> Evidence:
    source = SourceRef.of_text(text, profile="test")
    return Evidence.of(DataSurface.KB, source, TextLocator(start=0, end=len(text)), text, note=note)


def holding(*texts: str) -> EvidenceNormalizer:
    normalizer = EvidenceNormalizer()
    normalizer.add(ToolOutcome("c", "look", evidence=tuple(evidence(text) for text in texts)))
    return normalizer


OFFICE = ("The office opens at 9.", "The office closes at 17.", "周报用中文。")


def cited(answer: str, *texts: str) -> list[tuple[int, str]]:
    return [(citation.number, citation.claim) for citation in holding(*(texts or OFFICE)).resolve(answer).citations]


def test_numbers_follow_first_retrieval_and_the_same_span_has_one_number() -> None:
    normalizer = EvidenceNormalizer()
    a, b, c = evidence("a"), evidence("b"), evidence("c")
    first = json.loads(normalizer.add(ToolOutcome("1", "look", evidence=(b, a))))
    second = json.loads(normalizer.add(ToolOutcome("2", "look", evidence=(a, c))))
    assert [row["cite"] for row in first["results"]] == [1, 2]
    assert [row["cite"] for row in second["results"]] == [2, 3]
    assert normalizer.evidence == [b, a, c]


def test_b34_an_unknown_marker_is_removed_and_reported() -> None:
    resolved = holding(*OFFICE).resolve("It opens at 9 [9] and closes at 17 [2].")
    assert resolved.text == "It opens at 9 and closes at 17 [2]."
    assert [(notice.code, "[9]" in notice.message) for notice in resolved.notices] == [("citation.unknown", True)]
    assert [citation.number for citation in resolved.citations] == [2]


def test_b34_without_evidence_every_marker_is_unknown() -> None:
    resolved = EvidenceNormalizer().resolve("Nothing here[1], nor there [2].")
    assert (resolved.text, resolved.citations, len(resolved.notices)) == ("Nothing here, nor there.", (), 2)


@pytest.mark.parametrize(
    "text",
    [
        "The first is a[0], then a[1] and x[2].",
        "Read `items[1]` and\n```\nrows[2] = 3\n```\nthere.",
        "Read ~~~\nrows[1]\n",
        "Published in [2024], in [1999].",
        "See [1](https://example.org/a) and [2](b.md).",
        "See below.\n[1]: https://example.org\n  [2]: b",
        "It is row_of[1].",
        "It is rows[1].name, rows[2] = 4 and rows[1](x).",
        "Between [0, 1] and [2, 99].",
        "An empty [] and a [name].",
        "[0] is the first.",
        "[1234] is long.",
    ],
)
def test_what_is_no_marker_is_left_alone(text: str) -> None:
    resolved = holding(*OFFICE).resolve(text)
    assert (resolved.text, resolved.citations, resolved.notices) == (text.strip(), (), ())


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("It opens at 9[1].", "It opens at 9[1]."),
        ("It opens at nine[1], Oslo's[2].", "It opens at nine[1], Oslo's[2]."),
        ("It opens at 9 [1, 2].", "It opens at 9 [1][2]."),
        ("It opens at 9 [1，3]。", "It opens at 9 [1][3]。"),
        ("周报用中文【3】。", "周报用中文[3]。"),
        ("周报用中文［3］。", "周报用中文[3]。"),
        ("周报用中文【8】。", "周报用中文。"),
    ],
)
def test_markers_are_written_in_one_way(answer: str, text: str) -> None:
    assert holding(*OFFICE).resolve(answer).text == text


def test_every_marker_that_is_left_has_a_citation() -> None:
    resolved = holding(*OFFICE).resolve("It opens [1][2], it [7] closes [2]. 中文【3】。[1, 3]")
    left = [number for marker in find_markers(resolved.text) for number in marker.numbers]
    assert set(left) == {citation.number for citation in resolved.citations} == {1, 2, 3}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("It opens at 9. [1] It closes at 17. [2]", [(1, "It opens at 9."), (2, "It closes at 17.")]),
        ("It opens at 9.[1] It closes at 17.[2]", [(1, "It opens at 9."), (2, "It closes at 17.")]),
        ("It opens at 9 [1]. It closes at 17 [2].", [(1, "It opens at 9."), (2, "It closes at 17.")]),
        ("周报用中文。[3]九点开门。[1]", [(3, "周报用中文。"), (1, "九点开门。")]),
        ("周报用中文[3]。九点开门[1]。", [(3, "周报用中文。"), (1, "九点开门。")]),
        ("It opens at 9 [1] and closes at 17 [2].", [(n, "It opens at 9 and closes at 17.") for n in (1, 2)]),
        ("According to [1], it opens at 9.", [(1, "According to, it opens at 9.")]),
        ("[1] says that it opens at 9.", [(1, "says that it opens at 9.")]),
        ("Two facts:\n- it opens at 9 [1]\n- it closes at 17 [2]", [(1, "- it opens at 9"), (2, "- it closes at 17")]),
        ("Two facts:\n[1] it opens\n[2] it closes", [(1, "it opens"), (2, "it closes")]),
        ("It opens at 9.\n\n[1]", [(1, "It opens at 9.")]),
        ("No marker here. It opens at 9 [1].", [(1, "It opens at 9.")]),
        ("It opens at 9 [1][1].", [(1, "It opens at 9.")]),
    ],
)
def test_a_marker_belongs_to_the_sentence_it_stands_in_or_behind(answer: str, expected: list[tuple[int, str]]) -> None:
    assert cited(answer) == expected


@pytest.mark.parametrize(
    ("claim", "content", "missing"),
    [
        ("There are 1,200 of them", "exactly 1200 were counted", ()),
        ("There are 1200 of them", "exactly 1,200 were counted", ()),
        ("It is 50 percent", "a share of 50%", ()),
        ("占百分之50", "a share of 50%", ()),
        ("共3万人", "30,000 people", ()),
        ("It costs 1.2 million", "1,200,000 dollars", ()),
        ("It opens at 9", "open from 19 to 20", ("9",)),
        ("It was 3.5", "it was 3", ("3.5",)),
        ("It opens at 9 and closes at 18", "opens at 9", ("18",)),
        ('He said "never again"', "He said: Never  again!", ()),
        ("他说“周报用中文”", "周报 用中文。", ()),
        ("He said “twice a day”", "He said: once a day", ("twice a day",)),
        ("他说「用英文」", "周报用中文", ("用英文",)),
        ("No number and no quotation", "anything", ()),
        ("1. It opens at 9", "opens at 9", ()),
        ("- 2) It opens at 9", "opens at 9", ()),
        ("3、九点前到，9人", "9人", ()),
        ("On 2026-05-01", "since 1 May 2026, 5 people", ()),
    ],
)
def test_quotations_and_numbers_are_looked_up_in_what_is_cited(
    claim: str, content: str, missing: tuple[str, ...]
) -> None:
    assert unsupported_parts(claim, [evidence(content)]) == missing


def test_a_number_of_the_note_is_supported() -> None:
    assert unsupported_parts("Oslo until 2026", [evidence("lives in Oslo", "fact; until 2026-05-01")]) == ()


def test_a_claim_may_rest_on_several_pieces_together() -> None:
    resolved = holding(*OFFICE).resolve("It opens at 9 and closes at 17 [1][2].")
    assert [citation.supported for citation in resolved.citations] == [True, True]
    assert (resolved.claims.supported, resolved.claims.unsupported) == (1, 0)


def test_claims_are_counted_by_sentence() -> None:
    resolved = holding(*OFFICE).resolve("It opens at 9 [1]. It closes at 18 [2][1]. 周报用中文[3]。 Uncited.")
    assert (resolved.claims.supported, resolved.claims.unsupported) == (2, 1)
    wrong = [citation for citation in resolved.citations if not citation.supported]
    assert [(citation.number, citation.unsupported) for citation in wrong] == [(2, ("18",)), (1, ("18",))]


def test_numbers_of_an_earlier_turn_are_taken_away() -> None:
    text = ToolOutcome("c", "look", data={"found": 1}, evidence=(evidence('{"cite": 5, "content": "x"'),)).to_text()
    shown = holding().add(
        ToolOutcome("c", "look", data={"found": 1}, evidence=(evidence('{"cite": 5, "content": "x"'),))
    )
    earlier = Message(role="tool", blocks=(ToolResultBlock(call_id="c", name="look", content=shown),))
    assert shown != text
    assert uncited(earlier).results[0].content == text, "and nothing of the stored text"
    said = Message.assistant("It opens at 9 [1]. `a[1]` stays.")
    assert uncited(said).text == "It opens at 9. `a[1]` stays."
    asked = Message.user("What does [1] mean?")
    assert uncited(asked) is asked
    only = Message(role="assistant", blocks=(TextBlock(text="[1]"),))
    assert uncited(only).text == "[1]", "a message is not emptied"


def test_brackets_in_brackets_do_not_leave_an_unknown_marker_or_take_long() -> None:
    normalizer = holding(*OFFICE)
    assert normalizer.resolve("x [[9]8] y [[9]1].").text == "x (8) y [1]."
    resolved = normalizer.resolve("[9" * 20_000 + "9]" * 20_000)
    assert all(number <= 3 for marker in find_markers(resolved.text) for number in marker.numbers)
