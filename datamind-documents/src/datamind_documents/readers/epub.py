"""Electronic books: the chapters of the spine, by html-to-markdown."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from datamind.core.errors import NotFound, SourceUnreadable
from datamind_documents.archive import open_archive, read_part, read_xml
from datamind_documents.decoding import decode_markup
from datamind_documents.readers.html import to_markdown
from datamind_documents.reading import Bounds, ReadDocument, check_length, clean_title

if TYPE_CHECKING:
    from zipfile import ZipFile

_CONTAINER: Final = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_OPF: Final = "{http://www.idpf.org/2007/opf}"
_DC: Final = "{http://purl.org/dc/elements/1.1/}"
_CHAPTERS: Final = frozenset({"application/xhtml+xml", "text/html"})


def read(content: bytes, bounds: Bounds) -> ReadDocument:
    """The text of every chapter, in reading order."""
    with open_archive(content, "EPUB", bounds) as archive:
        package = _package_name(archive)
        tree = read_xml(archive, package)
        folder = posixpath.dirname(package)
        items = {
            item.attrib["id"]: posixpath.normpath(posixpath.join(folder, unquote(item.attrib["href"])))
            for item in tree.iter(f"{_OPF}item")
            if item.attrib.get("media-type") in _CHAPTERS
        }
        parts: list[str] = []
        for place in tree.iter(f"{_OPF}itemref"):
            if name := items.get(place.attrib.get("idref", "")):
                parts.append(to_markdown(decode_markup(read_part(archive, name))[0], bounds))
                check_length(sum(map(len, parts)), bounds)
        return ReadDocument("\n".join(parts), clean_title(tree.findtext(f".//{_DC}title")))


def _package_name(archive: ZipFile) -> str:
    try:
        tree = read_xml(archive, "META-INF/container.xml")
    except NotFound:
        raise SourceUnreadable(
            "the bytes are a zip archive, not EPUB.", code="source_unreadable.other_format"
        ) from None
    found = tree.find(f".//{_CONTAINER}rootfile")
    if found is None:
        raise ValueError("no rootfile")
    return found.attrib["full-path"]
