"""The skill book through the gate."""

from __future__ import annotations

from pathlib import Path

from tests.support.systems import contents, open_system, read, status, write

DRAFT = {"name": "close-month", "description": "How to close the books of a month.", "body": "1. Lock the journal.\n"}


async def test_a_skill_is_written_found_loaded_and_removed(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        written = await write(system, "skill_upsert", **DRAFT)
        assert (status(written), written.receipts[0].result.operation) == ("stored", "added")
        found = await read(system, "skill_search", query="close the books")
        assert contents(found) == ["close-month: How to close the books of a month."]
        assert found.evidence[0].receipt_ids == (written.receipts[0].receipt_id,)
        assert contents(await read(system, "skill_get", name="close-month")) == ["1. Lock the journal.\n"]
        assert status(await write(system, "skill_upsert", **DRAFT)) == "unchanged"
        again = await write(system, "skill_upsert", **{**DRAFT, "body": "1. Ask first.\n"})
        result = again.receipts[0].result
        assert (result.operation, result.revert) == ("replaced", "restores_previous")
        gone = await write(system, "skill_delete", name="close-month")
        assert gone.receipts[0].read_back == "the skill is not found"
        assert contents(await read(system, "skill_search", query="close the books")) == []
        assert (await write(system, "skill_delete", name="close-month")).data == {"matched": 0}


async def test_a_skill_edited_by_hand_rests_on_no_receipt(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        await write(system, "skill_upsert", **DRAFT)
        file = system.profile.data_dir / "skills" / "close-month" / "SKILL.md"
        file.write_text(file.read_text(encoding="utf-8") + "2. Tell everyone.\n", encoding="utf-8")
        (evidence,) = (await read(system, "skill_get", name="close-month")).evidence
        assert "Tell everyone" in evidence.content
        assert evidence.receipt_ids == ()


async def test_a_name_that_is_a_path_is_refused_before_anything_runs(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        for name in ("../../x", "/abs", "A", "a/b", "", "a" * 65):
            refused = await write(system, "skill_upsert", **{**DRAFT, "name": name})
            assert refused.code.startswith("arguments_invalid")
            assert refused.receipts == ()


async def test_utilities_answer_with_evidence_and_touch_no_data(tmp_path: Path) -> None:
    async with open_system(tmp_path) as system:
        assert contents(await read(system, "calculator", expression="12 * (3 + 4)")) == ["12 * (3 + 4) = 84"]
        converted = await read(system, "unit_convert", value=5, from_unit="km", to_unit="m")
        assert "5000" in contents(converted)[0]
        clock = await read(system, "get_current_time", timezone="Asia/Shanghai")
        assert clock.evidence[0].locator.repeatable is False
        hostile = await read(system, "calculator", expression="().__class__")
        assert hostile.is_error
        bounded = await read(system, "calculator", expression="9**9**9")
        assert bounded.code.startswith("limit_exceeded")
