"""Graph tools: thin; what they mean is in the service."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import anyio.to_thread

from datamind.capabilities.graph.arguments import (
    DeleteArguments,
    ExportArguments,
    ImportPathArguments,
    NeighborsArguments,
    PathArguments,
    QueryArguments,
    SearchEntitiesArguments,
    StatsArguments,
    TraverseArguments,
    UpsertTriplesArguments,
)
from datamind.capabilities.graph.results import to_sparql_json
from datamind.capabilities.graph.rows import make_assertion
from datamind.capabilities.graph.service import GraphReads, Walked
from datamind.capabilities.graph.terms import line_of, name_of, to_ntriples
from datamind.capabilities.graph.walks import WalkLimits
from datamind.capabilities.graph.writes import GraphWrites
from datamind.capabilities.ingest.files import Located, locate
from datamind.capabilities.ingest.loaders import named_media_type
from datamind.capabilities.ingest.taking import FileTaking, plan_each, planned_write
from datamind.capabilities.sides import WriteSide, path_policy
from datamind.core.context import ToolContext, WriteUnit
from datamind.core.errors import ArgumentsInvalid, InputInvalid
from datamind.core.hooks import Candidates
from datamind.core.protocols.graph import Assertion, Term
from datamind.core.receipts import SurfaceWriteResult
from datamind.core.source import SourceRef
from datamind.core.tools import PlannedWrite, ReadBack, Refusal, ResultBound, Selector, ToolOutput, ToolSpec
from datamind.core.types import DataSurface, ToolEffect

_ARGUMENT_BYTES = 4 * 1024 * 1024
_PATH_RESULTS = 5_000


async def _search(args: SearchEntitiesArguments, ctx: ToolContext) -> ToolOutput:
    hits = await _graph(ctx).search(args.query, limit=args.limit)
    rows = [
        {
            "name": hit.entity.name,
            "iri": hit.entity.term.value,
            "aliases": list(hit.entity.aliases[:10]),
            "match": hit.match,
            "score": hit.score,
        }
        for hit in hits
    ]
    return ToolOutput({"entities": rows})


async def _neighbors(args: NeighborsArguments, ctx: ToolContext) -> ToolOutput:
    limits = WalkLimits(hops=1, fan_out=args.limit, results=args.limit)
    found = await _graph(ctx).walk([args.entity], limits, direction=args.direction, predicates=args.predicates)
    return _walked(found)


async def _traverse(args: TraverseArguments, ctx: ToolContext) -> ToolOutput:
    limits = WalkLimits(hops=args.hops, fan_out=args.fan_out, results=args.limit)
    found = await _graph(ctx).walk(args.start, limits, direction=args.direction, predicates=args.predicates)
    return _walked(found, start=[to_ntriples(term) for term in found.walk.starts])


async def _path(args: PathArguments, ctx: ToolContext) -> ToolOutput:
    limits = WalkLimits(hops=args.max_hops, fan_out=200, results=_PATH_RESULTS)
    found = await _graph(ctx).path(args.start, args.goal, limits, direction=args.direction, predicates=args.predicates)
    return _walked(found, length=max(found.walk.hops, default=None))


def _walked(found: Walked, **more: object) -> ToolOutput:
    data: dict[str, Any] = {"statements": len(found.evidence), **more}
    if found.walk.cut:
        data["cut"] = dict(found.walk.cut)
    if found.walk.unseen:
        data["nodes_beyond"] = found.walk.unseen
    several = {name: [to_ntriples(one) for one in meant] for name, meant in found.predicates.items() if len(meant) > 1}
    if several:
        data["several_relations"] = several
    return ToolOutput(data, found.evidence)


async def _query(args: QueryArguments, ctx: ToolContext) -> ToolOutput:
    result, evidence = await _graph(ctx).query(args.sparql)
    if ctx.request.sink is not None:
        await anyio.to_thread.run_sync(ctx.request.sink, to_sparql_json(result))
    data: dict[str, Any] = {"rows": len(result.rows)}
    if result.answer is not None:
        data = {"answer": result.answer}
    if result.cut:
        data["cut"] = "there are more rows; narrow the query or page with ORDER BY, LIMIT and OFFSET"
    return ToolOutput(data, (evidence,))


async def _stats(args: StatsArguments, ctx: ToolContext) -> ToolOutput:
    stats = await _graph(ctx).stats()
    predicates = [
        {"predicate": name_of(Term(iri)), "iri": iri, "statements": count} for iri, count in stats.predicates.items()
    ]
    return ToolOutput({**stats.model_dump(exclude={"predicates"}), "predicates": predicates})


async def _export(args: ExportArguments, ctx: ToolContext) -> ToolOutput:
    sink = ctx.request.sink
    if sink is None:
        raise InputInvalid("there is no place for the export", hint="Give the request a sink.")
    written = 0
    async for piece in _graph(ctx).export(named_media_type(f"graph.{args.format}") or args.format):
        await anyio.to_thread.run_sync(sink, piece)
        written += len(piece)
    return ToolOutput({"bytes": written})


async def _plan_upsert(args: UpsertTriplesArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    rows = [triple.model_dump(mode="json") for triple in args.triples]
    assertions = [_assertion(row, args.text) for row in rows]
    # Without a text the statements themselves are the source.
    text = args.text or "\n".join(line_of(assertion.triple) for assertion in assertions)
    source = SourceRef.of_text(
        text,
        profile=ctx.request.profile,
        origin="user",
        media_type="text/plain" if args.text else "application/n-triples",
    )
    unit = {"triples": rows, "text": args.text, "source": source.model_dump(mode="json")}
    yield PlannedWrite(unit, content=text.encode("utf-8"), source=source, label=f"{len(rows)} statements")


def _assertion(row: Mapping[str, Any], text: str) -> Assertion:
    made = make_assertion(row)
    start, end = row["start"], row["end"]
    if start is None and end is None:
        return made
    if start is None or end is None or not start < end <= len(text):
        raise InputInvalid(f"the span {start!r}-{end!r} is not inside the text of {len(text)} characters")
    return Assertion(made.triple, start, end, made.confidence)


async def _upsert(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None and ctx.unit.content is not None  # planned with content
    assertions = [_assertion(row, args["text"]) for row in args["triples"]]
    source = SourceRef.model_validate(args["source"])
    return await _writes(ctx).upsert(assertions, source, ctx.unit.content.decode("utf-8"), ctx.unit)


async def _plan_import(args: ImportPathArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    policy, writes = path_policy(ctx), _writes(ctx)
    taking = FileTaking(policy, ctx.request.profile, writes.max_bytes, writes.folder)

    async def plan(located: Located) -> PlannedWrite:
        taken = await taking.take(located)
        wanted = {"source": taken.source.model_dump(mode="json")}
        return planned_write(wanted, taken.content, source=taken.source, label=taken.name)

    async for unit in plan_each(locate(args.path, policy), policy, DataSurface.GRAPH, plan):
        yield unit


async def _import(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    source = SourceRef.model_validate(args["source"])
    with _content_of(ctx.unit) as file:
        return await _writes(ctx).import_file(file, source, ctx.unit)


@contextmanager
def _content_of(unit: WriteUnit) -> Iterator[BinaryIO]:
    if unit.file is not None:
        with unit.file.opened() as kept:
            yield kept
        return
    assert unit.content is not None  # planned with content
    yield io.BytesIO(unit.content)


async def _find(args: DeleteArguments, ctx: ToolContext) -> Candidates:
    side: WriteSide = ctx.side
    reads = await side.read.graph.candidates()
    named = [
        bool(args.ids),
        bool(args.receipt),
        bool(args.source),
        bool(args.entity),
        bool(args.subject or args.object),
    ]
    if sum(named) != 1 or (args.predicate and not named[-1]):
        raise ArgumentsInvalid("what is meant is not said once; give a subject or object, an entity, source or receipt")
    if args.ids:
        return await reads.holding(args.ids)
    if args.receipt:
        return await reads.asserted(receipt_ids=(args.receipt,))
    if args.source:
        return await reads.asserted(source=args.source)
    if args.entity:
        return await reads.named(args.entity)
    return await reads.statements(args.subject, args.predicate, args.object)


def _pin(args: Mapping[str, Any], ids: tuple[str, ...]) -> Mapping[str, Any]:
    return {"ids": list(ids)}


async def _plan_delete(args: DeleteArguments, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
    kept = await _writes(ctx).assertions_of(args.ids)
    content = None if kept is None else json.dumps(kept, ensure_ascii=False).encode("utf-8")
    yield PlannedWrite({"ids": args.ids, "restorable": kept is not None}, content=content)


async def _delete(args: Mapping[str, Any], ctx: ToolContext) -> SurfaceWriteResult:
    assert ctx.unit is not None  # the ledger runs writes
    return await _writes(ctx).delete(args["ids"], ctx.unit)


async def _is_there(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    written = await _graph(ctx).candidates()
    counts = [await written.present(receipt_id) for receipt_id in result.ids]
    agrees = bool(counts) and all(counts) and sum(counts) >= min(result.items_written, 1_000)
    return ReadBack(agrees, f"{sum(counts)} statements found")


async def _is_gone(result: SurfaceWriteResult, ctx: ToolContext) -> ReadBack:
    left = await (await _graph(ctx).candidates()).holding(result.ids)
    return ReadBack(not left.ids, f"{len(left.ids)} of {len(result.ids)} found")


def _graph(ctx: ToolContext) -> GraphReads:
    reads: GraphReads = ctx.side.graph
    return reads


def _writes(ctx: ToolContext) -> GraphWrites:
    side: WriteSide = ctx.side
    return side.graph


def graph_tools() -> list[ToolSpec]:
    """The graph's tools."""
    return [*_reading(), *_writing()]


