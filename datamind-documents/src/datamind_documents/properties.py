"""The properties that every office file has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from datamind.core.errors import NotFound
from datamind_documents.archive import read_xml
from datamind_documents.reading import clean_title

if TYPE_CHECKING:
    from zipfile import ZipFile


def core_title(archive: ZipFile) -> str:
    """The title in the properties of an office file; empty without one."""
    try:
        tree = read_xml(archive, "docProps/core.xml")
    except (NotFound, SyntaxError):  # damaged properties are no reason to refuse the text
        return ""
    return clean_title(tree.findtext("{http://purl.org/dc/elements/1.1/}title"))
