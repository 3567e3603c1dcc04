"""Any sequence of messages, repaired."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from datamind.agent.evidence import uncited
from datamind.agent.history import INTERRUPTED, repair
from datamind.core.messages import (
    MediaBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    ToolResultBlock,
)
from datamind.testing.conformance.loop_checks import assert_valid

ids = st.sampled_from(["", "a", "b", "c", "a_2", "call_2", "\ud800"])
words = st.sampled_from(["", "hi", "网关 [1]", "x\ud800", "[2]"])
blocks = st.one_of(
    words.map(lambda text: TextBlock(text=text)),
    ids.map(lambda own: ToolCallBlock(call=ToolCall(id=own, name="look"))),
    st.tuples(ids, st.integers(0, 99)).map(
        lambda pair: ToolResultBlock(call_id=pair[0], name="look", content=f'{{"n": {pair[1]}}}')
    ),
    st.just(ThinkingBlock(provider="p", payload={"n": 1})),
    st.just(MediaBlock(media_type="image/png", data=b"x")),
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool"]),
    blocks=st.lists(blocks, max_size=5).map(tuple),
)
histories = st.lists(messages, max_size=8)


@given(histories)
def test_the_result_is_valid_and_repairing_it_again_changes_nothing(history: list[Message]) -> None:
    fixed = repair(history)
    if fixed:
        assert_valid(fixed)
        assert fixed[0].role == "user"
    assert repair(fixed) == fixed
    ids_of_calls = [call.id for message in fixed for call in message.calls]
    assert len(set(ids_of_calls)) == len(ids_of_calls) and "" not in ids_of_calls


@given(histories)
def test_nothing_is_invented(history: list[Message]) -> None:
    given_results = Counter(result.content for message in history for result in message.results)
    kept = Counter(result.content for message in repair(history) for result in message.results)
    del kept[INTERRUPTED]
    assert kept <= given_results
    given_calls = sum(len(message.calls) for message in history if message.role == "assistant")
    assert sum(len(message.calls) for message in repair(history)) <= given_calls
    assert {m.role for m in repair(history)} <= {m.role for m in history} | {"tool"}


@given(histories)
def test_a_repaired_history_can_be_stored_and_sent(history: list[Message]) -> None:
    for message in repair(history):
        message.model_dump_json().encode("utf-8")


@given(histories)
def test_taking_the_numbers_away_keeps_a_history_valid(history: list[Message]) -> None:
    fixed = repair(history)
    assert repair([uncited(message) for message in fixed]) == tuple(uncited(message) for message in fixed)
