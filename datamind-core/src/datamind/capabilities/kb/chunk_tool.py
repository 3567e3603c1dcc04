"""The tool that takes chunks as they are."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any, Final

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field

from datamind.capabilities.ingest.files import file_uri, locate, printable, read_file
from datamind.capabilities.kb.chunks import GIVEN, ChunkLines, read_chunks
from datamind.capabilities.sides import ReadSide, WriteSide, path_policy
from datamind.core.collector import collector_paused
from datamind.core.context import ToolContext
from datamind.core.errors import ArgumentsInvalid, InputInvalid
from datamind.core.receipts import Detected, SurfaceWriteResult
from datamind.core.source import SourceRef
from datamind.core.tools import PlannedWrite, ReadBack, ToolSpec
from datamind.core.types import DataSurface, ToolEffect

_CALL_BYTES: Final = 16 * 1024 * 1024
_NAMED_IDS: Final = 1_000
_JSON_LINES: Final = "application/x-ndjson"


class AddChunksArguments(BaseModel):
    """Chunks that are cut already: those of a file, or those of the call."""

    model_config = ConfigDict(extra="forbid")

    path: str | None = Field(
        None, min_length=1, max_length=4096, description="JSONL file inside the granted folders; or chunks."
    )
    chunks: list[dict[str, Any]] = Field(
        default_factory=list,
        description='Each {"text"} with, if wanted, "id", "title", "source" (of what it is a part) and "metadata".',
    )


async def _plan(args: AddChunksArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite]:
    if (args.path is None) == (not args.chunks):
        raise ArgumentsInvalid("either path or chunks must be given, and not both")
    side: WriteSide = ctx.side
    if args.path is None:
        content = "\n".join(json.dumps(row) for row in args.chunks).encode("utf-8")
        source = SourceRef.of_content(
            "records",
            f"chunk:{GIVEN}",
            content,
            media_type=_JSON_LINES,
            profile=ctx.request.profile,
            origin="user",
        )
        yield PlannedWrite({"name": GIVEN, "is_file": False}, content=content, source=source, label="chunks")
        return
    policy = path_policy(ctx)
    located = locate(args.path, policy)
    content = await anyio.to_thread.run_sync(partial(read_file, located, max_bytes=side.kb.max_bytes))
    uri = file_uri(located, policy)
    source = SourceRef.of_content(
        "file", uri, content, media_type=_JSON_LINES, profile=ctx.request.profile, origin="file"
    )
    unit = {"name": uri.removeprefix("file:"), "is_file": True}
    yield PlannedWrite(unit, content=content, source=source, label=printable(located.path.name))


async def _put(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None and ctx.unit.content is not None  # planned with content
    side: WriteSide = ctx.side
    read = partial(
        read_chunks, ctx.unit.content, name=args["name"], profile=ctx.request.profile, is_file=args["is_file"]
    )
    with collector_paused():
        lines = await anyio.to_thread.run_sync(read)
        if not lines.chunks:
            raise InputInvalid(_says_none(lines), code="input_invalid.no_chunks", hint='A line is {"text": "…"}.')
        counts = await side.kb.put_all(lines.chunks, ctx.unit)
    status = "partial" if lines.rejected_total else "stored" if counts.written else "unchanged"
    operation = "replaced" if counts.replaced else "added" if counts.written else "none"
    return SurfaceWriteResult(
        surface=DataSurface.KB,
        operation=operation,
        status=status,
        items_written=counts.written,
        ids=tuple(new.document_id for new, _ in lines.chunks[:_NAMED_IDS]),
        detected=Detected(
            encoding="utf-8",
            media_type=_JSON_LINES,
            rejected=tuple(lines.rejected),
            rejected_total=lines.rejected_total,
        ),
        revert="restores_previous" if counts.replaced else "exact",
    )


def _says_none(lines: ChunkLines) -> str:
    first = "; ".join(f"line {row.line}: {row.code}" for row in lines.rejected[:3])
    return f"none of the lines is a chunk ({first})" if first else "there is no line in it"


async def _is_there(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    side: ReadSide = ctx.side
    seen = await side.kb.present(result.ids)
    return ReadBack(seen == len(result.ids), f"{seen} of {len(result.ids)} chunks found")


def chunk_tool() -> ToolSpec:
    """``kb_add_chunks``: one commit and one receipt for all of them."""
    return ToolSpec.of(
        AddChunksArguments,
        _put,
        name="kb_add_chunks",
        description="Keep chunks that are cut already, from a JSONL file or from the call; each is found by itself.",
        effect=ToolEffect.WRITE,
        surface=DataSurface.KB,
        plan=_plan,
        path_args=("path",),
        max_argument_bytes=_CALL_BYTES,
        read_back=_is_there,
        revert="restores_previous",
    )
