"""A process that serves searches goes on while a command stores in the same profile."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.cli import Datamind
from tests.support.systems import contents, open_system, read, write


async def test_a24_a_server_keeps_serving_while_a_command_ingests(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(30):
        (notes / f"{number}.md").write_text(f"# Lamp {number}\n\nLamp {number} is lit at dusk.\n", encoding="utf-8")
    (tmp_path / "site").mkdir()
    environ = {"DATAMIND__DATA__BASE_DIR": str(tmp_path), "DATAMIND__HOOKS__AUDIT_KEY": str(tmp_path / "keys")}
    command = Datamind(tmp_path, tmp_path / "site", environ)
    async with open_system(tmp_path, kb={"backend": "lancedb"}) as system:
        await write(system, "kb_add_text", text="The ferry sails at high water.", title="Ferries")
        ingest = asyncio.create_task(asyncio.to_thread(command.run, "ingest", str(notes), "--no-wait"))
        searches = 0
        while not ingest.done():
            found = await read(system, "kb_search", query="when does the ferry sail")
            assert "high water" in contents(found)[0]
            searches += 1
            await asyncio.sleep(0.01)
        assert (await ingest).code == 0, (await ingest).stderr
        assert searches > 1
        assert "Lamp 17 is lit" in contents(await read(system, "kb_search", query="lamp 17"))[0]
        await write(system, "kb_add_text", text="The bell rings at noon.", title="Bells")
        assert "noon" in contents(await read(system, "kb_search", query="when does the bell ring"))[0]
