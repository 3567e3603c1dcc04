"""Documents through the whole system: the loader follows the media type, and what the bytes show decides it."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamind.core.receipts import IngestReceipt
from datamind.plugins.discovery import installed_entry_points
from tests.support.documents import encrypted_pdf, make_docx, make_eml, make_epub, make_pdf, make_pptx, paragraph
from tests.support.systems import open_system, read

WORD = make_docx(paragraph("Moorings", "Heading1") + paragraph("The moss buoy is green."))


def a_folder_of(files: dict[str, bytes], folder: Path) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


async def ingested(system, folder: Path) -> dict[str, IngestReceipt]:
    result = await system.ingest(folder)
    return {receipt.source.uri.rpartition("/")[2]: receipt for receipt in result.receipts if receipt.source}


async def test_a_folder_of_documents_is_searchable_with_its_pages(tmp_path: Path) -> None:
    files = {
        "rules.pdf": make_pdf(["Nothing here.", "The lantern burns at dusk."]),
        "moorings.docx": WORD,
        "plan.pptx": make_pptx([("Spring", "Paint the ferry"), ("Autumn", "Haul the ferry out")]),
        "fog.eml": make_eml("Fog", "The whistle blows twice."),
        "pilots.epub": make_epub(["<h1>One</h1><p>The estuary shifts.</p>"], "Pilots"),
        "tides.html": b"<html><body><p>The neap tide is low.</p></body></html>",
    }
    async with open_system(tmp_path) as system:
        receipts = await ingested(system, a_folder_of(files, tmp_path / "docs"))
        assert {receipt.status for receipt in receipts.values()} == {"stored"} and receipts.keys() == files.keys()
        for query, page in (("lantern dusk", 2), ("haul ferry out", 2), ("moss buoy", None), ("estuary shifts", None)):
            found = (await read(system, "kb_search", query=query)).evidence[0]
            assert found.locator.page == page, query
        assert (await read(system, "kb_search", query="whistle twice")).evidence
        assert (await read(system, "kb_search", query="neap tide")).evidence


async def test_the_bytes_decide_what_a_file_is(tmp_path: Path) -> None:
    files = {
        "word.pdf": WORD,
        "word.txt": WORD,
        "pdf.docx": make_pdf(["The lantern burns at dusk."]),
        "page.md": b"<!DOCTYPE html>\n<html><body><p>The neap tide is low.</p></body></html>",
    }
    async with open_system(tmp_path) as system:
        receipts = await ingested(system, a_folder_of(files, tmp_path / "docs"))
        assert {receipt.status for receipt in receipts.values()} == {"stored"}
        types = {name: receipt.result.detected.media_type.rpartition(".")[2] for name, receipt in receipts.items()}
        assert types == {
            "word.pdf": "document",
            "word.txt": "document",
            "pdf.docx": "application/pdf",
            "page.md": "text/html",
        }


async def test_bad_documents_leave_the_others_alone(tmp_path: Path) -> None:
    files = {
        "a.pdf": encrypted_pdf("secret"),
        "b.pdf": make_pdf(["x"])[:150],
        "c.docx": b"",
        "d.md": bytes(range(256)) * 8,
        "e.md": b"",
        "f.txt": b"fine\0print",
        "g.bin": b"\x7fELF\0\0",
        "z.md": b"The bollard is red.",
    }
    expected = {
        "a.pdf": "source_unreadable.encrypted",
        "b.pdf": "source_unreadable.broken",
        "c.docx": "source_unreadable.empty",
        "d.md": "source_unreadable.binary",
        "e.md": "input_invalid.no_text",
        "f.txt": "source_unreadable.binary",
        "g.bin": "source_unreadable.no_loader",
        "z.md": "",
    }
    async with open_system(tmp_path) as system:
        receipts = await ingested(system, a_folder_of(files, tmp_path / "docs"))
        codes = {name: receipt.result.error.code if receipt.result.error else "" for name, receipt in receipts.items()}
        assert codes == expected
        assert (await system.surfaces())[1].items == 1, "nothing half-written"


async def test_a_missing_loader_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry_points = [point for point in installed_entry_points()[0] if point.name != "documents"]
    monkeypatch.setattr("datamind.plugins.host.installed_entry_points", lambda *_: (entry_points, []))
    async with open_system(tmp_path) as system:
        receipts = await ingested(system, a_folder_of({"a.pdf": make_pdf(["x"]), "b.md": b"fine"}, tmp_path / "docs"))
        assert receipts["b.md"].status == "stored"
        error = receipts["a.pdf"].result.error
        assert error is not None and error.code == "source_unreadable.no_loader"
        assert error.message == "no installed loader reads application/pdf. Run: pip install datamind-documents"


async def test_a_blocked_loader_says_that_it_is_blocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "documents")
    async with open_system(tmp_path) as system:
        receipts = await ingested(system, a_folder_of({"a.pdf": make_pdf(["x"]), "b.md": b"fine"}, tmp_path / "docs"))
        assert receipts["b.md"].status == "stored"
        error = receipts["a.pdf"].result.error
        assert error is not None and error.code == "plugin_error.broken" and "BLOCK" in error.message
