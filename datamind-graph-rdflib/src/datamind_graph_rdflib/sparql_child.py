"""The child that answers SPARQL: ``python -m datamind_graph_rdflib.sparql_child MEGABYTES``, JSON lines in and out.

It looks at every query itself before it runs it: nothing that changes, reads or asks something else ever starts here,
whoever sent it.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

_OPEN_TRIES: Final = 5


def main() -> None:
    """Answer requests until the input ends."""
    limit = int(sys.argv[1]) * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    replies = {"hello": lambda request: {}, "parse": lambda request: parse(request["text"]), "query": _query}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        reply = replies[request["op"]](request)
        sys.stdout.buffer.write(json.dumps(reply).encode("ascii") + b"\n")
        sys.stdout.buffer.flush()


def parse(text: str) -> dict[str, Any]:
    """Fields of a ParsedQuery, from rdflib's algebra."""
    from rdflib.plugins.sparql.algebra import translateQuery
    from rdflib.plugins.sparql.parser import parseQuery, parseUpdate

    try:
        parsed = parseQuery(text)
    except Exception as error:
        try:
            parseUpdate(text)
        except Exception:
            return {"form": "unparsed", "error": " ".join(str(error).split())[:300] or type(error).__name__}
        return {"form": "update"}
    try:
        algebra = translateQuery(parsed).algebra
    except Exception as error:
        return {"form": "unparsed", "error": " ".join(str(error).split())[:300] or type(error).__name__}
    found: dict[str, Any] = {"form": algebra.name.removesuffix("Query").lower()}
    nodes = list(_nodes([parsed, algebra]))
    found["services"] = sorted({_text(node.term) for node in nodes if node.name == "ServiceGraphPattern"})
    found["datasets"] = sorted({_text(value) for node in nodes for value in _dataset(node)})
    found["functions"] = sorted({_text(node.iri) for node in nodes if node.name == "Function"})
    return found


def _nodes(roots: list[Any]) -> Iterator[Any]:
    from pyparsing import ParseResults
    from rdflib.plugins.sparql.parserutils import CompValue

    waiting, seen = list(roots), set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, CompValue):
            yield node
            waiting += list(node.values())
        elif isinstance(node, dict):
            waiting += [*node.keys(), *node.values()]
        elif isinstance(node, list | tuple | set | frozenset | ParseResults):
            waiting += list(node)


def _dataset(node: Any) -> list[Any]:
    if node.name != "DatasetClause":
        return []
    return [value for value in (node.get("default"), node.get("named")) if value is not None]


def _text(term: Any) -> str:
    from rdflib.term import Variable

    return f"?{term}" if isinstance(term, Variable) else str(term)


def _query(request: dict[str, Any]) -> dict[str, Any]:
    parsed = parse(request["text"])
    if parsed["form"] in ("unparsed", "update") or parsed["services"]:
        return {"error": "syntax", "message": parsed.get("error") or "it is no plain query"}
    try:
        return _answer(request)
    except (SyntaxError, ValueError) as error:
        return {"error": "syntax", "message": str(error)}
    except OSError as error:
        return {"error": "store", "message": str(error)}


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    import pyoxigraph as ox

    result = _opened(request["folder"]).query(request["text"])
    reply: dict[str, Any] = {"columns": [], "rows": [], "answer": None, "cut": False}
    if isinstance(result, ox.QueryBoolean):
        return reply | {"answer": bool(result)}
    if isinstance(result, ox.QuerySolutions):
        reply["columns"] = [variable.value for variable in result.variables]
        rows = (list(solution) for solution in result)
    else:
        reply["columns"] = ["subject", "predicate", "object"]
        rows = ([triple.subject, triple.predicate, triple.object] for triple in result)
    size = 0
    for row in islice(rows, request["limit_rows"] + 1):
        cells = [_cell(term) for term in row]
        size += sum(len(part) for cell in cells if cell for part in cell)
        if len(reply["rows"]) == request["limit_rows"] or size > request["max_bytes"]:
            reply["cut"] = True
            break
        reply["rows"].append(cells)
    return reply


def _opened(folder: str) -> Any:
    import pyoxigraph as ox

    if not Path(folder).is_dir():
        return ox.Store()
    for left in reversed(range(_OPEN_TRIES)):
        try:
            return ox.Store.read_only(folder)
        except OSError:
            # The writer may have replaced a file between the list of files and the file.
            if not left:
                raise
            time.sleep(0.02)
    raise AssertionError("the loop returns or raises")


def _cell(term: Any) -> list[str] | None:
    from datamind_graph_rdflib.vocabulary import from_engine

    if term is None:
        return None
    made = from_engine(term)
    return [made.value, made.datatype, made.language]


if __name__ == "__main__":
    main()
