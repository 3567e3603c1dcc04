"""Repair: whatever a history looks like, each call has exactly one result next, and nothing is invented."""

from __future__ import annotations

import pytest

from datamind.agent.history import INTERRUPTED, compacted, repair
from datamind.core.messages import (
    Block,
    MediaBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    ToolResultBlock,
)
from datamind.testing.conformance.loop_checks import assert_valid

ASK = Message.user("Which gateway?")


def call(call_id: str, name: str = "look") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments="{}")


def asking(*ids: str) -> Message:
    return Message.assistant("", tuple(call(call_id) for call_id in ids))


def result(call_id: str, content: str = "{}") -> ToolResultBlock:
    return ToolResultBlock(call_id=call_id, name="look", content=content)


def tool(*results: ToolResultBlock) -> Message:
    return Message(role="tool", blocks=results)


def repaired(*messages: Message) -> tuple[Message, ...]:
    fixed = repair((ASK, *messages))
    assert_valid(fixed)
    assert repair(fixed) == fixed
    return fixed[1:]


def test_a_valid_history_comes_back_equal() -> None:
    thinking = ThinkingBlock(provider="p", payload={"signature": "s"})
    asked = Message(role="assistant", blocks=(thinking, TextBlock(text="Hm."), ToolCallBlock(call=call("a"))))
    valid = (ASK, asked, tool(result("a")), Message.assistant("It restarts."), Message.user("And now?"))
    assert repair(valid) == valid


def test_b1_a_call_without_a_result_is_told_that_it_may_have_completed() -> None:
    _, answered = repaired(asking("a", "b"), tool(result("a", "found")))
    assert [(block.call_id, block.content, block.is_error) for block in answered.results] == [
        ("a", "found", False),
        ("b", INTERRUPTED, True),
    ]


def test_b1_a_turn_cut_off_after_its_calls_is_closed_before_the_next_words() -> None:
    fixed = repaired(asking("a"), Message.user("hi"))
    assert [message.role for message in fixed] == ["assistant", "tool", "user"]
    assert [message.role for message in repaired(asking("a"))] == ["assistant", "tool"]


def test_results_without_a_call_and_second_results_are_dropped() -> None:
    fixed = repaired(
        tool(result("x")), asking("a"), tool(result("a", "1"), result("a", "2"), result("b")), tool(result("a"))
    )
    assert fixed == (asking("a"), tool(result("a", "1")))


def test_results_come_back_in_call_order() -> None:
    assert repaired(asking("a", "b"), tool(result("b", "2"), result("a", "1"))) == (
        asking("a", "b"),
        tool(result("a", "1"), result("b", "2")),
    )


def test_results_spread_over_several_messages_belong_to_their_calls() -> None:
    assert repaired(asking("a", "b"), tool(result("a", "1")), tool(result("b", "2"))) == (
        asking("a", "b"),
        tool(result("a", "1"), result("b", "2")),
    )


def test_a_late_result_behind_other_words_is_not_taken_for_an_answer() -> None:
    _, answered, _ = repaired(asking("a"), Message.user("hi"), tool(result("a", "late")))
    assert answered.results[0].content == INTERRUPTED


@pytest.mark.parametrize("ids", [("", ""), ("x", "x"), ("", "call_2", "")])
def test_b5_calls_of_one_id_get_ids_and_results_of_their_own(ids: tuple[str, ...]) -> None:
    results = [result(call_id, f"result {number}") for number, call_id in enumerate(ids)]
    asked, answered = repaired(asking(*ids), tool(*results))
    assert len({entry.id for entry in asked.calls} | {""}) == len(ids) + 1
    assert [block.content for block in answered.results] == [f"result {number}" for number in range(len(ids))]


def test_b5_an_id_used_in_two_turns_is_unique_afterwards() -> None:
    fixed = repaired(asking("a"), tool(result("a", "1")), Message.assistant("Hm."), asking("a"), tool(result("a", "2")))
    ids = [entry.id for message in fixed for entry in message.calls]
    assert len(set(ids)) == 2
    assert ids[0] == "a", "what is unique stays as it is"
    assert fixed[-1].results[0].content == "2"


def test_blocks_of_another_party_and_empty_messages_are_dropped() -> None:
    forged = Message(role="user", blocks=(TextBlock(text="hi"), result("a", "forged"), ToolCallBlock(call=call("z"))))
    only_results = Message(role="user", blocks=(result("a"),))
    mixed = Message(
        role="assistant", blocks=(TextBlock(text=""), result("b"), MediaBlock(media_type="image/png", data=b""))
    )
    assert repaired(forged, only_results, mixed, Message(role="assistant", blocks=())) == (Message.user("hi"),)


def test_a_window_that_begins_in_the_middle_of_a_turn_begins_at_the_next_user_message() -> None:
    window = (tool(result("a")), Message.assistant("So."), ASK, Message.assistant("Yes."))
    assert repair(window) == window[2:]
    assert repair(window[:2]) == ()


@pytest.mark.parametrize(
    "block",
    [
        TextBlock(text="a\ud800b"),
        ToolCallBlock(call=ToolCall(id="\udc00", name="lo\ud800ok", arguments='{"q": "\ud800"}')),
    ],
)
def test_a20_half_a_surrogate_pair_does_not_stay(block: Block) -> None:
    fixed = repaired(Message(role="assistant", blocks=(block,)))
    for message in fixed:
        message.model_dump_json().encode("utf-8")


def test_a20_a_result_still_finds_its_call_when_the_id_was_no_text() -> None:
    _, answered = repaired(asking("a\ud800"), tool(result("a\ud800", "found")))
    assert answered.results[0].content == "found"


def test_a_long_history_keeps_its_last_whole_turns() -> None:
    turns = [
        (Message.user(f"Question {n}?"), asking(f"c{n}"), tool(result(f"c{n}", "x" * 3000)), Message.assistant("So."))
        for n in range(10)
    ]
    history = tuple(message for turn in turns for message in turn)
    size = sum(len(block.model_dump_json()) for message in turns[0] for block in message.blocks)
    kept = compacted(history, (3 * size + 100) // 3)
    assert kept == history[-12:]
    assert_valid(kept)
    assert compacted(history, 10**6) == history
    assert compacted(history, 10) == ()
    assert compacted(kept, (3 * size + 100) // 3) == kept


def test_a_picture_counts_by_what_it_costs_and_not_by_its_bytes() -> None:
    picture = Message(role="user", blocks=(MediaBlock(media_type="image/png", data=b"x" * 1_000_000),))
    assert compacted((picture, Message.assistant("A lamp.")), 3_000)[0] == picture
