"""Word documents by mammoth: styles to HTML, and that to Markdown."""

from __future__ import annotations

import io

import mammoth

from datamind_documents.archive import open_archive, read_xml
from datamind_documents.properties import core_title
from datamind_documents.readers.html import to_markdown
from datamind_documents.reading import Bounds, ReadDocument


def read(content: bytes, bounds: Bounds) -> ReadDocument:
    """Headings, paragraphs, lists, tables and notes; pictures and what lies outside the file are left out."""
    with open_archive(content, "DOCX", bounds) as archive:
        title = core_title(archive)
        read_xml(archive, "word/document.xml")  # mammoth would take what it finds; this says what is missing or odd
    converted = mammoth.convert_to_html(
        io.BytesIO(content), convert_image=mammoth.images.img_element(_no_image), external_file_access=False
    )
    return ReadDocument(to_markdown(converted.value, bounds), title)


def _no_image(_: object) -> dict[str, str]:
    return {}
