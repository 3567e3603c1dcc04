"""The path cases through the gate of a whole system: whoever calls, a file outside is neither stored nor shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamind.core.types import Role
from tests.support.ledger_jobs import ledger_of
from tests.support.path_cases import APART, EXPECTED_TEXT, LATER, SECRET, PathCase, build, read_cases
from tests.support.systems import contents, open_system, read, write

NOW = [case for case in read_cases() if case.id not in LATER and case.id not in APART]


def everything_written(folder: Path) -> bytes:
    """What our own files hold: the secret itself lies beside the profile, not in it."""
    kept = (folder / "storage", folder / "keys")
    return b"".join(path.read_bytes() for place in kept for path in place.rglob("*") if path.is_file())


@pytest.mark.parametrize("case", NOW, ids=lambda case: case.id)
async def test_path_case_through_the_gate(case: PathCase, tmp_path: Path) -> None:
    root = build(case, tmp_path / "data" / "profiles")
    path = case.input.replace("{A}", str(root))
    async with open_system(tmp_path, profile="p1") as system:
        outcome = await write(system, "kb_add_file", path=path)
        if case.expected == "ok":
            text = EXPECTED_TEXT.get(case.id, f"text of {Path(path).name}")
            assert not outcome.is_error, outcome.message
            assert contents(await read(system, "kb_get", document=outcome.receipts[0].result.ids[0])) == [text]
            return
        folder = await write(system, "kb_add_path", path=path)
        seen = await read(system, "kb_list_documents")
        for told in (outcome, folder):
            assert told.is_error, told
            assert told.code.partition(".")[0] in ("path_denied", "not_found", "approval_required"), told
            assert SECRET not in told.to_text()
        assert seen.data["total"] == 0
    assert SECRET.encode() not in everything_written(tmp_path)
    assert ledger_of(tmp_path)["audit"] == []


@pytest.mark.parametrize("case", NOW, ids=lambda case: case.id)
async def test_path_case_in_a_folder_that_is_stored_whole(case: PathCase, tmp_path: Path) -> None:
    root = build(case, tmp_path / "data" / "profiles")
    async with open_system(tmp_path, profile="p1") as system:
        result = await system.ingest(root)
        assert {receipt.status for receipt in result.receipts} <= {"stored", "failed"}
        assert (await system.call("kb_count", {}, role=Role.RETRIEVE)).data["documents"] >= 3
        assert contents(await read(system, "kb_search", query="canary secret outside")) == []
    assert SECRET.encode() not in everything_written(tmp_path)


async def test_p048_p049_names_of_every_kind_are_stored_apart(tmp_path: Path) -> None:
    home = tmp_path / "data" / "profiles" / "p1"
    home.mkdir(parents=True)
    names = [
        b"\xff\xfe.txt",
        b"\\xff\\xfe.txt",
        "e\u0301.txt".encode(),
        "\u00e9.txt".encode(),
        b"a\nb.txt",
        b"a\\nb.txt",
    ]
    for number, name in enumerate(names):
        Path(f"{home}/".encode().decode() + name.decode("utf-8", "surrogateescape")).write_text(f"text {number}")
    async with open_system(tmp_path, profile="p1") as system:
        result = await system.ingest(home)
        assert [receipt.status for receipt in result.receipts] == ["stored"] * len(names)
        documents = (await read(system, "kb_list_documents")).data["documents"]
        assert len({document["uri"] for document in documents}) == len(names)
        again = await system.ingest(home)
        assert again.status == "unchanged"


async def test_p066_encodings_are_read_or_refused_with_a_receipt_that_says_which(tmp_path: Path) -> None:
    home = tmp_path / "data" / "profiles" / "p1"
    home.mkdir(parents=True)
    (home / "u16.txt").write_bytes("Grüße aus Zürich, 你好".encode("utf-16"))
    (home / "l1.txt").write_bytes("Die Fähre fährt über Köln nach Düsseldorf.".encode("latin-1"))
    (home / "bin.dat").write_bytes(bytes(range(256)) * 4)
    async with open_system(tmp_path, profile="p1") as system:
        result = await system.ingest(home)
        told = {receipt.source.uri.rpartition(":")[2]: receipt for receipt in result.receipts if receipt.source}
        assert told["u16.txt"].status == "stored"
        assert told["u16.txt"].result.detected.encoding.startswith("utf-16")
        assert told["bin.dat"].status == "failed"
        assert "Grüße aus Zürich, 你好" in contents(await read(system, "kb_search", query="Zürich"))[0]
        if told["l1.txt"].status == "stored":
            assert told["l1.txt"].result.detected.encoding
            assert "Fähre" in contents(await read(system, "kb_search", query="Köln Düsseldorf"))[0]
        else:
            assert told["l1.txt"].result.error is not None
            assert told["l1.txt"].result.error.code.startswith("source_unreadable")
