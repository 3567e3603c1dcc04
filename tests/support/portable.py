"""An invented profile with all five surfaces, in English and Chinese, and everything that can be read of a profile."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from datamind.agent import DataMind
from datamind.agent.holdings import memories
from datamind.core.protocols.graph import TriplePattern
from datamind.plugins import ProviderKind
from tests.support.engine_kills import KB, held
from tests.support.ledger_jobs import Agreeing
from tests.support.systems import contents, open_system, read, write

FACT = {"kind": "fact", "subject": "user", "attribute": "residence", "functional": True}
BIG = "".join(f"Line {number} of the log: all is quiet at gauge {number % 97}.\n" for number in range(12_000))
FILES = {
    "tides.md": "# Tides\n\nThe ferry sails at high water.\n",
    "潮汐.md": "# 潮汐\n\n渡轮在满潮时启航,潮汐表每周五更新。\n",
    "log.txt": BIG,
    "货物.csv": "编号,名称,重量\n007,缆绳,2.50\n008,灯笼,3.75\n",
    "people.csv": "id,name,joined\n1,Ada,2026-03-01\n2,Bo,\n",
    "places.ttl": '<urn:x:pier> <http://www.w3.org/2000/01/rdf-schema#label> "Pier"@en, "码头"@zh .\n',
}
WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("memory_save", {"text": "I live in Oslo.", "value": "Oslo", "valid_from": "2026-03-01T08:00:00+00:00", **FACT}),
    ("memory_save", {"text": "I live in Rome.", "value": "Rome", "valid_from": "2026-04-01T08:00:00+00:00", **FACT}),
    ("memory_save", {"text": "鹦鹉名叫小苔。"}),
    ("memory_save", {"text": "The stove is broken."}),
    ("memory_forget", {"query": "stove broken"}),
    *(("kb_add_file", {"path": name}) for name in ("tides.md", "潮汐.md", "log.txt")),
    ("db_import_csv", {"path": "货物.csv"}),
    ("db_import_csv", {"path": "people.csv"}),
    ("db_import_records", {"records": [{"id": 2, "name": "Bea"}, {"id": 3, "name": "Cy"}], "table": "people",
                           "if_exists": "upsert", "key": ["id"]}),
    ("graph_import_path", {"path": "places.ttl"}),
    ("graph_upsert_triples", {"triples": [{"subject": "艾达", "predicate": "认识", "object": "Bo"}]}),
    ("graph_upsert_triples", {"triples": [{"subject": "Bo", "predicate": "knows", "object": "Cy"},
                                          {"subject": "Bo", "predicate": "knows", "object": "Di"}]}),
    ("graph_delete", {"subject": "Bo", "predicate": "knows", "object": "Di"}),
    ("skill_upsert", {"name": "moor", "description": "How to moor the ferry 系泊", "body": "Bow line. 先抛船头缆。"}),
    ("kb_add_text", {"text": "Lunch is at noon.", "title": "Lunch"}),
    ("kb_delete", {"query": "Lunch"}),
)  # fmt: skip
QUESTIONS = ("Where do I live?", "鹦鹉叫什么名字?", "How many people are there?", "What sails at low water?")
SEARCHES = ("ferry high water", "潮汐表", "gauge quiet log")


async def fill(base: Path, profile: str = "p") -> None:
    """Write everything, ask one question, and remove the files: what is there rests on the profile alone."""
    home = base / "data" / "profiles" / profile
    home.mkdir(parents=True)
    for name, content in FILES.items():
        (home / name).write_text(content, encoding="utf-8")
    async with open_portable(base, profile, approver=Agreeing()) as system:
        for tool, arguments in WRITES:
            outcome = await write(system, tool, **arguments)
            assert outcome.receipts and not outcome.is_error, (tool, outcome)
        await write(system, "memory_save", text="We talk about boats.", scope="session", session="s1")
        (home / "tides.md").write_text(FILES["tides.md"].replace("high", "low"), encoding="utf-8")
        await write(system, "kb_add_file", path="tides.md")
        answers = [await system.query(question) for question in QUESTIONS]
        assert all(answer.citations for answer in answers), answers
    for name in FILES:
        (home / name).unlink()


def open_portable(base: Path, profile: str, **options: Any) -> Any:
    """A system over the profile with the engines that are installed by default."""
    return open_system(base, profile=profile, kb={"backend": KB}, llm={"protocol": "offline"}, **options)


async def everything(system: DataMind) -> dict[str, Any]:
    """What each surface holds, the receipts and the answers; nothing that names the profile."""
    services = system.services
    await services.read.graph.stats()
    graph = (await services.hub.open(ProviderKind.GRAPH_STORE)).read_view()
    page = await graph.statements(TriplePattern(), limit=1000)
    by = await graph.asserted_by(page.triples)
    found = {surface: await held(system, surface) for surface in ("db", "graph", "kb")}
    found["asserted"] = sorted(
        f"{triple!r} {[(one.unit.receipt_id, one.unit.source.uri, one.start, one.end) for one in each]}"
        for triple, each in zip(page.triples, by, strict=True)
    )
    found["tables"] = sorted(
        (table.name, table.rows, table.receipt_ids, table.import_rows, [column.type for column in table.columns])
        for table in await services.read.db.tables()
    )
    found["memories"] = sorted([item.model_dump_json(exclude={"created_at"}) async for item in memories(services)])
    found["searches"] = [contents(await read(system, "kb_search", query=text)) for text in SEARCHES]
    found["skills"] = [(skill.name, skill.description, skill.checksum) for skill in await services.read.skills.skills()]
    found["ledger"] = _ledger(system.profile.storage_dir / "control.db")
    return found


def _ledger(path: Path) -> dict[str, Any]:
    queries = {
        "receipts": "SELECT body FROM receipts ORDER BY seq",
        "answers": "SELECT body FROM answers ORDER BY seq",
        "sources": "SELECT * FROM sources ORDER BY surface, source_id",
        "contents": "SELECT content_hash, size FROM contents ORDER BY 1",
        "audit": "SELECT seq, body, prev, hash, mac FROM audit WHERE body NOT LIKE '%imported%' ORDER BY seq",
    }
    with closing(sqlite3.connect(path)) as db:
        return {name: json.loads(json.dumps(db.execute(query).fetchall())) for name, query in queries.items()}
