"""A folder as people have them: documents, tables, triples and skills in one, changing between two runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamind.core.errors import StoreError, SurfaceUnavailable
from datamind.core.protocols.agent import ApprovalRequest
from tests.support.documents import make_docx, make_xlsx, paragraph
from tests.support.systems import contents, open_system, read, status, write

ALL_SURFACES = {"db": {"dialect": "duckdb"}, "graph": {"backend": "rdflib"}, "skills": {"backend": "profile"}}
SKILL = "---\nname: moor-a-boat\ndescription: How to moor a boat.\n---\n\nThrow the bow line first.\n"


class Person:
    """Approves or not, and remembers what was asked."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.asked: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> bool:
        self.asked.append(request)
        return self.answer


@pytest.fixture
def office(tmp_path: Path) -> Path:
    folder = tmp_path / "office"
    (folder / "skills" / "moor-a-boat").mkdir(parents=True)
    (folder / "guide.md").write_text("# Guide\n\nThe lantern burns at dusk.\n")
    (folder / "letter.docx").write_bytes(make_docx(paragraph("The moss buoy is green.")))
    (folder / "berths.csv").write_text("berth,depth\nnorth,12\nsouth,9\n")
    (folder / "tugs.xlsx").write_bytes(make_xlsx({"Tugs": [["tug", "built"], ["Otter", 1998]]}))
    (folder / "crew.ttl").write_text("<http://h/mara> <http://h/leads> <http://h/joris> .\n")
    (folder / "settings.json").write_text('{"colour": "vermilion"}\n')
    (folder / "skills" / "moor-a-boat" / "SKILL.md").write_text(SKILL)
    return folder


async def test_every_file_goes_where_it_belongs(tmp_path: Path, office: Path) -> None:
    told: list[tuple[int, str]] = []
    async with open_system(tmp_path, **ALL_SURFACES) as system:
        result = await system.ingest(office, progress=lambda done, label: told.append((done, label)))
        assert (result.status, result.skipped, result.gone) == ("stored", (), ())
        assert sorted(receipt.result.surface for receipt in result.receipts) == [
            "db",
            "db",
            "graph",
            "kb",
            "kb",
            "kb",
            "skills",
        ]
        assert [done for done, _ in told] == list(range(1, 8))
        assert contents(await read(system, "kb_search", query="vermilion"))
        assert contents(await read(system, "kb_search", query="moss buoy"))
        assert len((await read(system, "db_list_tables")).data["tables"]) == 2
        assert contents(await read(system, "skill_get", name="moor-a-boat"))[0].strip() == "Throw the bow line first."
        assert (await system.ingest(office)).status == "unchanged"


async def test_surfaces_that_are_off_are_told_file_by_file_and_the_others_go_on(
    tmp_path: Path, office: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "db-duckdb graph-rdflib")
    async with open_system(tmp_path, skills=ALL_SURFACES["skills"]) as system:
        result = await system.ingest(office)
        assert result.status == "partial"
        assert {(item.path, item.code) for item in result.skipped} == {
            ("berths.csv", "surface_off.db"),
            ("tugs.xlsx", "surface_off.db"),
            ("crew.ttl", "surface_off.graph"),
        }
        assert sorted(receipt.result.surface for receipt in result.receipts) == ["kb", "kb", "kb", "skills"]
        with pytest.raises(SurfaceUnavailable, match="db is off"):
            await system.ingest(office / "berths.csv")


async def test_a72_what_has_left_a_folder_is_asked_about_and_then_gone(tmp_path: Path, office: Path) -> None:
    person = Person(answer=False)
    async with open_system(tmp_path, approver=person, **ALL_SURFACES) as system:
        await system.ingest(office)
        (office / "guide.md").rename(office / "manual.md")
        refused = await system.ingest(office)
        assert [uri.rpartition("/")[2] for uri in refused.gone] == ["guide.md"]
        assert refused.status == "stored", "what was asked for is stored"
        assert len(contents(await read(system, "kb_search", query="lantern dusk"))) == 2
        assert [(asked.tool, len(asked.candidates)) for asked in person.asked] == [("kb_delete", 1)]
        person.answer = True
        dropped = await system.ingest(office)
        assert dropped.gone == () and dropped.receipts[-1].result.operation == "deleted"
        found = (await read(system, "kb_search", query="lantern dusk")).evidence
        assert [item.source.uri.rpartition("/")[2] for item in found] == ["manual.md"]
        for name in ("manual.md", "letter.docx"):
            (office / name).unlink()
        await system.ingest(office)
        assert contents(await read(system, "kb_search", query="lantern dusk moss buoy")) == []
        assert len(person.asked) == 3 and len(person.asked[-1].candidates) == 2


