"""Documents that are broken, hostile or something else: one line, one code, and the loader goes on."""

from __future__ import annotations

import io
import os
import struct
import zipfile

import anyio
import pytest

from datamind.core.errors import DataMindError
from datamind.core.protocols.ingest import LoadLimits
from datamind_documents.loader import open_loader
from datamind_documents.options import DocumentsOptions
from tests.support.documents import encrypted_pdf, make_docx, make_pdf, make_zip, paragraph

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PDF = "application/pdf"
GOOD = make_docx(paragraph("The crane is free."))
BIG = make_pdf([f"page {number}" for number in range(3000)])


@pytest.fixture
async def loader():
    opened = await open_loader(None, DocumentsOptions(address_space=1024**3))
    yield opened
    assert "crane" in (await opened.load(GOOD, media_type=DOCX, limits=LoadLimits(1 << 20))).text, "it goes on"
    await opened.aclose()


async def refused(loader, content: bytes, media_type: str, **limits: float) -> DataMindError:
    with pytest.raises(DataMindError) as raised:
        await loader.load(content, media_type=media_type, limits=LoadLimits(64 << 20, **limits))
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300
    return raised.value


def a_zip_bomb() -> bytes:
    return make_zip({"word/document.xml": b"<w>" + b" " * (64 << 20) + b"</w>"})


def a_bomb_that_declares_little() -> bytes:
    """Its directory says 1 kB where 32 MB follow."""
    content = bytearray(make_zip({"word/document.xml": b" " * (32 << 20)}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = content.index(signature) + offset
        content[place : place + 4] = struct.pack("<I", 1024)
    return bytes(content)


def overlapping_parts() -> bytes:
    """Two hundred names for one part of 64 kB."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"a" * 65536)
        first = archive.infolist()[0]
        for number in range(200):
            twin = zipfile.ZipInfo(f"word/{number}.xml")
            for name in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(twin, name, getattr(first, name))
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin
        archive._didModify = True
    return out.getvalue()


def an_encrypted_office_file() -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "EncryptedPackage".encode("utf-16-le") + bytes(512)


CASES = [
    (encrypted_pdf("secret"), PDF, "source_unreadable.encrypted"),
    (make_pdf(["cut off"])[:150], PDF, "source_unreadable.broken"),
    (b"%PDF-1.7\n" + os.urandom(4096), PDF, "source_unreadable.broken"),
    (make_pdf([""]), PDF, "source_unreadable.no_text"),
    (GOOD, PDF, "source_unreadable.other_format"),
    (b"", PDF, "source_unreadable.empty"),
    (a_zip_bomb(), DOCX, "limit_exceeded.unpacked"),
    (a_bomb_that_declares_little(), DOCX, "source_unreadable.broken"),
    (overlapping_parts(), DOCX, "limit_exceeded.unpacked"),
    (an_encrypted_office_file(), DOCX, "source_unreadable.encrypted"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1024), DOCX, "source_unreadable.other_format"),
    (make_pdf(["a PDF"]), DOCX, "source_unreadable.other_format"),
    (GOOD[: len(GOOD) // 2], DOCX, "source_unreadable.broken"),
    (make_docx("<w:p>no end"), DOCX, "source_unreadable.broken"),
    (b"<p>" + b"\0" * 100, "text/html", "source_unreadable.binary"),
    (b"<html><body><script>x()</script></body></html>", "text/html", "source_unreadable.no_text"),
]


@pytest.mark.parametrize(
    ("content", "media_type", "code"), CASES, ids=[f"{i}-{case[2]}" for i, case in enumerate(CASES)]
)
async def test_each_kind_of_bad_document_has_its_code(loader, content, media_type, code):
    assert (await refused(loader, content, media_type)).code == code


async def test_an_encrypted_pdf_that_opens_without_a_password_is_read(loader):
    found = await loader.load(encrypted_pdf(""), media_type=PDF, limits=LoadLimits(1 << 20))
    assert "vault code" in found.text


async def test_entities_of_xml_are_not_expanded(loader):
    laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    body = make_docx("<w:p/>")
    content = make_zip({"word/document.xml": f"{laughs}<w>&b;</w>", "[Content_Types].xml": "<x/>"})
    assert (await refused(loader, content, DOCX)).code == "source_unreadable.broken"
    assert (await refused(loader, body, DOCX)).code == "source_unreadable.no_text"


async def test_pages_without_end_cost_only_that_document(loader):
    pages = make_pdf(["page"])
    endless = pages.replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]")  # a page tree that contains itself
    assert endless != pages
    error = await refused(loader, endless, PDF, timeout_s=5.0)
    assert error.code in ("source_unreadable.broken", "source_unreadable.no_text", "limit_exceeded.time")


async def test_a_document_that_takes_too_long_is_given_up():
    loader = await open_loader(None, DocumentsOptions(timeout_s=0.1))
    error = await refused(loader, BIG, PDF)
    assert error.code == "limit_exceeded.time" and "engine" not in str(error)
    await loader.aclose()


async def test_a_document_that_needs_too_much_memory_is_given_up():
    loader = await open_loader(None, DocumentsOptions(address_space=512 * 1024**2))
    cells = "<td>" + "x" * 1000 + "</td>"
    page = f"<html><table><tr>{cells * 60_000}</tr></table>"
    error = await refused(loader, page.encode(), "text/html")
    assert error.code in ("limit_exceeded.memory", "source_unreadable.crashed")
    assert "engine" not in str(error)
    await loader.aclose()


async def test_a_document_that_ends_the_reading_process_is_one_document(loader):
    await loader.load(GOOD, media_type=DOCX, limits=LoadLimits(1 << 20))
    child = loader._host._session._child

    async def end_it() -> None:
        await anyio.sleep(0.1)
        child.kill()

    async with anyio.create_task_group() as group:
        group.start_soon(end_it)
        error = await refused(loader, BIG, PDF)
    assert error.code == "source_unreadable.crashed"
