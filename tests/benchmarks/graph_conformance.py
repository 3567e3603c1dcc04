"""The RDF and SPARQL tests of the W3C in DATAMIND_BENCH_DATA, through the importer, the store and the guard.

rdflib reads what is expected; blank nodes of rows are compared by their place.
"""

from __future__ import annotations

import io
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyoxigraph as ox
from rdflib import RDF, BNode, Graph, Literal, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.compare import isomorphic
from rdflib.query import Result

from datamind.capabilities.graph.service import GraphReads
from datamind.core.errors import DataMindError, SourceUnreadable
from datamind.core.protocols.graph import XSD_STRING, Assertion, QueryResult, Term, Triple
from datamind.testing.graph_data import make_unit
from datamind.testing.providers import ProviderTarget
from datamind_graph_rdflib.vocabulary import from_engine, triple_of

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
BLANK = "urn:datamind:b:"
SOURCE = "src_w3c"
OUR_BASE = f"http://datamind.invalid/{SOURCE}/"
MEDIA_TYPES = {".ttl": "text/turtle", ".nt": "application/n-triples", ".rdf": "application/rdf+xml"}
RESULTS = {".srx": "xml", ".srj": "json"}


@dataclass(frozen=True)
class Test:
    """One entry of a manifest."""

    name: str
    kind: str
    action: Path
    data: tuple[Path, ...] = ()
    named: tuple[Path, ...] = ()
    result: Path | None = None
    base: str = ""


@dataclass
class Suite:
    """What came of a folder."""

    name: str
    passed: int = 0
    failed: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        total = self.passed + len(self.failed)
        yield f"{self.name:<28} {self.passed} of {total} passed ({self.passed / total:.1%})"
        yield from (f"  {why}" for why in self.failed)


async def figures(data: Path, target: ProviderTarget) -> AsyncIterator[str]:
    root = data / "graph-w3c-rdf-tests"
    counted = Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(await target.open(Path(scratch)))
        for manifest in sorted(root.rglob("manifest.ttl")):
            suite = Suite(str(manifest.parent.relative_to(root)))
            for test in entries(manifest):
                why = await runner.run(test)
                if why:
                    suite.failed.append(f"{test.name}: {why}")
                else:
                    suite.passed += 1
            counted.update(passed=suite.passed, failed=len(suite.failed))
            for line in suite.lines():
                yield line
        await runner.store.aclose()
    yield f"{'all':<28} {counted['passed']} of {counted.total()} passed ({counted['passed'] / counted.total():.1%})"


def entries(manifest: Path) -> Iterator[Test]:
    graph = Graph().parse(manifest, publicID=manifest.as_uri())
    bases = [str(base) for base in graph.objects(None, MF.assumedTestBase)]
    for listed in graph.objects(None, MF.entries):
        for entry in Collection(graph, listed):
            action = graph.value(entry, MF.action)
            query = graph.value(action, QT.query) or action
            path = local(query)
            yield Test(
                str(graph.value(entry, MF.name) or entry),
                str(graph.value(entry, RDF.type)).rpartition("#")[2],
                path,
                tuple(local(one) for one in graph.objects(action, QT.data)),
                tuple(local(one) for one in graph.objects(action, QT.graphData)),
                local(result) if (result := graph.value(entry, MF.result)) is not None else None,
                bases[0] + path.name if bases else path.as_uri(),
            )


def local(iri: Any) -> Path:
    return Path(str(iri).removeprefix("file://"))


