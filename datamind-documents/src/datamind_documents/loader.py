"""The loader: hands the bytes to a child process with limits, and takes text back."""

from __future__ import annotations

from typing import Any, Final

from datamind.core.errors import DataMindError, LimitExceeded, SourceUnreadable, StoreError
from datamind.core.protocols.ingest import LoadedDocument, LoadLimits
from datamind.engine_host import EngineHost, EngineLimits, EngineSpec
from datamind.plugins import ProviderContext
from datamind_documents.formats import READERS
from datamind_documents.options import DocumentsOptions

_MAX_FRAME_BYTES: Final = 256 * 1024**2
_OFF_ITS_LIMITS: Final = frozenset({"limit_exceeded.time", "limit_exceeded.memory", "limit_exceeded.size"})


async def open_loader(ctx: ProviderContext, options: DocumentsOptions) -> DocumentLoader:
    """One loader for every format; its child starts with the first document."""
    spec = EngineSpec(
        name="documents",
        factory="datamind_documents.engine:make_engine",
        options={"max_unpacked_bytes": int(options.max_unpacked)},
        # A reader writes nothing, so its largest file is empty.
        limits=EngineLimits(address_space_bytes=int(options.address_space), file_bytes=0),
        environment={"MALLOC_ARENA_MAX": "2"},
        max_frame_bytes=_MAX_FRAME_BYTES,
        idle_s=options.idle_s,
    )
    return DocumentLoader(EngineHost(spec), options.timeout_s)


class DocumentLoader:
    """PDF, office files, web pages, tables, books and messages as text.

    Structure becomes Markdown: headings, lists, tables. A form feed ends each page of a PDF and each slide, so that
    the stored text alone tells the pages.
    """

    media_types = tuple(READERS)

    def __init__(self, host: EngineHost, timeout_s: float) -> None:
        self._host = host
        self._timeout_s = timeout_s

    async def load(self, content: bytes, *, media_type: str, limits: LoadLimits) -> LoadedDocument:
        """The document as text.

        Raises:
            SourceUnreadable: It is broken, encrypted, empty or another format; ``source_unreadable.crashed`` when
                reading it ended the child.
            LimitExceeded: Its size, what it unpacks to, or the time or memory that reading it takes.
        """
        if len(content) > min(limits.max_bytes, _MAX_FRAME_BYTES // 2):
            raise LimitExceeded(f"{len(content)} bytes are more than the limit of {limits.max_bytes}")
        if not content:
            raise SourceUnreadable(f"the {media_type} file is empty.", code="source_unreadable.empty")
        args = {"media_type": media_type, "max_characters": limits.max_characters}
        deadline_s = min(limits.timeout_s, self._timeout_s)
        try:
            reply = await self._host.call("read", args, payloads=[content], deadline_s=deadline_s)
        except (LimitExceeded, StoreError) as error:
            raise _told(error, media_type) from error
        return _document(reply.value, bytes(reply.payloads[0]), media_type)

    async def aclose(self) -> None:
        """End the child; may be called twice."""
        await self._host.aclose()


def _document(value: Any, text: bytes, media_type: str) -> LoadedDocument:
    return LoadedDocument(
        text=text.decode("utf-8"),
        title=value["title"],
        encoding=value["encoding"],
        pages=tuple(value["pages"]),
        media_type=media_type,
    )


def _told(error: DataMindError, media_type: str) -> DataMindError:
    """In terms of the document: the engine is nothing its owner knows of."""
    if error.code in _OFF_ITS_LIMITS:
        what = {"time": "time", "memory": "memory", "size": "text"}[error.code.rpartition(".")[2]]
        return LimitExceeded(
            f"reading the {media_type} file takes more {what} than is allowed.",
            code=error.code,
            hint="Split it, or raise ingest.options.",
        )
    if error.code == "store_error.engine_died":
        return SourceUnreadable(
            f"reading the {media_type} file ended the reading process; it is likely damaged.",
            code="source_unreadable.crashed",
            hint="Save it anew with its own program.",
        )
    return error
