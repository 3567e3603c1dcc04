"""Which loader reads a media type: core's own for text, else a plugin's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from datamind.capabilities.hub import ProviderHub
from datamind.capabilities.ingest.loaders import EPUB, OFFICE, TextLoader
from datamind.core.errors import PluginError, SourceUnreadable
from datamind.core.protocols.ingest import FileLoader
from datamind.plugins import ProviderKind

LOADER_NAMES: Final = {
    "application/pdf": "pdf",
    f"{OFFICE}.wordprocessingml.document": "docx",
    f"{OFFICE}.presentationml.presentation": "pptx",
    f"{OFFICE}.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    EPUB: "epub",
    "message/rfc822": "eml",
}
"""Name of the loader of each media type that is known here; a plugin may bring loaders of other names and types."""


class LoaderShelf:
    """The loaders of one system, each opened when the first file of its type comes."""

    def __init__(self, hub: ProviderHub, options: Mapping[str, Any]) -> None:
        self._hub = hub
        self._options = options
        self._text = TextLoader()
        self._found: dict[str, FileLoader] = {}

    async def loader_of(self, media_type: str) -> FileLoader:
        """The loader that reads this type.

        Raises:
            SourceUnreadable: ``source_unreadable.no_loader``; it says what to install.
            PluginError: The loader is installed and does not open.
        """
        if media_type in self._text.media_types:
            return self._text
        if media_type not in self._found:
            self._found[media_type] = await self._find(media_type)
        return self._found[media_type]

    async def _find(self, media_type: str) -> FileLoader:
        name = LOADER_NAMES.get(media_type)
        if name:
            try:
                spec = self._hub.registry.select(ProviderKind.INGEST_LOADER, name)
            except PluginError as error:
                if error.code != "plugin_error.missing":
                    raise
                raise _no_loader(media_type, error.hint) from None
            loader: FileLoader = await self._hub.open_spec(spec, self._options)
            return loader
        for spec in self._hub.registry.specs(ProviderKind.INGEST_LOADER):
            if spec.name not in LOADER_NAMES.values():
                loader = await self._hub.open_spec(spec, self._options)
                if media_type in loader.media_types:
                    return loader
        raise _no_loader(media_type, "Save it as text, Markdown, HTML or PDF.")


def _no_loader(media_type: str, hint: str) -> SourceUnreadable:
    return SourceUnreadable(f"no installed loader reads {media_type}.", code="source_unreadable.no_loader", hint=hint)
