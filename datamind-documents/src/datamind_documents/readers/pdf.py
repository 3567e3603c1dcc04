"""PDF by pypdf: text of each page."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

from pypdf import PasswordType, PdfReader
from pypdf.errors import DependencyError, PyPdfError

from datamind_documents.archive import encrypted
from datamind_documents.reading import Bounds, ReadDocument, clean_title, join_pages, other_format

_HEADER_WITHIN = 1024  # readers accept junk before the header, as some mail systems put there


def read(content: bytes, bounds: Bounds) -> ReadDocument:
    """Every page's text; a page that is a picture gives an empty one."""
    if b"%PDF-" not in content[:_HEADER_WITHIN]:
        raise other_format("PDF", content)
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every oddity that it then copes with
    reader = PdfReader(io.BytesIO(content), strict=False)
    if reader.is_encrypted and not _opens_without_password(reader):
        raise encrypted("PDF")
    text, pages = join_pages(_page_texts(reader), bounds)
    return ReadDocument("" if not text.strip() else text, _title(reader), pages)


def _opens_without_password(reader: PdfReader) -> bool:
    try:
        return reader.decrypt("") is not PasswordType.NOT_DECRYPTED
    except (DependencyError, NotImplementedError):
        return False


def _page_texts(reader: PdfReader) -> Iterator[str]:
    for page in reader.pages:
        yield page.extract_text()


def _title(reader: PdfReader) -> str:
    try:
        return clean_title(reader.metadata.title if reader.metadata else "")
    except (PyPdfError, ValueError, TypeError, KeyError):
        return ""  # a damaged title is no reason to refuse the pages
