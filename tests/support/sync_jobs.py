"""One write of every kind in a process that is watched, each told on standard output when its receipt is there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from datamind.agent import build_datamind
from datamind.core.types import Role
from tests.support.ledger_jobs import Agreeing, request, say, settings_in

TABLE = "id,name\n1,Ada\n2,Bo\n"
WRITES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("memory_save", {"text": "The parrot is called Moss."}),
    ("memory_save", {"text": "The shop opens at nine.", "scope": "global"}),
    ("memory_update", {"query": "parrot called", "text": "The parrot is called Fern."}),
    ("memory_forget", {"query": "parrot called"}),
    ("kb_add_text", {"text": "# Tides\n\nThe ferry sails at high water.\n", "title": "Ferry times"}),
    ("kb_add_text", {"text": "The tide turns twice a day.\n" * 20_000, "title": "Long"}),
    ("kb_add_file", {"path": "tides.md"}),
    ("kb_add_path", {"path": "notes"}),
    ("kb_delete", {"query": "Ferry times"}),
    ("skill_upsert", {"name": "close-the-shop", "description": "How to close the shop", "body": "Lock the door."}),
    ("skill_upsert", {"name": "close-the-shop", "description": "How to close the shop", "body": "Lock both doors."}),
    ("skill_delete", {"name": "close-the-shop"}),
    ("db_import_csv", {"path": "people.csv"}),
    ("db_import_csv", {"path": "people.csv", "force": True}),
    ("db_import_csv", {"path": "people.csv", "if_exists": "replace", "force": True}),
    ("db_import_records", {"records": [{"id": 3, "name": "Cy"}], "table": "people"}),
    ("db_create_table", {"table": "empty", "columns": [{"name": "a"}]}),
    ("db_drop_table", {"table": "empty"}),
    ("graph_upsert_triples", {"triples": [{"subject": "Ada", "predicate": "knows", "object": "Bo"}]}),
    ("graph_upsert_triples", {"triples": [{"subject": "Bo", "predicate": "knows", "object": "Cy"}]}),
    ("graph_import_path", {"path": "facts.nt"}),
    ("graph_delete", {"subject": "Ada", "predicate": "knows", "object": "Bo"}),
)
FILES = {
    "tides.md": "# Tides\n\nLow water at six.\n",
    "notes/a.md": "Bees sleep at night.\n",
    "notes/b.txt": "Cranes fly south.\n",
    "people.csv": TABLE,
    "facts.nt": "".join(f"<urn:s:{n % 300}> <urn:p:{n % 5}> <urn:s:{n}> .\n" for n in range(3_000)),
}


KB = "lancedb" if find_spec("datamind_kb_lancedb") else "memory"
_HALF = 15  # within the tables: the files are closed and opened again between two of their writes


def write_files(folder: Path) -> None:
    """What the writes read."""
    for name, text in FILES.items():
        path = folder / "data/profiles/default" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


async def write_everything(folder: str) -> None:
    """Every write in turn."""
    for part in (WRITES[:_HALF], WRITES[_HALF:]):
        system = await build_datamind(settings_in(folder, kb={"backend": KB}), approver=Agreeing())
        for tool, arguments in part:
            say(f"begin {tool}")
            outcome = await system.call(tool, arguments, role=Role.STORE, ctx=request(system))
            assert outcome.receipts, (tool, outcome)
            assert not outcome.is_error, (tool, outcome)
            say(f"receipt {tool}")
        await system.aclose()


if __name__ == "__main__":
    asyncio.run(write_everything(*sys.argv[1:]))
