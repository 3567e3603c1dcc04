"""A profile as one file, and a profile out of one: equal on every surface, or not there at all."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import io
import json
import os
import random
import shutil
import sqlite3
import stat
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from datamind.agent import import_profile
from datamind.agent.importing import finish_or_clear
from datamind.capabilities.control.audit import GENESIS, record_hash
from datamind.core.archive import ArchiveWriter, Manifest
from datamind.core.errors import DataMindError, InputInvalid, SourceUnreadable, StoreError
from datamind.core.record import now
from datamind.core.saved_page import read_saved, to_json
from tests.support.engine_kills import KB
from tests.support.portable import everything, fill, open_portable
from tests.support.systems import settings_in, write


def settings(base: Path) -> Any:
    return settings_in(base, kb={"backend": KB}, llm={"protocol": "offline"})


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], list[str]]:
    """An export, what the profile held, and its answers as they are saved."""
    base = tmp_path_factory.mktemp("home")

    async def make() -> tuple[dict[str, Any], list[str]]:
        await fill(base)
        async with open_portable(base, "p") as system:
            held = await everything(system)
            answers = [one["trace_id"] for one in map(json.loads, _column(base, "p", "SELECT body FROM answers"))]
            saved = [to_json(await system.save_answer(trace_id)) for trace_id in answers]
            report = await system.export(base / "out.zip", with_audit_key=True)
            assert not report.missing
            return held, saved

    held, saved = asyncio.run(make())
    return base / "out.zip", held, saved


def _column(base: Path, profile: str, query: str) -> list[Any]:
    with closing(sqlite3.connect(base / "storage" / profile / "control.db")) as db:
        return [row[0] for row in db.execute(query)]


def left_in(base: Path) -> list[str]:
    """Every file below a base folder but the audit keys."""
    return sorted(
        str(path.relative_to(base)) for path in base.rglob("*") if path.is_file() and "keys" not in path.parts
    )


@pytest.mark.parametrize("name", ["p", "q"])
async def test_a_round_trip_is_equal_on_every_surface(exported: Any, tmp_path: Path, name: str) -> None:
    path, held, saved = exported
    report = await import_profile(path, settings(tmp_path), profile=name)
    assert (report.profile, report.former, report.differences) == (name, "p", ())
    assert all(not repair.missing for repair in report.repairs)
    async with open_portable(tmp_path, name) as system:
        found = await everything(system)
        for part, value in held.items():
            assert found[part] == value, part
        for text in saved:
            verification = await system.verify(read_saved(text.encode(), "a.json"))
            assert not verification.problems
            assert {check.state for check in verification.citations} <= {"intact", "stale"}
        for body in found["ledger"]["receipts"]:
            receipt_id = json.loads(body[0])["receipt_id"]
            assert (await system.trace(receipt_id)).receipts[0].receipt_id == receipt_id
        assert not (await write(system, "memory_save", text="Life goes on.")).is_error
    assert not list((tmp_path / "storage").glob(".*"))


async def test_an_export_of_an_import_is_equal_again(exported: Any, tmp_path: Path) -> None:
    path, held, saved = exported
    await import_profile(path, settings(tmp_path), profile="q")
    async with open_portable(tmp_path, "q") as system:
        await system.export(tmp_path / "again.zip", with_audit_key=True)
    await import_profile(tmp_path / "again.zip", settings(tmp_path), profile="r")
    async with open_portable(tmp_path, "r") as system:
        found = await everything(system)
        assert {**found, "ledger": 0} == {**held, "ledger": 0}
        assert not (await system.verify(read_saved(saved[0].encode(), "a.json"))).problems
        again = await system.save_answer(json.loads(saved[0])["result"]["trace_id"])
        assert again.profile == "r" and not (await system.verify(again)).problems


async def test_the_audit_chain_goes_on_with_a_key_of_its_own(exported: Any, tmp_path: Path) -> None:
    path, _, _ = exported
    await import_profile(path, settings(tmp_path), profile="q")
    with closing(sqlite3.connect(tmp_path / "storage/q/control.db")) as db:
        meta = dict(db.execute("SELECT key, value FROM meta"))
        rows = db.execute("SELECT seq, at, trace_id, receipt_id, body, prev, hash, mac, epoch FROM audit ORDER BY seq")
        records = rows.fetchall()
    keys = {0: meta["audit_key.0"], 1: meta["profile_uid"]}
    assert keys[0] != keys[1]
    prev, epochs = GENESIS, []
    for seq, at, trace_id, receipt_id, body, told, hashed, mac, epoch in records:
        key = (tmp_path / "keys" / f"{keys[epoch]}.key").read_bytes()
        assert (told, hashed) == (prev, record_hash(seq, at, trace_id, receipt_id, body, prev))
        assert mac == hmac.new(key, hashed.encode(), hashlib.sha256).hexdigest()
        prev, epochs = hashed, [*epochs, epoch]
    assert epochs == sorted(epochs) and epochs[-1] == 1
    assert json.loads(records[-1][4])["kind"] == "imported"


async def test_the_audit_key_goes_along_only_when_asked_for(exported: Any, tmp_path: Path) -> None:
    path, _, _ = exported
    await import_profile(path, settings(tmp_path), profile="q")
    async with open_portable(tmp_path, "q") as system:
        report = await system.export(tmp_path / "out.zip")
    assert any("audit chain" in text for text in report.left_out)
    assert not [name for name in zipfile.ZipFile(tmp_path / "out.zip").namelist() if "key" in name]
    second = await import_profile(tmp_path / "out.zip", settings(tmp_path / "other"))
    assert any("their key is not here" in note for note in second.notes)


async def test_secrets_and_what_belongs_to_the_machine_stay(tmp_path: Path) -> None:
    home = tmp_path / "data/profiles/default"
    home.mkdir(parents=True)
    (home / "datamind.toml").write_text(
        '[retrieval]\nchunk_size = 300\n[llm]\nprotocol = "offline"\n[hooks]\npath_allowlist = false\n'
        '[embedding]\nprovider = "local"\n'
    )
    async with open_portable(tmp_path, "default") as system:
        await write(system, "kb_add_text", text="# A\n\n" + "The pump runs. " * 200, title="A")
        report = await system.export(tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        text = archive.read("datamind.toml").decode()
    assert "chunk_size = 300" in text and "hooks" not in text and "llm" not in text
    assert any("hooks.path_allowlist" in one for one in report.left_out)
    imported = await import_profile(tmp_path / "out.zip", settings(tmp_path), profile="q")
    assert imported.counts["kb"] == report.counts["kb"] and imported.counts["kb"]["chunks"] > 5


async def test_an_import_takes_no_settings_that_decide_what_may_run(tmp_path: Path) -> None:
    write_archive(tmp_path / "evil.zip", await control_of(tmp_path), {
        "datamind.toml": b'[hooks]\nenabled = false\n[retrieval]\ntop_k = 5\n[skills.options]\nextra_dirs = ["/etc"]\n'
    })  # fmt: skip
    report = await import_profile(tmp_path / "evil.zip", settings(tmp_path), profile="q")
    text = (tmp_path / "data/profiles/q/datamind.toml").read_text()
    assert "top_k = 5" in text and "hooks" not in text and "/etc" not in text
    assert any("hooks.enabled" in note for note in report.notes)


async def test_global_memories_stay(tmp_path: Path) -> None:
    async with open_portable(tmp_path, "p") as system:
        await write(system, "memory_save", text="The shop opens at nine.", scope="global")
        await write(system, "memory_save", text="The parrot is called Moss.")
        report = await system.export(tmp_path / "out.zip")
    assert any("global memories" in text for text in report.left_out)
    assert b"nine" not in b"".join(map(zipfile.ZipFile(tmp_path / "out.zip").read, ["control.db", "memories.jsonl"]))


async def test_an_existing_profile_is_never_touched(exported: Any, tmp_path: Path) -> None:
    path, _, _ = exported
    async with open_portable(tmp_path, "p") as system:
        await write(system, "memory_save", text="Mine.")
    before = left_in(tmp_path)
    with pytest.raises(InputInvalid) as caught:
        await import_profile(path, settings(tmp_path))
    assert caught.value.code == "input_invalid.profile_exists"
    assert left_in(tmp_path) == before


async def test_an_export_replaces_nothing_unasked(exported: Any, tmp_path: Path) -> None:
    (tmp_path / "out.zip").write_text("mine")
    async with open_portable(tmp_path, "p") as system:
        await write(system, "memory_save", text="Mine.")
        with pytest.raises(InputInvalid, match="exists"):
            await system.export(tmp_path / "out.zip")
        assert (tmp_path / "out.zip").read_text() == "mine"
        await system.export(tmp_path / "out.zip", replace=True)
    assert zipfile.is_zipfile(tmp_path / "out.zip")
    assert not list((tmp_path / "storage/p").glob(".export*"))


async def test_no_flipped_byte_is_taken(exported: Any, tmp_path: Path) -> None:
    content = exported[0].read_bytes()
    dice = random.Random(11)
    places = [0, 4, len(content) - 1, len(content) - 70, *(dice.randrange(len(content)) for _ in range(96))]
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << dice.randrange(8)
        (tmp_path / "bad.zip").write_bytes(changed)
        with pytest.raises(SourceUnreadable) as caught:
            await import_profile(tmp_path / "bad.zip", settings(tmp_path), profile="q")
        assert "\n" not in str(caught.value), place
    assert left_in(tmp_path) == ["bad.zip"]


@pytest.mark.parametrize("size", [0, 1, 100, -1, -64, -200, 0.5])
async def test_no_truncated_file_is_taken(exported: Any, tmp_path: Path, size: float) -> None:
    content = exported[0].read_bytes()
    cut = int(size) if abs(size) >= 1 or not size else int(len(content) * size)
    (tmp_path / "bad.zip").write_bytes(content[:cut])
    with pytest.raises(SourceUnreadable):
        await import_profile(tmp_path / "bad.zip", settings(tmp_path), profile="q")
    assert left_in(tmp_path) == ["bad.zip"]


async def control_of(base: Path) -> bytes:
    """A control.db of an honest export."""
    async with open_portable(base / "honest", "p") as system:
        await write(system, "memory_save", text="Mine.")
        await system.export(base / "honest.zip")
    content = zipfile.ZipFile(base / "honest.zip").read("control.db")
    shutil.rmtree(base / "honest")
    (base / "honest.zip").unlink()
    return content


def write_archive(
    path: Path,
    control: bytes,
    others: dict[str, bytes],
    *,
    change: Callable[[zipfile.ZipInfo], None] = lambda info: None,
    **manifest: Any,
) -> None:
    """A file whose every hash is right, by somebody who knows how exports are made."""
    from datamind.core import archive

    original = archive._info

    def info(name: str) -> zipfile.ZipInfo:
        made = original(name)
        change(made)
        return made

    archive._info = info
    try:
        with path.open("wb") as file:
            out = ArchiveWriter(file)
            for name, content in {"control.db": control, **others}.items():
                out.add(name, [content])
            told = {"format": 1, "product": "1.0.0", "profile": "p", "exported_at": now(), **manifest}
            out.close(Manifest(**told))
    finally:
        archive._info = original


@pytest.mark.parametrize(
    "name",
    [
        "../evil", "/etc/evil", "skills/../../evil", "skills/a/../b", "C:/evil", "skills\\..\\evil", "blobs/aa/evil",
        "unknown.txt", "skills/", "skills//a", "./control", "skills/a\nb", "keys/../../x.key", "storage/p/x",
    ],
)  # fmt: skip
async def test_a_name_that_an_export_never_has_is_refused(tmp_path: Path, name: str) -> None:
    write_archive(tmp_path / "evil.zip", await control_of(tmp_path), {name: b"evil"})
    before = left_in(tmp_path)
    with pytest.raises(SourceUnreadable) as caught:
        await import_profile(tmp_path / "evil.zip", settings(tmp_path), profile="q")
    assert caught.value.code in ("source_unreadable.unsafe_export", "source_unreadable.damaged_export")
    assert "\n" not in str(caught.value)
    assert left_in(tmp_path) == before and not (tmp_path.parent / "evil").exists()


async def test_a_link_is_refused(tmp_path: Path) -> None:
    def link(info: zipfile.ZipInfo) -> None:
        if info.filename.startswith("skills"):
            info.external_attr = (stat.S_IFLNK | 0o777) << 16

    write_archive(tmp_path / "evil.zip", await control_of(tmp_path), {"skills/a": b"/etc/passwd"}, change=link)
    with pytest.raises(SourceUnreadable, match="no honest export"):
        await import_profile(tmp_path / "evil.zip", settings(tmp_path), profile="q")


async def test_a_bomb_is_refused_unpacked(tmp_path: Path) -> None:
    write_archive(tmp_path / "evil.zip", await control_of(tmp_path), {"skills/a": bytes(100 * 1024**2)})
    with pytest.raises(SourceUnreadable, match="would unpack to"):
        await import_profile(tmp_path / "evil.zip", settings(tmp_path), profile="q")
    assert left_in(tmp_path) == ["evil.zip"]


async def test_another_format_is_refused(tmp_path: Path) -> None:
    write_archive(tmp_path / "new.zip", await control_of(tmp_path), {}, format=2)
    with pytest.raises(SourceUnreadable) as caught:
        await import_profile(tmp_path / "new.zip", settings(tmp_path), profile="q")
    assert caught.value.code == "source_unreadable.export_version"


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER evil AFTER INSERT ON audit BEGIN DELETE FROM receipts; END",
        "CREATE VIEW evil AS SELECT 1",
        "CREATE TABLE evil (a)",
        "DELETE FROM meta",
        "PRAGMA user_version = 0",
    ],
)
async def test_a_control_db_with_more_than_ours_is_refused(tmp_path: Path, statement: str) -> None:
    (tmp_path / "control").write_bytes(await control_of(tmp_path))
    with closing(sqlite3.connect(tmp_path / "control")) as db:
        db.execute(statement)
        db.commit()
    write_archive(tmp_path / "evil.zip", (tmp_path / "control").read_bytes(), {})
    with pytest.raises(SourceUnreadable, match="not one that DataMind made"):
        await import_profile(tmp_path / "evil.zip", settings(tmp_path), profile="q")
    assert left_in(tmp_path) == ["control", "evil.zip"]


async def test_a_zip_of_something_else_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("a.txt", "hello")
    (tmp_path / "text.zip").write_text("hello")
    for name in ("other.zip", "text.zip"):
        with pytest.raises(SourceUnreadable):
            await import_profile(tmp_path / name, settings(tmp_path), profile="q")


async def test_missing_content_is_told_by_both(tmp_path: Path) -> None:
    await fill(tmp_path)
    (blob,) = (tmp_path / "storage/p/blobs").glob("*/*")
    blob.write_bytes(b"x" + blob.read_bytes()[1:])
    async with open_portable(tmp_path, "p") as system:
        report = await system.export(tmp_path / "out.zip")
    assert report.missing == (blob.name,)


def test_an_import_that_was_killed_leaves_nothing_or_all(exported: Any, tmp_path: Path) -> None:
    """Killed at its start and at any time in it; what it left is seen to by the next."""
    dice = random.Random(5)
    outcomes = set()
    for _ in range(8):
        pid = os.fork()
        if not pid:
            try:
                asyncio.run(import_profile(exported[0], settings(tmp_path), profile="q"))
            finally:
                os._exit(0)
        asyncio.run(asyncio.sleep(dice.uniform(0.05, 2.0)))
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        finish_or_clear(tmp_path)
        assert not list((tmp_path / "storage").glob(".*"))
        there = (tmp_path / "storage/q").exists()
        assert there or not (tmp_path / "data/profiles/q").exists()
        outcomes.add(there)
        if there:
            assert asyncio.run(_held(tmp_path)) == exported[1]["memories"]
            shutil.rmtree(tmp_path / "storage/q")
            shutil.rmtree(tmp_path / "data/profiles/q")
    assert False in outcomes


async def _held(base: Path) -> Any:
    async with open_portable(base, "q") as system:
        return (await everything(system))["memories"]


async def test_an_import_killed_between_its_two_moves_is_finished(
    exported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datamind.agent import importing

    def half(staged: Any, target: Any) -> None:
        staged.data_dir.rename(target.data_dir)
        shutil.copytree(staged.base_dir, tmp_path / "kept")
        raise OSError(5, "killed")

    monkeypatch.setattr(importing, "_move", half)
    with pytest.raises(StoreError):
        await import_profile(exported[0], settings(tmp_path), profile="q")
    assert not (tmp_path / "data/profiles/q").exists()
    monkeypatch.undo()
    (tmp_path / "kept").rename(tmp_path / "storage/.import-q.0000")
    (tmp_path / "data/profiles/q").mkdir()
    assert finish_or_clear(tmp_path) == ["the import of profile 'q' was finished"]
    assert await _held(tmp_path) == exported[1]["memories"]


async def test_an_export_waits_for_nobody_else(exported: Any, tmp_path: Path) -> None:
    """The lease is held meanwhile: a profile that another process uses is refused in one line."""
    from datamind.core.lock_file import LockFile

    async with open_portable(tmp_path, "p") as system:
        await write(system, "memory_save", text="Mine.")
        lock = LockFile(tmp_path / "storage/p/lease")
        assert lock.try_take()
        with pytest.raises(DataMindError) as caught:
            await system.export(tmp_path / "out.zip")
        lock.let_go()
    assert caught.value.code == "store_error.in_use"
    assert not (tmp_path / "out.zip").exists()


async def test_the_copies_for_other_programs_hold_what_the_stores_do(exported: Any) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with zipfile.ZipFile(exported[0]) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        tables = {
            name: parquet.read_table(io.BytesIO(archive.read(file))).to_pylist()
            for file, name in manifest["tables"].items()
        }
        memories = [json.loads(line) for line in archive.read("memories.jsonl").decode().splitlines()]
        quads = archive.read("graph.nq").decode()
    assert [row["编号"] for row in tables["货物"]] == ["007", "008"]
    assert sorted(row["name"] for row in tables["people"]) == ["Ada", "Bea", "Cy"]
    assert {"I live in Oslo.", "I live in Rome.", "鹦鹉名叫小苔。", "We talk about boats."} == {
        item["text"] for item in memories
    }
    assert '"码头"@zh' in quads
