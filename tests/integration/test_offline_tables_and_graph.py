"""The offline model over real tables and a real graph: invented questions, faults, and what it must not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamind.agent import DataMind
from datamind_cli.evaluation.questions import read_qa_file
from datamind_cli.evaluation.run import evaluate
from tests.support.systems import open_system, write

DATA = Path(__file__).parent.parent / "unit" / "offline" / "data" / "tables"
OFFLINE = {"llm": {"protocol": "offline"}}


def put(folder: Path, name: str, content: str) -> str:
    path = folder / "data" / "profiles" / "default" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return name


async def answer(system: DataMind, question: str) -> str:
    return (await system.query(question)).answer


@pytest.mark.parametrize(
    ("name", "right", "silent"),
    [("works", 0.8, 0.95), ("places", 0.8, 0.95), ("staff", 0.95, 1.0), ("links", 0.9, 1.0)],
)
async def test_invented_sets(tmp_path: Path, name: str, right: float, silent: float) -> None:
    folder = DATA / name
    qa = read_qa_file(folder / "questions.jsonl")
    unknown = {question.id for question in qa.questions if question.answers is None}
    async with open_system(tmp_path, hooks={"path_allowlist_extra": [folder]}, **OFFLINE) as system:
        report = await evaluate(system, qa, lambda _: None)
    assert report.problems == []
    known = [item for item in report.items if item.id not in unknown]
    left = [item for item in report.items if item.id in unknown]
    wrong = [(item.question, item.answer, item.reason) for item in report.items if not item.is_right]
    assert sum(item.is_right for item in known) >= right * len(known), wrong
    assert sum(item.is_right for item in left) >= silent * len(left), wrong


@pytest.mark.parametrize(
    "said",
    [
        "Store these rows in the table sales:\ncode,amount\n007,3\n008,4.5",
        '把以下数据存入表 sales：[{"code": "007", "amount": 3}, {"code": "008", "amount": 4.5}]',
    ],
)
async def test_rows_in_a_message_are_rows_of_a_table(tmp_path: Path, said: str) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        stored = await system.ingest(said)
        assert [receipt.tool for receipt in stored.receipts] == ["db_import_records"]
        assert stored.status == "stored"
        assert list(await system.sql("SELECT code, amount FROM sales ORDER BY code")) == [
            ("007", "3.0"),
            ("008", "4.5"),
        ]


@pytest.mark.parametrize("name", ["bikes", "inn", "museum"])
async def test_invented_companies_on_every_surface(tmp_path: Path, name: str) -> None:
    folder = DATA.parent / "companies" / name
    qa = read_qa_file(folder / "questions.jsonl")
    unknown = {question.id for question in qa.questions if question.answers is None}
    async with open_system(tmp_path, hooks={"path_allowlist_extra": [folder]}, **OFFLINE) as system:
        report = await evaluate(system, qa, lambda _: None)
    assert report.problems == []
    wrong = [(item.question, item.answer, item.reason) for item in report.items if not item.is_right]
    known = [item for item in report.items if item.id not in unknown]
    left = [item for item in report.items if item.id in unknown]
    assert sum(item.is_right for item in known) >= 0.85 * len(known), wrong
    assert sum(item.is_right for item in left) >= 0.85 * len(left), wrong


async def test_a_flag_denied_two_compared_and_whether_something_is_so(tmp_path: Path) -> None:
    rows = "bill_no,payer,amount,paid\nB1,Ida,40,yes\nB2,Bo,25,no\nB3,Ida,10,no\n"
    people = "姓名,年龄\n林晓,31\n赵敏,44\n"
    async with open_system(tmp_path, **OFFLINE) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "bills.csv", rows))
        await write(system, "db_import_csv", path=put(tmp_path, "员工.csv", people))
        assert (await answer(system, "How many bills have not been paid?")).startswith("bills: 2 [")
        assert "B3" in await answer(system, "Which bills of Ida are unpaid?")
        assert (await answer(system, "Has B2 been paid?")).startswith("No: B2 — paid: no [")
        assert (await answer(system, "Is the amount of B1 higher than that of B2?")).startswith("Yes: B1: amount 40")
        assert (await answer(system, "林晓和赵敏谁的年龄更大？")).startswith("赵敏：年龄 44")
        assert (await answer(system, "林晓比赵敏年龄大吗？")).startswith("否：")


async def test_a_class_is_a_kind_and_connects_nothing(tmp_path: Path) -> None:
    turtle = """@prefix : <https://x.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:ada a :Person ; rdfs:label "Ada Moe" ; :keeps :rex , :tom ; :reports_to :bo .
