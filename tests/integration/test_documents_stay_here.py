"""A document is read here: nothing of it, and nothing it names, is asked for outside."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from datamind.core.protocols.ingest import LoadLimits
from datamind.engine_host import EngineRequest
from datamind.testing.conformance.loaders import watched
from datamind_documents.engine import make_engine
from datamind_documents.loader import open_loader
from datamind_documents.options import DocumentsOptions
from tests.support.documents import make_docx, make_eml, make_epub, make_pdf, make_zip, paragraph

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A place outside that the documents point to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def documents_that_point_to(url: str) -> list[tuple[str, bytes]]:
    page = (
        f"<html><head><base href='{url}'><link rel='stylesheet' href='{url}/s.css'><script src='{url}/x.js'></script>"
        f"</head><body><p>Berth three.</p><img src='{url}/a.png'><iframe src='{url}/f'></iframe>"
        f"<object data='{url}/o'></object></body></html>"
    )
    relation = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="i1"'
        ' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" TargetMode="External"'
        f' Target="{url}/a.png"/></Relationships>'
    )
    picture = (
        '<w:p><w:r><w:drawing><a:blip xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
        ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:link="i1"/></w:drawing>'
        "</w:r></w:p>"
    )
    plain = make_docx(paragraph("Berth three.") + picture)
    linked = make_zip({"word/_rels/document.xml.rels": relation, **parts_of(plain)})
    doctype = f'<!DOCTYPE html SYSTEM "{url}/x.dtd">'
    return [
        ("text/html", page.encode()),
        ("text/html", (doctype + page).encode()),
        (DOCX, linked),
        ("application/epub+zip", make_epub([f"{doctype}{page}"], "Book")),
        ("message/rfc822", make_eml("Berth", "", html=page)),
        ("application/pdf", make_pdf([f"Berth three, see {url}"])),
    ]


def parts_of(content: bytes) -> dict[str, bytes]:
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("document.xml.rels")}


async def test_a80_no_document_is_sent_anywhere(listener):
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    loader = await open_loader(None, DocumentsOptions())
    for media_type, content in documents_that_point_to(url):
        found = await loader.load(content, media_type=media_type, limits=LoadLimits(1 << 20))
        assert "Berth" in found.text
    await loader.aclose()
    with pytest.raises(BlockingIOError):
        listener.accept()  # not even a connection has come


def test_a80_the_reading_process_opens_no_socket_and_no_file(listener):
    engine = make_engine({"max_unpacked_bytes": 1 << 20})
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def read_all() -> None:
        for media_type, content in documents_that_point_to(url):
            args = {"media_type": media_type, "max_characters": 1 << 20}
            engine.read(EngineRequest(args, (memoryview(content),)))

    read_all()  # modules and tables that are loaded on first use
    with watched() as opened:
        read_all()
    assert opened == []
