"""What is forgotten and what is superseded, through StoreAgent, the gate and the real stores."""

from __future__ import annotations

import pytest

from tests.support.systems import contents, open_system, read


async def ask(system, question):
    return (await system.query(question)).answer


@pytest.mark.parametrize(
    ("memory", "order"),
    [
        ("Remember: the gate of the depot is green.", "Forget the document about the depot gate."),
        ("Remember: the gate of the depot is green.", "Forget the skill about the depot gate"),
        ("Remember: I like tea.", "Forget that I like coffee."),
        ("Remember: I really like strong tea.", "Forget that I really like strong coffee."),
        ("记住：仓库的门是绿色的。", "忘记关于仓库的门的文档"),
        ("记住：我对青霉素过敏。", "忘记我对花生过敏"),
        ("记住：我喜欢喝茶", "忘记我喜欢咖啡"),
    ],
)
async def test_no_match_removes_nothing_and_says_so(tmp_path, memory, order):
    async with open_system(tmp_path, llm={"protocol": "offline"}) as system:
        await system.ingest(memory)
        result = await system.ingest(order)
        assert (result.status, result.receipts) == ("nothing_written", ())
        assert "Nothing was removed" in result.answer or "没有" in result.answer
        page = await system.receipts.latest(limit=10)
        assert [receipt.tool for receipt in page] == ["memory_save"]


async def test_a_document_is_forgotten_and_the_memory_stays(tmp_path):
    async with open_system(tmp_path, llm={"protocol": "offline"}) as system:
        await system.ingest("Remember: the depot gate is green.")
        await system.ingest("Depot handbook\n\nThe depot gate opens at seven. Drivers ring twice.")
        result = await system.ingest("Forget the document about the depot handbook.")
        assert [receipt.tool for receipt in result.receipts] == ["kb_delete"]
        assert "green" in await ask(system, "What colour is the depot gate?")
        assert "seven" not in await ask(system, "When does the depot gate open?")


@pytest.mark.parametrize(
    ("first", "later", "question", "now", "before_question", "before"),
    [
        ("I live in Oslo.", "I no longer live in Oslo; I live in Bergen now.", "Where do I live?", "Bergen",
         "Where did I live before?", "I live in Oslo."),
        ("My dentist is Casper.", "My dentist is now Dr Amin.", "Who is my dentist?", "Amin",
         "Who was my dentist before?", "Casper"),
        ("The staging server of Heron is stage-4.", "The staging server of Heron has moved to stage-11.",
         "What is the staging server of Heron?", "stage-11", "What was the staging server of Heron before?", "stage-4"),
        ("The door code is 4471.", "The door code changed to 5582.", "What is the door code?", "5582",
         "What was the door code before?", "4471"),
        ("我住在苏州。", "我搬到厦门了。", "我住在哪里？", "厦门", "我以前住在哪里？", "苏州"),
        ("我的教练是高飞。", "我的教练改成了罗静。", "我的教练是谁？", "罗静", "我以前的教练是谁？", "高飞"),
        ("项目群的周会时间是周二上午。", "项目群的周会时间不再是周二上午，而是周四下午。",
         "项目群的周会时间是什么？", "周四下午", "项目群以前的周会时间是什么？", "项目群的周会时间是周二上午"),
    ],
)  # fmt: skip
async def test_b10_a_change_closes_the_old_value_which_stays_answerable(
    tmp_path, first, later, question, now, before_question, before
):
    async with open_system(tmp_path, llm={"protocol": "offline"}) as system:
        await system.ingest(f"Remember: {first}")
        result = await system.ingest(f"Remember: {later}")
        assert any(receipt.result.closed_ids for receipt in result.receipts)
        assert now in await ask(system, question)
        told = await ask(system, before_question)
        assert before in told
        assert later not in told


@pytest.mark.parametrize(
    ("first", "later", "attribute"),
    [
        ("I live in Oslo.", "I no longer live in Oslo.", "residence"),
        ("I work at Fjordline.", "I don't work at Fjordline any more.", "employer"),
        ("我住在苏州。", "我不再住在苏州了。", "residence"),
    ],
)
async def test_b10_that_something_ended_closes_that_value_and_no_other(tmp_path, first, later, attribute):
    async with open_system(tmp_path, llm={"protocol": "offline"}) as system:
        stored = await system.ingest(f"Remember: {first}")
        result = await system.ingest(f"Remember: {later}")
        assert [receipt.result.closed_ids for receipt in result.receipts] == [stored.receipts[0].result.ids]
        assert contents(await read(system, "memory_list")) == [later]
        fact = {"subject": "user", "attribute": attribute}
        assert set(contents(await read(system, "memory_history", **fact))) == {first, later}


async def test_b10_an_end_of_what_no_longer_holds_anyway_ends_nothing(tmp_path):
    async with open_system(tmp_path, llm={"protocol": "offline"}) as system:
        await system.ingest("Remember: I live in Oslo.")
        await system.ingest("Remember: I live in Bergen.")
        result = await system.ingest("Remember: I no longer live in Oslo.")
        assert [receipt.result.closed_ids for receipt in result.receipts] == [()]
        assert "Bergen" in await ask(system, "Where do I live?")


async def test_b10_said_at_orders_values_not_the_order_of_saving(tmp_path):
    async with open_system(tmp_path, llm={"protocol": "offline"}) as system:
        await system.ingest("Remember (said on 2031-01-15): I moved to Porto.")
        await system.ingest("Remember (said on 2030-02-01): I live in Gdansk.")
        assert "Porto" in await ask(system, "Where do I live?")
        assert "Gdansk" in await ask(system, "Where did I live before?")
        assert "Gdansk" in await ask(system, "Where did I live in March 2030?")