def _reading() -> list[ToolSpec]:
    reads: dict[str, Any] = {"effect": ToolEffect.READ, "surface": DataSurface.GRAPH}
    walks = reads | {"bound": ResultBound(max_items=200, max_chars=40_000)}
    return [
        ToolSpec.of(
            SearchEntitiesArguments,
            _search,
            name="graph_search_entities",
            description="Find entities of the graph by name, alias, beginning or nearly so.",
            **reads,
        ),
        ToolSpec.of(
            NeighborsArguments,
            _neighbors,
            name="graph_neighbors",
            description="What the graph says about one entity.",
            **walks,
        ),
        ToolSpec.of(
            TraverseArguments,
            _traverse,
            name="graph_traverse",
            description="What the graph says within some hops of entities; what was left out is said.",
            **walks,
        ),
        ToolSpec.of(
            PathArguments,
            _path,
            name="graph_path",
            description="How two entities are connected: a shortest path.",
            **walks,
        ),
        ToolSpec.of(
            QueryArguments,
            _query,
            name="graph_query",
            description="Ask the graph in SPARQL, for counts, filters and patterns; read only, no SERVICE. A name made "
            "here has the IRI urn:datamind:e: (entities) or urn:datamind:p: (relations) and the name percent-encoded.",
            bound=ResultBound(max_items=1, max_chars=40_000),
            **reads,
        ),
        ToolSpec.of(
            StatsArguments,
            _stats,
            name="graph_stats",
            description="How many statements, entities and relations of each kind.",
            bound=ResultBound(max_items=100),
            **reads,
        ),
        ToolSpec.of(
            ExportArguments,
            _export,
            name="graph_export",
            description="Write the whole graph as a file, to the sink of the request.",
            for_application=True,
            **reads,
        ),
    ]


