"""Presentations: titles, texts, tables and notes of each slide, from the slides' own XML."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element

from datamind.core.errors import NotFound
from datamind_documents.archive import open_archive, read_xml
from datamind_documents.properties import core_title
from datamind_documents.reading import Bounds, ReadDocument, join_pages, markdown_table

if TYPE_CHECKING:
    from zipfile import ZipFile

_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P: Final = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_TITLES: Final = frozenset({"title", "ctrTitle"})
_FURNITURE: Final = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})


def read(content: bytes, bounds: Bounds) -> ReadDocument:
    """One page for each slide, in the order of the presentation."""
    with open_archive(content, "PPTX", bounds) as archive:
        slides = (_slide_text(archive, name, bounds) for name in _slide_names(archive))
        text, pages = join_pages(slides, bounds)
        return ReadDocument(text, core_title(archive), pages)


def _slide_names(archive: ZipFile) -> list[str]:
    targets = _relations(archive, "ppt/presentation.xml")
    tree = read_xml(archive, "ppt/presentation.xml")
    return [targets[slide.attrib[f"{_R}id"]][1] for slide in tree.iter(f"{_P}sldId")]


def _relations(archive: ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Relations of a part: id to kind and the part's name."""
    folder, name = posixpath.split(part)
    try:
        tree = read_xml(archive, f"{folder}/_rels/{name}.rels")
    except NotFound:
        return {}
    return {
        relation.attrib["Id"]: (
            relation.attrib["Type"].rpartition("/")[2],
            posixpath.normpath(posixpath.join(folder, relation.attrib["Target"])).lstrip("/"),
        )
        for relation in tree
        if relation.attrib.get("TargetMode") != "External"
    }


def _slide_text(archive: ZipFile, name: str, bounds: Bounds) -> str:
    parts = list(_shapes(read_xml(archive, name), bounds))
    notes = [target for kind, target in _relations(archive, name).values() if kind == "notesSlide"]
    for note in notes:
        parts += [f"Notes: {text}" for text in _shapes(read_xml(archive, note), bounds) if text]
    return "\n\n".join(part for part in parts if part)


def _shapes(tree: Element, bounds: Bounds) -> Iterator[str]:
    for shape in tree.iter():
        if shape.tag == f"{_P}sp":
            yield _shape_text(shape)
        elif shape.tag == f"{_A}tbl":
            rows = ([_text(cell) for cell in row.iter(f"{_A}tc")] for row in shape.iter(f"{_A}tr"))
            yield markdown_table(rows, bounds)


def _shape_text(shape: Element) -> str:
    placeholder = shape.find(f".//{_P}nvPr/{_P}ph")
    kind = "" if placeholder is None else placeholder.attrib.get("type", "")
    if kind in _FURNITURE:
        return ""
    text = "\n".join(line for paragraph in shape.iter(f"{_A}p") if (line := _text(paragraph).strip()))
    return f"## {' '.join(text.split())}" if kind in _TITLES and text else text


def _text(element: Element) -> str:
    pieces = (node.text or "" if node.tag == f"{_A}t" else "\n" for node in element.iter() if node.tag in _TEXT_NODES)
    return "".join(pieces)


_TEXT_NODES: Final = frozenset({f"{_A}t", f"{_A}br"})
