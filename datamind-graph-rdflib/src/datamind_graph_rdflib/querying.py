"""What runs in the process for SPARQL.

It looks at every query itself before it runs it: nothing that changes, reads or asks something else ever starts here,
whoever sent it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyoxigraph as ox
from pyparsing import ParseResults
from rdflib.plugins.sparql.algebra import translatePName, translatePrologue, translateQuery, traverse
from rdflib.plugins.sparql.parser import parseQuery, parseUpdate
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import Variable

from datamind.core.errors import AccessDenied, InputInvalid, StoreError
from datamind.engine_host import EngineReply, EngineRequest
from datamind_graph_rdflib.vocabulary import from_engine, receipt_of

MAX_BYTES: Final = 4 * 1024 * 1024
_TRIES: Final = 5
_WAIT_S: Final = 0.02
_MAX_RECURSION: Final = 50_000


def make_engine(options: Mapping[str, Any]) -> QueryEngine:
    """The engine over a graph's folder."""
    # rdflib's grammar calls itself once for each statement; memory and time are bounded by the process.
    sys.setrecursionlimit(_MAX_RECURSION)
    return QueryEngine(Path(options["folder"]))


class QueryEngine:
    """Keeps nothing open between two queries."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.operations: Mapping[str, Callable[[EngineRequest], object]] = {"parse": _parse, "query": self._query}

    def _query(self, request: EngineRequest) -> EngineReply:
        text = _text_of(request)
        parsed = read_query(text)
        if parsed["form"] == "unparsed":
            raise InputInvalid(f"the query cannot be read: {parsed['error']}", code="input_invalid.sparql")
        if parsed["form"] == "update" or parsed["services"]:
            raise AccessDenied("the query changes the graph or asks another endpoint")
        try:
            answer = self._answered(text, parsed, request.args["limit_rows"])
        except (SyntaxError, ValueError) as error:
            raise InputInvalid(f"the query cannot be read: {error}", code="input_invalid.sparql") from None
        except OSError as error:
            raise StoreError(f"the graph cannot be queried ({error}).") from None
        return EngineReply(None, (json.dumps(answer).encode("ascii"),))

    def _answered(self, text: str, parsed: Mapping[str, Any], limit_rows: int) -> dict[str, Any]:
        for left in reversed(range(_TRIES)):
            try:
                graph = _open(self._folder)
                # What the store keeps about receipts is no part of the data.
                visible = _receipts_of(graph) if _names_graphs(text) and not parsed["datasets"] else None
                return _answer(graph.query(text, named_graphs=visible), limit_rows)
            except (OSError, RuntimeError) as error:
                # The writer may replace a file between the list of files and the file, or before it is read.
                if not left or not (isinstance(error, OSError) or "No such file" in str(error)):
                    raise
                time.sleep(_WAIT_S)
        raise AssertionError("the loop returns or raises")


def _parse(request: EngineRequest) -> object:
    return read_query(_text_of(request))


def _text_of(request: EngineRequest) -> str:
    return bytes(request.payloads[0]).decode("utf-8")


@lru_cache(maxsize=8)  # asked for by the guard, and again when the query runs
def read_query(text: str) -> Mapping[str, Any]:
    """Fields of a ParsedQuery, from rdflib's algebra."""
    # The parser of rdflib raises whatever its actions raise, RecursionError too.
    if not text.strip():
        return {"form": "unparsed", "error": "it is empty"}
    try:
        parsed = parseQuery(text)
    except Exception as error:
        return {"form": "update"} if _is_update(text) else _unparsed(error)
    try:
        # The translation loses filters inside EXISTS, so names are resolved and looked at before it as well.
        parsed[1] = traverse(parsed[1], visitPost=partial(translatePName, prologue=translatePrologue(parsed[0], None)))
        nodes = list(_nodes([parsed]))
        algebra = translateQuery(parsed).algebra
    except Exception as error:
        return _unparsed(error)
    nodes += _nodes([algebra])
    return {
        "form": algebra.name.removesuffix("Query").lower(),
        "services": sorted({_name(node.term) for node in nodes if node.name == "ServiceGraphPattern"}),
        "datasets": sorted({_name(value) for node in nodes for value in _dataset(node)}),
        "functions": sorted({_name(node.iri) for node in nodes if node.name == "Function"}),
    }


def _is_update(text: str) -> bool:
    try:
        parseUpdate(text)
    except Exception:
        return False
    return True


def _unparsed(error: Exception) -> dict[str, Any]:
    return {"form": "unparsed", "error": " ".join(str(error).split())[:300] or type(error).__name__}


def _nodes(roots: Iterable[Any]) -> Iterator[CompValue]:
    # The nodes are kept while their ids are: one that was freed would lend its id to another.
    waiting, seen = list(roots), dict[int, Any]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        if isinstance(node, CompValue):
            yield node
        if isinstance(node, dict):
            waiting += [*node.keys(), *node.values()]
        elif isinstance(node, list | tuple | set | frozenset | ParseResults):
            waiting += list(node)


def _dataset(node: CompValue) -> list[Any]:
    if node.name != "DatasetClause":
        return []
    # CompValue's own `get` gives the key back where there is no value.
    return [value for key in ("default", "named") if (value := dict.get(node, key)) is not None]


def _name(term: object) -> str:
    return f"?{term}" if isinstance(term, Variable) else str(term)


def _open(folder: Path) -> ox.Store:
    return ox.Store.read_only(str(folder)) if folder.is_dir() else ox.Store()


def _names_graphs(text: str) -> bool:
    # Also true for a text that only holds the word; listing the graphs costs some time and changes nothing then.
    return "GRAPH" in text.upper()


def _receipts_of(graph: ox.Store) -> list[ox.NamedNode | ox.BlankNode]:
    return [name for name in graph.named_graphs() if isinstance(name, ox.NamedNode) and receipt_of(name)]


def _answer(result: Any, limit_rows: int) -> dict[str, Any]:
    answer: dict[str, Any] = {"columns": [], "rows": [], "answer": None, "cut": False}
    if isinstance(result, ox.QueryBoolean):
        return answer | {"answer": bool(result)}
    rows: Iterator[list[Any]]
    if isinstance(result, ox.QuerySolutions):
        answer["columns"] = [variable.value for variable in result.variables]
        rows = (list(solution) for solution in result)
    else:
        answer["columns"] = ["subject", "predicate", "object"]
        rows = ([triple.subject, triple.predicate, triple.object] for triple in result)
    size = 0
    for row in islice(rows, limit_rows + 1):
        cells = [_cell(term) for term in row]
        size += sum(len(part) for cell in cells if cell for part in cell)
        if len(answer["rows"]) == limit_rows or size > MAX_BYTES:
            answer["cut"] = True
            break
        answer["rows"].append(cells)
    return answer


def _cell(term: Any) -> tuple[str, str, str] | None:
    if term is None:
        return None
    made = from_engine(term)
    return made.value, made.datatype, made.language