async def test_a72_rows_and_statements_of_files_that_are_gone_go_too(tmp_path: Path, office: Path) -> None:
    person = Person(answer=False)
    async with open_system(tmp_path, approver=person, **ALL_SURFACES) as system:
        (office / "more").mkdir()
        (office / "more" / "berths.csv").write_text("berth,depth\nwest,7\n")
        await system.ingest(office)
        for name in ("berths.csv", "tugs.xlsx", "crew.ttl"):
            (office / name).unlink()
        kept = await system.ingest(office)
        assert sorted(uri.rpartition("/")[2] for uri in kept.gone) == ["berths.csv", "crew.ttl", "tugs.xlsx"]
        assert len(list(await system.sql("SELECT berth FROM berths"))) == 3
        asked = {request.tool: request.candidates[0].rpartition("/")[2] for request in person.asked}
        assert asked["graph_delete"] == "crew.ttl: 1 statement"
        person.answer = True
        dropped = await system.ingest(office)
        assert dropped.gone == ()
        assert all(receipt.status in ("stored", "unchanged") for receipt in dropped.receipts)
        assert list(await system.sql("SELECT berth FROM berths")) == [("west",)]
        assert len((await read(system, "db_list_tables")).data["tables"]) == 1
        assert (await read(system, "graph_stats")).data["statements"] == 0
        person.asked.clear()
        assert ((await system.ingest(office)).gone, person.asked) == ((), [])


async def test_a72_without_a_person_what_is_gone_is_told_and_left(tmp_path: Path, office: Path) -> None:
    async with open_system(tmp_path, **ALL_SURFACES) as system:
        await system.ingest(office)
        (office / "guide.md").unlink()
        result = await system.ingest(office)
        assert result.status == "unchanged" and len(result.gone) == 1
        assert contents(await read(system, "kb_search", query="lantern dusk"))


async def test_a72_only_what_is_really_gone_goes(tmp_path: Path, office: Path) -> None:
    person = Person(answer=True)
    other = tmp_path / "office-two"
    other.mkdir()
    (other / "a.md").write_text("The heron nests.")
    (office / "sub").mkdir()
    (office / "sub" / "b.md").write_text("The otter swims.")
    async with open_system(tmp_path, approver=person, **ALL_SURFACES) as system:
        await system.ingest([office, other])
        (office / ".gitignore").write_text("sub/\n")
        await system.ingest(office / "guide.md")
        result = await system.ingest(office)
        assert (result.gone, person.asked) == ((), []), "ignored, of another folder, or not looked at: still there"
        assert len(contents(await read(system, "kb_search", query="heron otter"))) == 2


async def test_a_store_that_fails_midway_keeps_the_receipts_before_it(
    tmp_path: Path, office: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_system(tmp_path, **ALL_SURFACES) as system:
        intents = system.services.control.intents
        propose, calls = intents.propose, []

        async def failing(spec, *args):
            calls.append(spec.name)
            if calls.count("kb_add_path") == 2:
                raise StoreError("no room on the disk", code="store_error.full", retryable=True)
            return await propose(spec, *args)

        monkeypatch.setattr(intents, "propose", failing)
        result = await system.ingest(office)
        assert result.status == "partial" and "no room" in result.answer
        assert sorted(receipt.result.surface for receipt in result.receipts) == ["db", "db", "graph", "kb", "skills"]
        monkeypatch.undo()
        assert (await system.ingest(office)).status == "stored"


async def test_a32_the_same_table_again_is_unchanged_and_comes_back_after_it_was_dropped(
    tmp_path: Path, office: Path
) -> None:
    async with open_system(tmp_path, approver=Person(answer=True), **ALL_SURFACES) as system:
        assert (await system.ingest(office / "berths.csv")).status == "stored"
        assert (await system.ingest(office / "berths.csv")).status == "unchanged"
        assert status(await write(system, "db_drop_table", table="berths")) == "stored"
        assert (await system.ingest(office / "berths.csv")).status == "stored"
        assert (await read(system, "db_list_tables")).data["tables"] == [
            {"table": "berths", "rows": 2, "columns": {"berth": "VARCHAR", "depth": "BIGINT"}}
        ]
