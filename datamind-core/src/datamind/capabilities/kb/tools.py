"""KB tools: thin; what they mean is in the service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field

from datamind.capabilities.ingest.files import is_folder, locate
from datamind.capabilities.ingest.folder import survey
from datamind.capabilities.kb.chunk_tool import chunk_tool
from datamind.capabilities.kb.planning import FileReading, Metadata, planned_document
from datamind.capabilities.kb.restoring import kb_restore_tool
from datamind.capabilities.kb.service import KBReads
from datamind.capabilities.kb.writes import DocumentUnit, KBWrites
from datamind.capabilities.sides import ReadSide, WriteSide, path_policy
from datamind.core.context import ToolContext
from datamind.core.errors import ArgumentsInvalid
from datamind.core.hooks import Candidates
from datamind.core.protocols.kb import KBFilter
from datamind.core.receipts import SurfaceWriteResult
from datamind.core.source import SourceRef
from datamind.core.tools import (
    BatchHandlers,
    PlannedWrite,
    ReadBack,
    Refusal,
    ResultBound,
    Selector,
    ToolOutput,
    ToolSpec,
)
from datamind.core.types import DataSurface, ToolEffect

_TEXT_BYTES = 16 * 1024 * 1024
_PAGE_CHARS = 8_000


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Filters(_Arguments):
    """Which documents may answer."""

    source: str = Field("", max_length=4096, description="Uri, source id or file name, exactly.")
    document_id: str = Field("", max_length=80, description="One document.")
    metadata: Metadata = Field(default_factory=dict, description="Values the document's metadata must equal.")


class SearchArguments(_Arguments):
    """What to look for."""

    query: str = Field(min_length=1, max_length=2_000, description="A question or words.")
    top_k: int | None = Field(None, ge=1, le=50, description="Most passages to return; left out: as configured.")
    filters: Filters = Field(default_factory=Filters, description="Which documents may answer.")


class GetArguments(_Arguments):
    """Which document, and which part of it."""

    document: str = Field(min_length=1, max_length=4096, description="Document id, uri or file name.")
    offset: int = Field(0, ge=0, description="First character.")
    max_chars: int = Field(_PAGE_CHARS, ge=1, le=_PAGE_CHARS, description="Most characters to return.")


class PageArguments(_Arguments):
    """Which part of a list."""

    offset: int = Field(0, ge=0, description="How many to skip.")
    limit: int = Field(50, ge=1, le=200, description="Most to return.")


class NoArguments(_Arguments):
    """Nothing to give."""


class AddTextArguments(_Arguments):
    """A text to keep."""

    text: str = Field(min_length=1, description="The text, exactly as it should be kept.")
    title: str = Field("", max_length=300, description="A title; the first heading when left out.")
    format: Literal["text", "markdown"] = Field("text", description="How the text is structured.")
    metadata: Metadata = Field(default_factory=dict, description="Values to filter by later.")


class AddFileArguments(_Arguments):
    """A file to keep."""

    path: str = Field(min_length=1, max_length=4096, description="Path inside the granted folders.")
    title: str = Field("", max_length=300, description="A title; taken from the file when left out.")
    metadata: Metadata = Field(default_factory=dict, description="Values to filter by later.")


class AddPathArguments(_Arguments):
    """A file or folder to keep, with everything below it."""

    path: str = Field(min_length=1, max_length=4096, description="Path inside the granted folders.")
    metadata: Metadata = Field(default_factory=dict, description="Values to filter by later, for every file.")


class DeleteArguments(_Arguments):
    """Which documents to remove."""

    document_ids: list[str] = Field(default_factory=list, max_length=1000, description="Ids; or one of the others.")
    source: str = Field("", max_length=4096, description="Uri, source id or file name, exactly.")
    query: str = Field("", max_length=2_000, description="Words that name the document.")


async def _search(args: SearchArguments, ctx: ToolContext) -> ToolOutput:
    where = KBFilter(
        document_ids=(args.filters.document_id,) if args.filters.document_id else (),
        sources=(args.filters.source,) if args.filters.source else (),
        metadata=args.filters.metadata,
    )
    kb = _kb(ctx)
    found = await kb.search(args.query, where, limit=args.top_k or kb.default_limit)
    notice = await kb.vector_notice()
    data = {"found": len(found), **({"vectors": notice.message} if notice else {})}
    return ToolOutput(data, found, notices=(notice,) if notice else ())


async def _get(args: GetArguments, ctx: ToolContext) -> ToolOutput:
    evidence, length = await _kb(ctx).read(args.document, offset=args.offset, max_chars=args.max_chars)
    end = args.offset + len(evidence.content)
    page = {"characters": length}
    return ToolOutput(page, (evidence,), next_offset=end if end < length else None)


async def _list(args: PageArguments, ctx: ToolContext) -> ToolOutput:
    page = await _kb(ctx).documents(offset=args.offset, limit=args.limit)
    rows = [
        {
            "document_id": row.document_id,
            "uri": row.source.uri,
            "title": row.title,
            "chunks": row.chunks,
            "language": row.language,
            "added": row.added_at.date().isoformat(),
        }
        for row in page.documents
    ]
    end = args.offset + len(rows)
    data = {"documents": rows, "total": page.total}
    return ToolOutput(data, total=page.total, next_offset=end if end < page.total else None)


async def _count(args: NoArguments, ctx: ToolContext) -> ToolOutput:
    share = await _kb(ctx).vector_share()
    notice = share.notice
    return ToolOutput({**share.counts.model_dump(), **({"vectors": notice.message} if notice else {})})


async def _plan_text(args: AddTextArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    media_type = "text/markdown" if args.format == "markdown" else "text/plain"
    source = SourceRef.of_text(args.text, profile=ctx.request.profile, media_type=media_type)
    yield planned_document(source, args.text.encode("utf-8"), args.title, args.metadata, args.title or "text")


async def _plan_file(args: AddFileArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    file = locate(args.path, path_policy(ctx))
    yield await anyio.to_thread.run_sync(_reading_of(ctx, args.title, args.metadata).unit, file)


async def _plan_path(args: AddPathArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    located = locate(args.path, path_policy(ctx))
    reading = _reading_of(ctx, "", args.metadata)
    if not await anyio.to_thread.run_sync(is_folder, located):
        yield await anyio.to_thread.run_sync(reading.unit, located)
        return
    found = await anyio.to_thread.run_sync(survey, located, path_policy(ctx))
    files = iter(found.of(DataSurface.KB))
    while ahead := await anyio.to_thread.run_sync(reading.ahead, files):
        for unit in await _marked_quick(ahead, ctx):
            yield unit


def _reading_of(ctx: ToolContext, title: str, metadata: Metadata) -> FileReading:
    return FileReading(path_policy(ctx), ctx.request.profile, _writes(ctx).max_bytes, title, metadata)


async def _marked_quick(units: Sequence[PlannedWrite | Refusal], ctx: ToolContext) -> list[PlannedWrite | Refusal]:
    files = [unit for unit in units if isinstance(unit, PlannedWrite)]
    quick = await _writes(ctx).are_quick([unit.source for unit in files if unit.source])
    marked = {id(unit): replace(unit, is_quick=is_quick) for unit, is_quick in zip(files, quick, strict=True)}
    return [marked.get(id(unit), unit) for unit in units]


async def _put(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    return await _writes(ctx).put(_document(args, ctx))


async def _put_many(units: Sequence[tuple[Any, ToolContext]]) -> Sequence[SurfaceWriteResult | Exception]:
    return await _writes(units[0][1]).put_many([_document(args, ctx) for args, ctx in units]) if units else []


def _document(args: Mapping[str, Any], ctx: ToolContext) -> DocumentUnit:
    assert ctx.unit is not None  # the ledger runs writes
    return DocumentUnit(SourceRef.model_validate(args["source"]), args["title"], args["metadata"], ctx.unit)


async def _find(args: DeleteArguments, ctx: ToolContext) -> Candidates:
    side: WriteSide = ctx.side
    if args.document_ids:
        return await side.read.kb.matching(KBFilter(document_ids=tuple(args.document_ids)))
    if args.source:
        return await side.read.kb.matching(KBFilter(sources=(args.source,)))
    if args.query.strip():
        return await side.read.kb.about(args.query)
    raise ArgumentsInvalid("nothing says which document is meant; give document_ids, source or query")


def _pin(args: Mapping[str, Any], ids: tuple[str, ...]) -> Mapping[str, Any]:
    return {"document_ids": list(ids)}


async def _delete(args: DeleteArguments, ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    return await _writes(ctx).delete(args.document_ids, ctx.unit)


async def _reindex(args: NoArguments, ctx: ToolContext) -> SurfaceWriteResult:
    return await _writes(ctx).reindex()


async def _is_there(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    seen = await _kb(ctx).present(result.ids)
    return ReadBack(seen == len(result.ids), f"{seen} of {len(result.ids)} documents found")


async def _are_there(results: Sequence[SurfaceWriteResult], ctx: ToolContext) -> Sequence[ReadBack]:
    seen = await _kb(ctx).those_present([name for result in results for name in result.ids])
    counts = [(len(seen & set(result.ids)), len(result.ids)) for result in results]
    return [ReadBack(found == wanted, f"{found} of {wanted} documents found") for found, wanted in counts]


async def _is_gone(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    seen = await _kb(ctx).present(result.ids)
    return ReadBack(seen == 0, f"{seen} of {len(result.ids)} documents found")


def _kb(ctx: ToolContext) -> KBReads:
    side: ReadSide = ctx.side
    return side.kb


def _writes(ctx: ToolContext) -> KBWrites:
    side: WriteSide = ctx.side
    return side.kb


def kb_tools() -> list[ToolSpec]:
    """The knowledge base's tools."""
    return [*_reading(), *_writing(), chunk_tool(), kb_restore_tool()]


