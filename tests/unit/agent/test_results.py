"""Status from receipts, flags from words."""

from __future__ import annotations

from typing import Any

import pytest

from datamind.agent.results import claims_write, make_store_result
from datamind.core.outcome import ToolOutcome
from datamind.core.receipts import IngestReceipt, StoreStatus, WriteStatus
from datamind.core.types import DataSurface, Role
from datamind.testing.gates import make_receipt, make_request


def receipt(status: WriteStatus = "stored") -> IngestReceipt:
    made = make_receipt("save", DataSurface.MEMORY, make_request(Role.STORE))
    return made.model_copy(update={"result": made.result.model_copy(update={"status": status})})


def wrote(status: WriteStatus = "stored") -> ToolOutcome:
    return ToolOutcome("c", "save", DataSurface.MEMORY, receipts=(receipt(status),))


def refused(code: str, surface: DataSurface | None = DataSurface.MEMORY) -> ToolOutcome:
    return ToolOutcome("c", "forget", surface, is_error=True, code=code, message="no", denied=True)


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([], "nothing_written"),
        ([wrote()], "stored"),
        ([wrote(), wrote("unchanged")], "stored"),
        ([wrote("unchanged")], "unchanged"),
        ([wrote("failed")], "failed"),
        ([wrote(), wrote("failed")], "partial"),
        ([refused("approval_required")], "nothing_written"),
        ([wrote(), refused("approval_required")], "partial"),
        ([wrote("unchanged"), refused("access_denied.hook")], "partial"),
        ([wrote(), refused("path_denied.link")], "partial"),
        ([wrote(), refused("arguments_invalid.json")], "stored"),
        ([wrote(), refused("access_denied.unknown_tool", None)], "stored"),
        ([wrote("failed"), refused("access_denied.hook")], "failed"),
    ],
)
def test_the_status_follows_from_receipts_and_refusals(outcomes: list[ToolOutcome], status: StoreStatus) -> None:
    assert make_store_result("Saved everything!", outcomes).status == status


CLAIMS = [
    "Saved!",
    "I've saved that, would you like anything else?",
    "Saved, let me know if you need more.",
    "I couldn't find a title, but saved it anyway.",
    "Got it. I'll remember that.",
    "Your preference has been noted.",
    "The document was deleted.",
    "Done.",
    "It is stored, no problem.",
    "Nothing else changed. The fact was recorded.",
    "Not sure about the date; the rest is written down.",
    "SAVED",
    "已保存。",
    "好的，已经记住了！",
    "我记下了。",
    "已为您保存偏好，还需要别的吗？",
    "已成功删除该文档。",
    "已儲存。",
    "记住了",
    "已保存未来的计划。",
    "没有标题，但已保存。",
]
NO_CLAIMS = [
    "",
    "Nothing was saved.",
    "Nothing was saved, stored or changed.",
    "I could not save it.",
    "It has not been stored yet.",
    "I couldn't get it saved.",
    "No memory was deleted.",
    "What should be saved?",
    "Should I keep it saved under another name?",
    "Which text would you like stored?",
    "Tell me what should be remembered.",
    "It can be deleted only by a person.",
    "If approved, it will be deleted.",
    "I saved nothing.",
    "A person must approve this call.",
    "The weekly report is in Chinese.",
    "没有保存任何内容。",
    "未能保存。",
    "我无法记住这个。",
    "是否已保存？",
    "没有删除，也没有保存。",
    "尚未保存。",
    "请告诉我要保存什么。",
    "还没记下。",
]


@pytest.mark.parametrize("answer", CLAIMS)
def test_b39_words_that_claim_a_write_without_a_receipt_are_flagged(answer: str) -> None:
    assert claims_write(answer)
    for outcomes in ([], [wrote("failed")], [refused("approval_required")]):
        assert make_store_result(answer, outcomes).flags == ("unreceipted_claim",)
    assert make_store_result(answer, [wrote()]).flags == ()


@pytest.mark.parametrize("answer", NO_CLAIMS)
def test_b39_words_that_deny_or_ask_are_not_flagged(answer: str) -> None:
    assert not claims_write(answer)
    assert make_store_result(answer, []).flags == ()


def test_each_receipt_stands_once() -> None:
    outcome = wrote()
    shared: Any = {"answer": "Saved."}
    assert len(make_store_result(shared["answer"], [outcome, outcome, wrote()]).receipts) == 2
