"""Media types, and the module that reads each; the modules are imported in the child alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_OFFICE: Final = "application/vnd.openxmlformats-officedocument"

READERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "application/pdf": "pdf",
        f"{_OFFICE}.wordprocessingml.document": "docx",
        f"{_OFFICE}.presentationml.presentation": "pptx",
        f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
        "text/html": "html",
        "text/csv": "delimited",
        "text/tab-separated-values": "delimited",
        "application/epub+zip": "epub",
        "message/rfc822": "eml",
    }
)
"""``datamind_documents.readers.<name>`` of each media type."""