def _reading() -> list[ToolSpec]:
    reads = {"effect": ToolEffect.READ, "surface": DataSurface.KB}
    return [
        ToolSpec.of(
            SearchArguments, _search, name="kb_search", description="Find passages of documents by words.", **reads
        ),
        ToolSpec.of(
            GetArguments,
            _get,
            name="kb_get",
            description="Read a document's text, page by page.",
            bound=ResultBound(max_items=1, max_chars=_PAGE_CHARS),
            **reads,
        ),
        ToolSpec.of(
            PageArguments,
            _list,
            name="kb_list_documents",
            description="List the documents.",
            bound=ResultBound(max_items=200, max_chars=40_000),
            **reads,
        ),
        ToolSpec.of(NoArguments, _count, name="kb_count", description="Count documents and passages.", **reads),
    ]


def _writing() -> list[ToolSpec]:
    adds = {
        "effect": ToolEffect.WRITE,
        "surface": DataSurface.KB,
        "read_back": _is_there,
        "revert": "restores_previous",
    }
    return [
        ToolSpec.of(
            AddTextArguments,
            _put,
            name="kb_add_text",
            description="Keep a text in the knowledge base.",
            plan=_plan_text,
            max_argument_bytes=_TEXT_BYTES,
            **adds,
        ),
        ToolSpec.of(
            AddFileArguments,
            _put,
            name="kb_add_file",
            description="Keep a file in the knowledge base; a later version replaces it.",
            plan=_plan_file,
            path_args=("path",),
            **adds,
        ),
        ToolSpec.of(
            AddPathArguments,
            _put,
            name="kb_add_path",
            description="Keep a file, or every document of a folder, in the knowledge base; tables, triples and skills"
            " in it have tools of their own.",
            plan=_plan_path,
            batch=BatchHandlers(_put_many, _are_there),
            path_args=("path",),
            **adds,
        ),
        ToolSpec.of(
            DeleteArguments,
            _delete,
            name="kb_delete",
            description="Remove documents by id, by source or by words that name one.",
            effect=ToolEffect.DESTRUCTIVE,
            surface=DataSurface.KB,
            selector=Selector(_find, _pin),
            read_back=_is_gone,
            revert="exact",
        ),
        ToolSpec.of(
            NoArguments,
            _reindex,
            name="kb_reindex",
            description="Build the index again from the stored texts.",
            effect=ToolEffect.WRITE,
            surface=DataSurface.KB,
        ),
    ]