class Runner:
    """One store, emptied before each test of SPARQL."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.reads = GraphReads(self._opened, "bench")
        self.number = 0

    async def _opened(self) -> Any:
        return self.store

    async def run(self, test: Test) -> str:
        """Why it failed; empty when it passed."""
        if ("Syntax" in test.kind and test.action.suffix in MEDIA_TYPES) or test.kind.endswith("NegativeEval"):
            return self.syntax(test)
        if test.kind.endswith("Eval"):
            return self.evaluation(test)
        return await self.query(test)

    def syntax(self, test: Test) -> str:
        is_negative = "Negative" in test.kind
        try:
            list(self.parsed(test.action, test.base))
        except SourceUnreadable as error:
            return "" if is_negative else f"refused ({error})"
        return "read, and should be refused" if is_negative else ""

    def evaluation(self, test: Test) -> str:
        assert test.result is not None  # the manifest says so
        try:
            ours = graph_of(self.parsed(test.action, test.base))
        except SourceUnreadable as error:
            return f"refused ({error})"
        theirs = lowered(Graph().parse(test.result, format="nt"))
        return "" if isomorphic(ours, theirs) else f"{len(ours)} statements differ from the {len(theirs)} expected"

    def parsed(self, path: Path, base: str) -> Iterator[Triple]:
        """As an import reads it, with the base that the test assumes."""
        with path.open("rb") as file:
            for triple in self.store.parse(file, MEDIA_TYPES[path.suffix], source_id=SOURCE):
                if triple is None:
                    raise SourceUnreadable("it holds a statement that is no triple of RDF 1.1")
                yield Triple(*(rebased(term, base) for term in triple))

    async def query(self, test: Test) -> str:
        text = test.action.read_text(encoding="utf-8")
        await self.load(test)
        try:
            result, _ = await self.reads.query(f"BASE <{test.base}>\n{text}")
        except DataMindError as error:
            return "" if "NegativeSyntax" in test.kind else f"{error.code}: {error}"
        if "Syntax" in test.kind:
            return "answered, and should be refused" if "Negative" in test.kind else ""
        why = differs(result, test)
        if why and test.named:
            return f"its data are named graphs, which an import joins; {why}"
        if why:
            fails_too = differs(self.engine_alone(test, text), test)
            return f"{'Oxigraph alone fails it too' if fails_too else 'Oxigraph alone passes it'}; {why}"
        return ""

    def engine_alone(self, test: Test, text: str) -> QueryResult:
        """What the engine says of the same triples without any code around it."""
        graph = ox.Store()
        for path in test.data:
            graph.load(path=str(path), base_iri=path.as_uri(), to_graph=ox.DefaultGraph())
        found = graph.query(text, base_iri=test.base)
        if isinstance(found, ox.QueryBoolean):
            return QueryResult(answer=bool(found))
        if isinstance(found, ox.QuerySolutions):
            rows = [tuple(cell and from_engine(cell) for cell in row) for row in found]
            return QueryResult(columns=tuple(variable.value for variable in found.variables), rows=tuple(rows))
        return QueryResult(rows=tuple(tuple(triple_of(triple)) for triple in found))

    async def load(self, test: Test) -> None:
        await self.store.drop_receipts([make_unit(f"t{self.number}").receipt_id], f"rcpt_drop{self.number}.bench")
        self.number += 1
        triples = [triple for path in (*test.data, *test.named) for triple in self.parsed(path, path.as_uri())]
        await self.store.upsert(make_unit(f"t{self.number}"), [Assertion(triple) for triple in triples])


def rebased(term: Term, base: str) -> Term:
    if term.is_literal or not term.value.startswith(OUR_BASE):
        return term
    rest = term.value.removeprefix(OUR_BASE)
    return Term(base + rest if not rest or rest[0] in "#?" else base.rpartition("/")[0] + "/" + rest)


def node(term: Term | None) -> Any:
    if term is None or term.is_literal:
        plain = term is not None and (term.language or term.datatype == XSD_STRING)
        return term and Literal(term.value, lang=term.language or None, datatype=None if plain else term.datatype)
    return BNode(term.value) if term.value.startswith((BLANK, "_:")) else URIRef(term.value)


def graph_of(triples: Iterable[Triple]) -> Graph:
    graph = Graph()
    for triple in triples:
        graph.add(tuple(map(node, triple)))
    return graph


def lowered(graph: Graph) -> Graph:
    """Language tags in lower case, as RDF 1.1 (section 3.3) lets a store keep them."""
    made = Graph()
    for subject, predicate, object_ in graph:
        if isinstance(object_, Literal) and object_.language:
            object_ = Literal(str(object_), lang=object_.language.lower())
        made.add((subject, predicate, object_))
    return made


def differs(result: QueryResult, test: Test) -> str:
    assert test.result is not None  # the manifest says so
    expected = expected_of(test.result)
    if isinstance(expected, Graph):
        ours = graph_of(Triple(*row) for row in result.rows if all(row))  # type: ignore[arg-type]
        return "" if isomorphic(ours, expected) else f"{len(ours)} statements differ from the {len(expected)} expected"
    if expected.type == "ASK":
        return "" if result.answer == expected.askAnswer else f"{result.answer}, expected {expected.askAnswer}"
    names = [str(name) for name in expected.vars or ()]
    theirs = [tuple(binding.get(name) for name in expected.vars or ()) for binding in expected.bindings]
    places = [result.columns.index(name) if name in result.columns else None for name in names]
    ours_rows = [tuple(node(row[place]) if place is not None else None for place in places) for row in result.rows]
    return compared(ours_rows, theirs)


def expected_of(path: Path) -> Any:
    if path.suffix in RESULTS:
        return Result.parse(source=io.BytesIO(path.read_bytes()), format=RESULTS[path.suffix])
    graph = Graph().parse(path)
    results = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/result-set#")
    if (None, RDF.type, results.ResultSet) in graph:
        from rdflib.plugins.sparql.results.rdfresults import RDFResult

        return RDFResult(io.BytesIO(path.read_bytes()), format="turtle")
    return graph


def compared(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> str:
    if Counter(map(exact, ours)) == Counter(map(exact, theirs)):
        return ""
    if set(map(by_value, ours)) == set(map(by_value, theirs)):
        return "the same values, but written alike: literals are kept by value, and equal ones are one"
    return f"rows {sorted(map(exact, ours))[:3]}, expected {sorted(map(exact, theirs))[:3]}"


def exact(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple("" if cell is None else "_:" if isinstance(cell, BNode) else cell.n3().lower() for cell in row)


def by_value(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(value_of(cell, text) for cell, text in zip(row, exact(row), strict=True))


def value_of(cell: Any, text: str) -> str:
    if isinstance(cell, Literal) and isinstance(cell.value, int | float | Decimal):
        return f"{float(cell.value)} {cell.datatype}"
    return text
