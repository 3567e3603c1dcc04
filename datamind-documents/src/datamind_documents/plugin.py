"""Registers a loader for each document format; one provider reads them all."""

from __future__ import annotations

from datamind.plugins import PLUGIN_API as _CURRENT_API
from datamind.plugins import ProviderKind, ProviderSpec, hookimpl

PLUGIN_API = _CURRENT_API

_FORMATS = {
    "csv": "CSV and TSV files as documents.",
    "docx": "Word documents.",
    "eml": "E-mail messages.",
    "epub": "Electronic books.",
    "html": "Web pages.",
    "pdf": "PDF, page by page.",
    "pptx": "Presentations, slide by slide.",
    "xlsx": "Workbooks as documents.",
}


@hookimpl
def datamind_register_providers() -> list[ProviderSpec]:
    """A spec for each format, so that another distribution can be told apart by the format it claims too."""
    return [
        ProviderSpec(
            ProviderKind.INGEST_LOADER,
            name,
            "datamind_documents.loader:open_loader",
            "datamind_documents.options:DocumentsOptions",
            summary,
        )
        for name, summary in _FORMATS.items()
    ]