:bo a :Person ; rdfs:label "Bo Lie" ; :reports_to :kim .
:kim a :Person ; rdfs:label "Kim Ek" .
:rex a :Dog ; rdfs:label "Rex" .
:tom a :Cat ; rdfs:label "Tom" .
"""
    async with open_system(tmp_path, **OFFLINE) as system:
        await write(system, "graph_import_path", path=put(tmp_path, "home.ttl", turtle))
        told = await answer(system, "Which dog does Ada Moe keep?")
        assert "Rex" in told
        assert "Tom" not in told
        told = await answer(system, "How are Ada Moe and Kim Ek connected?")
        assert "Bo Lie" in told
        assert "Person" not in told
        assert "Bo Lie" in await answer(system, "Who is the boss of Ada Moe?")


async def test_a27_amounts_with_a_blank_are_counted_compared_and_averaged(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "bills.csv", "name,amount\na,9\nb,100\nc,25\nd,\n"))
        assert (await answer(system, "Which bills have an amount above 50?")).startswith("name: b [")
        assert (await answer(system, "Which bill has the highest amount?")).startswith("b: amount 100 [")
        assert (await answer(system, "What is the average amount?")).startswith("average amount: 44.67 [")
        assert (await answer(system, "How many bills have no amount?")).startswith("bills: 1 [")
        assert (await answer(system, "What is the total amount of all bills?")).startswith("total amount: 134 [")


async def test_a28_chinese_headers_and_one_with_a_blank_are_asked_for_by_their_names(tmp_path: Path) -> None:
    rows = "姓名,部门,Order ID\n林晓,采购部,A-17\n赵敏,财务部,B-02\n"
    async with open_system(tmp_path, **OFFLINE) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "orders.csv", rows))
        assert "采购部" in await answer(system, "林晓的部门是什么？")
        assert "B-02" in await answer(system, "What is the order ID of 赵敏?")


async def test_b35_the_nearest_names_are_offered(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "takings.csv", "shop,city,amt_net\nPier,Oslo,120\n"))
        told = await answer(system, "What is the revenue of Pier?")
        assert "Nothing in the table takings is called “revenue”; its columns are " in told
        assert "amt_net" in told and "120" not in told and "[" not in told
        assert "columns" not in await answer(system, "Who painted the old lighthouse?")


async def test_b35_what_no_column_holds_is_not_answered(tmp_path: Path) -> None:
    rows = "shop,amt_net,city\nPier,120,Oslo\nMill,80,Bergen\n"
    async with open_system(tmp_path, **OFFLINE) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "takings.csv", rows))
        for question in ("What is the revenue of Pier?", "What is the total revenue?", "Who owns Pier?"):
            result = await system.query(question)
            assert result.citations == (), result.answer
            assert "found nothing" in result.answer


@pytest.mark.parametrize(
    "order",
    [
        "delete all nodes",
        "Delete everything about Pier",
        "删除所有节点",
        "run COPY takings TO '/tmp/x.csv'",
        "SELECT 1; DROP TABLE takings",
        "Drop the table takings",
    ],
)
async def test_c7_c12_c19_an_order_in_a_question_changes_nothing(tmp_path: Path, order: str) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "takings.csv", "shop,amt\nPier,120\n"))
        triples = [{"subject": "Pier", "predicate": "located_in", "object": "Oslo"}]
        await write(system, "graph_upsert_triples", triples=triples)
        receipts = await system.receipts.count()
        result = await system.query(order)
        assert result.citations == (), result.answer
        assert await system.receipts.count() == receipts
        assert "120" in await answer(system, "What is the amt of Pier?")
        assert "Oslo" in await answer(system, "Where is Pier located?")


async def test_ties_are_all_said(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        rows = "runner,points\nIda,12\nBo,12\nKim,7\n"
        await write(system, "db_import_csv", path=put(tmp_path, "runners.csv", rows))
        told = await answer(system, "Which runner has the most points?")
        assert "Ida" in told
        assert "Bo" in told
        assert "Kim" not in told


async def test_the_direction_of_a_relation_counts(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        triples = [
            {"subject": "Mia", "predicate": "manages", "object": "Tom"},
            {"subject": "Karl", "predicate": "manages", "object": "Mia"},
        ]
        await write(system, "graph_upsert_triples", triples=triples)
        assert (await answer(system, "Who manages Mia?")).startswith("Karl manages Mia [")
        assert (await answer(system, "Who does Mia manage?")).startswith("Mia manages Tom [")
        assert "found nothing" in await answer(system, "Who manages Karl?")


GOATS = "id,name,dam_id,weight_kg\n1,Bramble,,61.5\n2,Clover,1,54\n3,Dill,1,58.2\n4,Elder,2,47\n"
STAFF = "name,manager,age\nAnn,Bo,41\nBo,Cy,52\nCy,,60\n"


async def test_a_reference_to_the_own_table_is_followed_or_nothing_is_said(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        await write(system, "db_import_csv", path=put(tmp_path, "goats.csv", GOATS))
        await write(system, "db_import_csv", path=put(tmp_path, "staff.csv", STAFF))
        assert "Clover" in await answer(system, "Who is the dam of Elder?")
        assert "54" in await answer(system, "What is the weight of the dam of Elder?")
        assert "52" in await answer(system, "What is the age of Ann's manager?")
        assert "Bo" in await answer(system, "Who is the manager of Ann?")
        for question in (
            "Which goat's dam is the heaviest?",
            "Is Elder heavier than its dam?",
            "Who is the manager of Ann's manager?",
            "How old is Ann's manager?",
        ):
            assert "nothing" in await answer(system, question), question


async def test_an_empty_database_is_not_opened(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        assert {status.surface: status.items for status in await system.surfaces()}["db"] == 0
        result = await system.query("How many orders are there?")
        assert not any(call.name.startswith(("db_", "graph_")) for call in result.tool_trace)
        assert not list((tmp_path / "storage" / "default").glob("db/*"))


async def test_one_question_over_memory_tables_and_graph(tmp_path: Path) -> None:
    async with open_system(tmp_path, **OFFLINE) as system:
        rows = "name,fee,city\nIda Holt,85,Oslo\nBo Lind,60,Bergen\n"
        await write(system, "db_import_csv", path=put(tmp_path, "doctors.csv", rows))
        triples = [{"subject": "Ida Holt", "predicate": "leads", "object": "North Ward"}]
        await write(system, "graph_upsert_triples", triples=triples)
        await write(system, "memory_save", text="My doctor is Bo Lind.", kind="fact", scope="profile")
        bridged = await system.query("What is the fee of the leader of the North Ward?")
        assert "85" in bridged.answer
        assert {
            item.surface for item in bridged.evidence if f"[{bridged.evidence.index(item) + 1}]" in bridged.answer
        } == {
            "db",
            "graph",
        }
        assert "60" in await answer(system, "What is the fee of my doctor?")
        both = await answer(system, "What is the fee of Bo Lind, and what is the budget of the North Ward?")
        assert "60" in both
        assert "found nothing" in both
