"""A profile with a word in every surface, erased in a process that can be killed."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterator
from pathlib import Path

from datamind.agent import DataMind
from datamind.testing.failpoints import Failpoints
from tests.support.systems import contents, open_system, read, write

ENGINES = {
    "kb": {"backend": "lancedb"},
    "db": {"dialect": "duckdb"},
    "graph": {"backend": "rdflib"},
    "memory": {"backend": "sqlite"},
    "llm": {"protocol": "offline"},
    "embedding": {"provider": "hashing"},
}


def make_canary(seed: int) -> str:
    return "".join(random.Random(seed).choices(string.ascii_lowercase, k=24))


CANARY = make_canary(1)
OTHER = make_canary(2)


def forms(word: str) -> Iterator[bytes]:
    """As the files could hold it; the index of memories' words writes each word as hexadecimal digits."""
    yield from (word.encode(), word.encode("utf-16-le"), word.encode().hex().encode(), json.dumps(word)[1:-1].encode())


def places(home: Path, word: str) -> list[str]:
    """Every file below the folders of all profiles, ``_shared`` among them, that holds a word."""
    return [
        str(path.relative_to(home))
        for path in sorted((home / "storage").rglob("*"))
        if path.is_file() and any(form in path.read_bytes() for form in forms(word))
    ]


def placed(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


FACTS = "@prefix : <https://example.org/> .\n"


async def fill(system: DataMind, folder: Path) -> list[str]:
    """One source with the canary for each surface, and one without; returns the receipts of the former."""
    gone = [
        await system.ingest(placed(folder, "a.md", f"# Ovens\n\nThe oven is called {CANARY}.\n")),
        await system.ingest(placed(folder, "a.csv", f"city,amount\n{CANARY},3\n")),
        await system.ingest(placed(folder, "a.ttl", f"{FACTS}:Anna :leads :{CANARY} .\n")),
    ]
    receipts = [receipt for result in gone for receipt in result.receipts]
    saved = await write(system, "memory_save", text=f"Tea is called {CANARY}.", kind="fact")
    skill = await write(system, "skill_upsert", name="bake", description="How to bake", body=f"Say {CANARY}.")
    await system.ingest(placed(folder, "b.md", "# Kilns\n\nThe kiln is green.\n"))
    await system.ingest(placed(folder, "b.csv", "city,amount\nRome,4\n"))
    await system.ingest(placed(folder, "b.ttl", f"{FACTS}:Anna :bakes :Rye .\n"))
    await write(system, "memory_save", text="Coffee is served at four.", kind="fact")
    await system.drain()
    return [receipt.receipt_id for receipt in (*receipts, *saved.receipts, *skill.receipts)]


async def check_the_rest(system: DataMind) -> None:
    assert any("green" in text for text in contents(await read(system, "kb_search", query="kiln")))
    assert list(await system.sql("SELECT amount FROM b")) == [(4,)]
    assert [table["table"] for table in (await read(system, "db_list_tables")).data["tables"]] == ["b"]
    assert (await read(system, "graph_stats")).data["statements"] == 1
    assert contents(await read(system, "memory_recall", query="coffee served")) == ["Coffee is served at four."]
    assert contents(await read(system, "memory_recall", query=CANARY)) == []


async def prepare(home: str, folder: str) -> list[str]:
    """Fill a profile; the receipts of what has the canary."""
    async with open_system(Path(home), **ENGINES) as system:
        return await fill(system, Path(folder))


async def erase(home: str, receipts: list[str], at: int, log: str) -> str:
    """Erase them in a process that is killed at a moment; 0 for none, each is logged then."""
    async with open_system(Path(home), **ENGINES) as system:
        plan = await system.plan_forget(receipts=receipts)
        system.services.control.db.close()  # connections that are open when it is armed are not seen
        Failpoints("kill" if at else "log", at, None if at else Path(log), with_children=True).arm()
        return (await system.forget(plan, erase=True)).status
