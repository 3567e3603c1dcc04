"""DataMind as an application uses it: what it takes, what it keeps, what it refuses."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from datamind.agent.facade import MAX_TEXT_CHARS, RetrieveAgent, StoreAgent
from datamind.core.context import RequestContext
from datamind.core.errors import InputInvalid, NotFound, StoreError, SurfaceUnavailable
from datamind.core.events import DoneEvent, ErrorEvent
from datamind.core.evidence import InferenceResult
from datamind.core.messages import Message
from datamind.core.receipts import StoreResult
from datamind.core.types import Role
from datamind.testing.models import ScriptedModel, Turn, calling
from tests.support.scripted import open_scripted
from tests.support.systems import open_system, write


async def test_text_goes_to_the_store_agent_and_a_question_to_the_retrieve_agent(tmp_path: Path) -> None:
    model = ScriptedModel([calling("memory_save", {"text": "Lunch is at noon."}), "Saved."])
    model.add(calling("memory_recall", {"query": "lunch"}), "At noon: “Lunch is at noon.” [1]")
    async with open_scripted(tmp_path, model) as system:
        stored = await system.ingest("Remember that lunch is at noon.")
        assert isinstance(stored, StoreResult)
        assert (stored.status, stored.flags, len(stored.receipts)) == ("stored", (), 1)
        answer = await system.query("When is lunch?")
        assert isinstance(answer, InferenceResult)
        assert answer.citations[0].supported
        assert answer.evidence[0].receipt_ids == (stored.receipts[0].receipt_id,)
        kept = await system.answers.get(answer.trace_id)
        assert kept is not None and kept.question == "When is lunch?"
    writers, readers = ({tool.name for tool in model.requests[n].tools} for n in (0, 2))
    assert not writers & readers
    assert "memory_save" in writers and "memory_recall" in readers


async def test_b39_saved_without_a_call_is_nothing_written(tmp_path: Path) -> None:
    model = ScriptedModel(["Saved!", "已保存。", "Nothing was saved."])
    async with open_scripted(tmp_path, model) as system:
        for flags in (("unreceipted_claim",), ("unreceipted_claim",), ()):
            result = await system.ingest("Remember that lunch is at noon.")
            assert (result.status, result.receipts, result.flags) == ("nothing_written", (), flags)
        assert await system.receipts.count() == 0


async def test_b39_saved_after_a_refused_call_is_nothing_written(tmp_path: Path) -> None:
    model = ScriptedModel([calling("memory_forget", {"query": "lunch"}), "Deleted!"])
    async with open_scripted(tmp_path, model) as system:
        for text in ("Lunch is at noon.", "Lunch is at one."):
            await write(system, "memory_save", text=text)
        result = await system.ingest("Forget lunch.")
        assert (result.status, result.flags) == ("nothing_written", ("unreceipted_claim",))
        assert [trace.code for trace in result.tool_trace] == ["approval_required"]
        said = model.requests[-1].messages[-1].results[0].content
        assert "2" in said and "noon" not in said


async def test_a21_b33_a_profile_in_the_arguments_is_refused_and_the_request_decides(tmp_path: Path) -> None:
    async with open_system(tmp_path, profile="tenant_b") as other:
        secret = await write(other, "memory_save", text="The vault code is 7-7-1.")
        memory_id = secret.receipts[0].result.ids[0]
    model = ScriptedModel([calling("memory_recall", {"query": "vault", "profile": "tenant_b"})])
    model.add(calling("memory_recall", {"query": "vault code"}), "I do not know.")
    async with open_scripted(tmp_path, model, profile="tenant_a") as system:
        result = await system.query("What is the vault code?")
        assert ("7-7-1" in result.model_dump_json()) is False
        assert [trace.code.partition(".")[0] for trace in result.tool_trace] == ["arguments_invalid", ""]
        forgotten = await write(system, "memory_forget", memory_ids=[memory_id])
        assert (forgotten.data, forgotten.receipts) == ({"matched": 0}, ())
    async with open_system(tmp_path, profile="tenant_b") as other:
        assert (await other.surfaces())[0].items == 1


async def test_a_session_goes_on_in_another_process_and_keeps_its_last_turns(tmp_path: Path) -> None:
    first = ScriptedModel([f"Answer {n}." for n in range(4)])
    async with open_scripted(tmp_path, first, memory={"short_term_turns": 2}) as system:
        for n in range(4):
            await system.query(f"Question {n}?", session="s")
        assert [message.text for message in first.requests[-1].messages] == [
            *("Question 1?", "Answer 1.", "Question 2?", "Answer 2."),
            "Question 3?",
        ]
    second = ScriptedModel(["Hello."])
    async with open_scripted(tmp_path, second, memory={"short_term_turns": 2}) as system:
        await system.query("And now?", session="s")
        await_texts = [message.text for message in second.requests[0].messages]
        assert await_texts[-3:] == ["Question 3?", "Answer 3.", "And now?"]


async def test_sessions_and_roles_do_not_share_a_conversation(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: Turn("Hello."))
    async with open_scripted(tmp_path, model) as system:
        await system.query("In s.", session="s")
        for again in (system.query("In t.", session="t"), system.ingest("In s, to store.", session="s")):
            await again
            assert len(model.requests[-1].messages) == 1


async def test_b34_numbers_of_the_turn_before_cite_nothing_in_this_one(tmp_path: Path) -> None:
    model = ScriptedModel([calling("memory_recall", {"query": "lunch"}), "At noon [1].", "At noon, as said [1]."])
    model.add(calling("memory_recall", {"query": "dinner"}), "At seven [1].")
    async with open_scripted(tmp_path, model) as system:
        await write(system, "memory_save", text="Lunch is at noon.")
        await write(system, "memory_save", text="Dinner is at seven.")
        assert len((await system.query("When is lunch?", session="s")).citations) == 1
        again = await system.query("Sure?", session="s")
        assert (again.answer, again.citations) == ("At noon, as said.", ())
        last = await system.query("And dinner?", session="s")
        cited = next(item for item in last.evidence if item.evidence_id == last.citations[0].evidence_id)
        assert cited.content == "Dinner is at seven."


async def test_b42_the_prefix_is_the_same_bytes_over_turns_and_builds(tmp_path: Path) -> None:
    prefixes = set()
    for _ in range(2):
        model = ScriptedModel(lambda request: Turn("Hello."))
        async with open_scripted(tmp_path, model) as system:
            await system.query("One?", session="s")
            await write(system, "memory_save", text="Something new.")
            await system.query("Two?", session="s")
        prefixes |= {(r.system.encode(), repr([t.model_dump_json() for t in r.tools])) for r in model.requests}
    assert len(prefixes) == 1


@pytest.mark.parametrize("text", ["", " \n\t", "\u3000", "x" * (MAX_TEXT_CHARS + 1), "half \ud800"])
async def test_text_that_says_nothing_or_too_much_is_refused(tmp_path: Path, text: str) -> None:
    model = ScriptedModel()
    async with open_scripted(tmp_path, model) as system:
        for attempt in (system.ingest(text), system.query(text), anext(system.stream(text))):
            with pytest.raises(InputInvalid):
                await attempt
        assert model.requests == []


@pytest.mark.parametrize("arguments", [{"text": date(2026, 5, 1)}, {"text": {1, 2}}, {("a", "b"): 1}])
async def test_arguments_that_json_has_no_form_for_are_the_callers_mistake(
    tmp_path: Path, arguments: Mapping[str, Any]
) -> None:
    async with open_scripted(tmp_path, ScriptedModel()) as system:
        with pytest.raises(InputInvalid, match="memory_save"):
            await system.call("memory_save", arguments, role=Role.STORE)


async def test_a_context_of_the_other_role_opens_nothing(tmp_path: Path) -> None:
    async with open_scripted(tmp_path, ScriptedModel()) as system:
        ctx = RequestContext(system.profile.name, Role.RETRIEVE)
        for role, tool, context in (
            (Role.STORE, "memory_save", ctx),
            (Role.RETRIEVE, "memory_list", replace(ctx, role=Role.STORE)),
        ):
            outcome = await system.call(tool, {"text": "x"} if role is Role.STORE else {}, role=role, ctx=context)
            assert (outcome.denied, outcome.code) == (True, "access_denied.role")


async def test_a_failing_record_of_the_answer_is_one_error_event(tmp_path: Path) -> None:
    async with open_scripted(tmp_path, ScriptedModel(["Hello."])) as system:
        with sqlite3.connect(tmp_path / "storage" / "default" / "control.db") as connection:
            connection.execute("DROP TABLE answers")
        events = [event async for event in system.stream("Well?")]
        assert [isinstance(event, DoneEvent | ErrorEvent) for event in events] == [False] * (len(events) - 1) + [True]
        assert isinstance(events[-1], ErrorEvent) and events[-1].code == "store_error"


async def test_beside_a_store_that_does_not_open_the_others_serve(tmp_path: Path) -> None:
    async with open_scripted(tmp_path, ScriptedModel()) as system:
        await write(system, "memory_save", text="Lunch is at noon.")
        await write(system, "kb_add_text", text="Dinner is at seven.")
    with closing(sqlite3.connect(tmp_path / "storage" / "default" / "memory.db")) as database:
        database.execute("PRAGMA user_version = 99")  # of a later DataMind
    model = ScriptedModel([calling("kb_search", {"query": "dinner"}), "“Dinner is at seven.” [1]"])
    async with open_scripted(tmp_path, model) as system:
        status = {surface.surface: surface for surface in await system.surfaces()}
        assert (status["memory"].available, status["kb"].available) == (False, True)
        assert "memory" in status["memory"].note
        result = await system.query("When is dinner?")
        assert result.citations[0].supported


async def test_a_path_that_is_refused_beside_one_that_is_stored_makes_a_partial_result(tmp_path: Path) -> None:
    good, link = tmp_path / "in" / "a.md", tmp_path / "in" / "b.md"
    good.parent.mkdir()
    good.write_text("Dinner is at seven.")
    link.symlink_to("/etc/hostname")
    async with open_scripted(tmp_path / "base", ScriptedModel()) as system:
        result = await system.ingest([good, link])
        assert (result.status, len(result.receipts)) == ("partial", 1)
        assert [trace.is_error for trace in result.tool_trace] == [False, True]


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ([], InputInvalid),
        ([Path("a"), {"b": 1}], (InputInvalid, NotFound)),
        (Path("nowhere-to-be-found.md"), NotFound),
        ([{"id": 1}], SurfaceUnavailable),
        ([1, 2], InputInvalid),
    ],
)
async def test_what_cannot_be_stored_directly_is_said_before_anything_is_written(
    tmp_path: Path, source: Any, error: Any
) -> None:
    async with open_scripted(tmp_path, ScriptedModel(), without=["db-duckdb"]) as system:
        with pytest.raises(error):
            await system.ingest(source)
        assert await system.receipts.count() == 0


def test_each_agent_alone_has_the_methods_of_its_half() -> None:
    def methods(agent: type) -> set[str]:
        return {name for name in vars(agent) if not name.startswith("_")}

    assert methods(StoreAgent) == {"ingest", "aclose"}
    assert methods(RetrieveAgent) == {"query", "aclose"}


async def test_closing_twice_is_fine(tmp_path: Path) -> None:
    async with open_scripted(tmp_path, ScriptedModel(["Hello."])) as system:
        await system.query("Well?")
        await system.aclose()
        await system.aclose()


async def test_many_questions_at_once_do_not_mix(tmp_path: Path) -> None:
    def script(request: Any) -> Turn:
        word = request.messages[0].text
        return calling("memory_recall", {"query": word}) if len(request.messages) == 1 else Turn(f"{word} [1]")

    async with open_scripted(tmp_path, ScriptedModel(script)) as system:
        words = ("ant", "bee", "cow", "dog", "elk")
        for word in words:
            await write(system, "memory_save", text=word)
        results = await asyncio.gather(*map(system.query, words))
        for word, result in zip(words, results, strict=True):
            assert [item.content for item in result.evidence] == [word]
        assert len({result.trace_id for result in results}) == 5


async def test_history_given_by_the_application_is_used_instead(tmp_path: Path) -> None:
    model = ScriptedModel(["First.", "Second."])
    async with open_scripted(tmp_path, model) as system:
        first = await system.query("One?")
        await system.query("Two?", history=first.history)
        assert [message.text for message in model.requests[1].messages] == ["One?", "First.", "Two?"]
        assert model.requests[1].messages[-1] == Message.user("Two?")


async def test_store_errors_of_a_turn_are_typed(tmp_path: Path) -> None:
    async with open_scripted(tmp_path, ScriptedModel(["Hello."])) as system:
        with sqlite3.connect(tmp_path / "storage" / "default" / "control.db") as connection:
            connection.execute("DROP TABLE answers")
        with pytest.raises(StoreError):
            await system.query("Well?")


async def test_a_role_may_be_given_by_its_name_and_an_unknown_one_is_told(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        outcome = await system.call("memory_save", {"text": "Lunch is at noon."}, role="store")
        assert len(outcome.receipts) == 1
        with pytest.raises(InputInvalid, match="'reader' is neither 'store' nor 'retrieve'"):
            await system.call("memory_recall", {"query": "lunch"}, role="reader")  # type: ignore[arg-type]
