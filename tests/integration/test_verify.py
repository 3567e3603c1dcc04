"""Saved answers, verified later: what was changed, replaced, removed or cannot be repeated is named."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from datamind.agent import DataMind
from datamind.core.errors import InputInvalid, NotFound
from datamind.core.saved_page import read_saved, to_html, to_json
from datamind.core.types import Role
from datamind.core.verification import SavedAnswer, Verification
from datamind.testing.fakes import ScriptedApprover
from tests.support.systems import open_system, write

OFFLINE: dict[str, Any] = {"llm": {"protocol": "offline"}}
HANDBOOK = "# Leave\n\nCrew get 27 days of paid leave a year.\n\n# Tools\n\nThe torch hangs beside the door.\n"
TABLE = "name,department\nIda,Deck\nBo,Deck\nCy,Engine\n"
TRIPLES = [{"subject": "Ida", "predicate": "reports_to", "object": "Cy"}]
SKILL = {"name": "moor", "description": "How to moor the ferry", "body": "Throw the bow line first, then the stern."}


def put(folder: Path, name: str, content: str) -> str:
    path = folder / "data" / "profiles" / "default" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return name


async def fill(system: DataMind, folder: Path) -> None:
    await write(system, "kb_add_file", path=put(folder, "handbook.md", HANDBOOK))
    await write(system, "db_import_csv", path=put(folder, "people.csv", TABLE))
    await write(system, "graph_upsert_triples", triples=TRIPLES)
    await write(system, "skill_upsert", **SKILL)
    await write(system, "memory_save", text="The parrot is called Moss.")


async def asked(system: DataMind, question: str) -> SavedAnswer:
    result = await system.query(question)
    assert result.citations, result.answer
    return await system.save_answer(result.trace_id)


def states(found: Verification) -> list[str]:
    return list(dict.fromkeys(check.state for check in found.citations))


QUESTIONS = {
    "text": "How many days of paid leave do crew get?",
    "table": "How many people work in the department Deck?",
    "triple": "Who does Ida report to?",
    "memory": "What is the parrot called?",
    "tool": "What is 17 * 23?",
}


async def test_what_was_not_touched_is_intact_and_the_file_says_all(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        await fill(system, tmp_path)
        saved = [await asked(system, question) for question in QUESTIONS.values()]
    async with open_system(tmp_path, **OFFLINE) as system:
        for one in saved:
            for text in (to_html(one), to_json(one)):
                file = read_saved(text.encode(), "answer")
                assert file.saved == one
                found = await system.verify(file)
                assert (found.is_ok, found.problems, states(found)) == (True, (), ["intact"]), found
                assert found.claims.supported == one.result.claims.supported
        receipts = {receipt.receipt_id for receipt in saved[0].receipts}
        assert receipts == set(saved[0].result.evidence[saved[0].result.citations[0].number - 1].receipt_ids)


async def test_b19_each_kind_of_change_is_told(tmp_path: Path) -> None:
    approver = ScriptedApprover([True] * 9)
    async with open_system(tmp_path, approver=approver, **OFFLINE) as system:
        await fill(system, tmp_path)
        saved = {kind: await asked(system, question) for kind, question in QUESTIONS.items()}
        await write(system, "kb_add_file", path=put(tmp_path, "handbook.md", HANDBOOK.replace("27", "29")))
        more = TABLE + "Di,Deck\n"
        await write(system, "db_import_csv", path=put(tmp_path, "people.csv", more), if_exists="replace")
        await write(system, "graph_delete", subject="Ida")
        await write(system, "memory_forget", query="parrot called")
        found = {kind: await system.verify(one) for kind, one in saved.items()}
        assert {kind: states(one) for kind, one in found.items()} == {
            "text": ["stale"],
            "table": ["changed"],
            "triple": ["gone"],
            "memory": ["gone"],
            "tool": ["intact"],
        }
        assert [one.is_ok for one in found.values()] == [False, False, False, False, True]
        assert found["text"].claims.stale == 1
        assert found["table"].claims.unsupported >= 1
        assert "replaced" in found["text"].citations[0].detail
        assert found["table"].citations[0].detail.startswith("row 1 was [2] and is [3]")
        await write(system, "kb_delete", source="handbook.md")
        assert states(await system.verify(saved["text"])) == ["gone"]
        await write(system, "db_drop_table", table="people")
        gone = await system.verify(saved["table"])
        assert (states(gone), gone.citations[0].detail) == (["gone"], "there is no table 'people'")


async def test_a_closed_memory_is_stale_and_a_skill_replaced_too(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        fact = {"kind": "fact", "subject": "user", "attribute": "residence", "functional": True}
        await write(system, "memory_save", text="I live in Oslo.", value="Oslo", **fact)
        await write(system, "skill_upsert", **SKILL)
        lives, moors = await asked(system, "Where do I live?"), await asked(system, "How do I moor the ferry?")
        await write(system, "memory_save", text="I live in Rome.", value="Rome", **fact)
        await write(system, "skill_upsert", **{**SKILL, "body": "Throw the stern line first."})
        assert states(await system.verify(lives)) == ["stale"]
        assert states(await system.verify(moors)) == ["stale"]


async def test_a_clock_and_rows_without_an_order_cannot_be_repeated(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "people.csv", TABLE))
        clock = await asked(system, "What time is it in Tokyo?")
        found = await system.verify(clock)
        assert (states(found), found.is_ok) == (["not_repeatable"], True)
        chance = await _citing(system, "SELECT random() AS r, name FROM people ORDER BY name")
        turned = await _citing(system, "SELECT name FROM people ORDER BY random()")
    async with open_system(tmp_path, **OFFLINE) as system:
        assert states(await system.verify(chance)) == ["not_repeatable"]
        assert states(await system.verify(turned)) == ["intact"]


async def _citing(system: DataMind, statement: str) -> SavedAnswer:
    """An answer whose evidence is the result of a statement."""
    outcome = await system.call("db_query_sql", {"sql": statement}, role=Role.RETRIEVE)
    clock = await asked(system, "What time is it in Tokyo?")
    result = clock.result.model_copy(
        update={
            "evidence": outcome.evidence,
            "citations": (
                clock.result.citations[0].model_copy(update={"evidence_id": outcome.evidence[0].evidence_id}),
            ),
        }
    )
    return clock.model_copy(update={"result": result})


async def test_every_changed_digit_of_a_saved_answer_is_found(tmp_path: Path) -> None:
    found, tried = await changed_digits_of_answers(tmp_path)
    assert (found, tried) == (200, 200)


async def changed_digits_of_answers(folder: Path) -> tuple[int, int]:
    """How many changes of one digit of a saved answer, as JSON and as a page, were found, and how many there were."""
    chance = random.Random(20260401)
    found = []
    async with open_system(folder, **OFFLINE) as system:
        await fill(system, folder)
        for one in [await asked(system, QUESTIONS[kind]) for kind in ("text", "table", "memory", "tool")]:
            for text in (to_json(one), to_html(one)):
                for place in chance.sample([match.start() for match in re.finditer(r"\d", text)], 25):
                    other = str((int(text[place]) + chance.randint(1, 9)) % 10)
                    found.append(await _is_found(system, f"{text[:place]}{other}{text[place + 1 :]}"))
    return sum(found), len(found)


async def _is_found(system: DataMind, text: str) -> bool:
    try:
        return not (await system.verify(read_saved(text.encode(), "answer"))).is_ok
    except InputInvalid:
        return True


async def test_every_changed_digit_of_a_stored_source_is_found(tmp_path: Path) -> None:
    found, tried = await changed_digits_of_sources(tmp_path, tries=20)
    assert (found, tried) == (20, 20)


async def changed_digits_of_sources(folder: Path, tries: int) -> tuple[int, int]:
    """The same of a text that control.db holds, changed behind the back of the product."""
    lines = [f"Locker {number} has the code {number * 7919 % 10_000:04d}." for number in range(100, 120)]
    async with open_system(folder, **OFFLINE) as system:
        await write(system, "kb_add_text", text="\n\n".join(lines), title="Lockers")
        saved = await asked(system, "What is the code of locker 107?")
    control = folder / "storage" / "default" / "control.db"
    with sqlite3.connect(control) as db:
        ((hashed, body),) = db.execute(
            "SELECT content_hash, body FROM contents WHERE CAST(body AS TEXT) LIKE '%Locker 107%'"
        ).fetchall()
    text, found = bytes(body), 0
    for place in random.Random(5).sample([match.start() for match in re.finditer(rb"\d", text)], tries):
        changed = text[:place] + str((text[place] - 48 + 1) % 10).encode() + text[place + 1 :]
        with sqlite3.connect(control) as db:
            db.execute("UPDATE contents SET body = ? WHERE content_hash = ?", (changed, hashed))
        async with open_system(folder, **OFFLINE) as system:
            found += "changed" in states(await system.verify(saved))
    return found, tries


async def test_an_answer_that_was_not_given_here_is_told(tmp_path: Path) -> None:
    async with open_system(tmp_path / "a", **OFFLINE) as system:
        await fill(system, tmp_path / "a")
        saved = await asked(system, QUESTIONS["memory"])
    async with open_system(tmp_path / "b", **OFFLINE) as system:
        found = await system.verify(saved)
        assert "keeps no answer" in found.problems[0]
        assert (states(found), found.is_ok) == (["gone"], False)
        with pytest.raises(NotFound):
            await system.save_answer("trace_none")


async def test_an_answer_changed_in_the_profile_differs_from_its_audit(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        await fill(system, tmp_path)
        saved = await asked(system, QUESTIONS["text"])
        with sqlite3.connect(tmp_path / "storage" / "default" / "control.db") as db:
            db.execute("UPDATE answers SET body = replace(body, '27 days', '37 days')")
        found = await system.verify(saved.result.trace_id)
        assert any("audit" in problem for problem in found.problems), found.problems


async def test_what_a_page_holds_is_text(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        await write(system, "kb_add_text", text="The sign reads <script>alert(7)</script> & </script><b>bold</b>.")
        saved = await asked(system, "What does the sign read?")
    page = to_html(saved)
    assert page.count("<script") == 1
    assert "<b>bold" not in page
    assert "<mark>" in page
    assert read_saved(page.encode(), "page").saved == saved
    assert "http" not in re.sub(r'http-equiv|"https?://[^"]*"', "", page.partition("<script")[0])


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"<html></html>", b"\xff\xfe", b'{"format": "other/1"}', b"null"]
)
def test_another_file_is_one_clear_line(content: bytes) -> None:
    with pytest.raises(InputInvalid, match="no saved answer") as caught:
        read_saved(content, "notes.json")
    assert "\n" not in str(caught.value)


def test_json_and_page_hold_the_same(tmp_path: Path) -> None:
    saved = SavedAnswer.model_validate(
        {
            "profile": "p",
            "question": "Q?",
            "answered_at": "2026-04-01T08:00:00Z",
            "result": {"answer": "Nothing found."},
        }
    )
    assert json.loads(to_json(saved)) == json.loads(saved.model_dump_json())
    assert read_saved(to_html(saved).encode(), "page").saved == saved