def _writing() -> list[ToolSpec]:
    writes: dict[str, Any] = {"effect": ToolEffect.WRITE, "surface": DataSurface.GRAPH, "read_back": _is_there}
    return [
        ToolSpec.of(
            UpsertTriplesArguments,
            _upsert,
            name="graph_upsert_triples",
            description="Keep statements (subject, relation, object) in the graph.",
            plan=_plan_upsert,
            revert="exact",
            max_argument_bytes=_ARGUMENT_BYTES,
            **writes,
        ),
        ToolSpec.of(
            ImportPathArguments,
            _import,
            name="graph_import_path",
            description="Read a file or folder of statements into the graph: Turtle, N-Triples, N-Quads, TriG, "
            "JSON-LD, RDF/XML, or a table (csv, tsv, jsonl) with subject, predicate and object. A later version "
            "replaces it.",
            plan=_plan_import,
            path_args=("path",),
            revert="exact",
            **writes,
        ),
        ToolSpec.of(
            DeleteArguments,
            _delete,
            name="graph_delete",
            description="Remove statements, everything about an entity, or what a source or write alone says.",
            effect=ToolEffect.DESTRUCTIVE,
            surface=DataSurface.GRAPH,
            selector=Selector(_find, _pin),
            plan=_plan_delete,
            read_back=_is_gone,
        ),
    ]
