"""What the graph's reading tools told: entities, relations and statements."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from datamind_model_offline.conversation import Step

LABELS_QUERY: Final = (
    "SELECT DISTINCT ?p ?l WHERE { ?p <http://www.w3.org/2000/01/rdf-schema#label> ?l . "
    "FILTER EXISTS { ?s ?p ?o } } LIMIT 200"
)
KINDS_QUERY: Final = "SELECT DISTINCT ?t ?l WHERE { ?x a ?t . OPTIONAL { ?t <http://www.w3.org/2000/01/rdf-schema#label> ?l } } LIMIT 200"
NAMING: Final = frozenset({"label", "prefLabel", "altLabel", "name", "alias", "type", "comment"})


@dataclass(frozen=True, slots=True)
class Entity:
    """A node with a name; ``names`` has the shown one first."""

    iri: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """A predicate and all that it is called."""

    iri: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A triple as it is shown, with its number."""

    subject: str
    relation: Relation
    object: str
    cite: int

    def other(self, name: str) -> str:
        """The end that is not called so."""
        return self.object if same_name(self.subject, name) else self.subject


@dataclass(frozen=True, slots=True)
class Kind:
    """A class and all that it is called."""

    iri: str
    names: tuple[str, ...]


def known_kinds(steps: Sequence[Step]) -> list[Kind]:
    """The classes of the nodes."""
    names: dict[str, list[str]] = {}
    for step in steps:
        if step.name == "graph_query" and step.arguments.get("sparql") == KINDS_QUERY and step.found:
            for iri, label in rows_of(step):
                names.setdefault(iri, []).append(label)
    return [Kind(iri, tuple(filter(None, [*labels, spoken(iri)]))) for iri, labels in names.items()]


def rows_of(step: Step) -> list[list[str]]:
    """The rows of a SPARQL result as texts, empty for what is not bound."""
    try:
        page = json.loads(step.found[0].content) if step.found else {"rows": ()}
        return [["" if cell is None else str(cell) for cell in row] for row in page["rows"]]
    except (ValueError, KeyError, TypeError):
        return []


def kinds_query(names: Sequence[str]) -> str:
    """A statement that finds the classes of nodes by the names they are shown with."""
    texts = ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
    return (
        "SELECT DISTINCT ?n ?t WHERE { ?x <http://www.w3.org/2000/01/rdf-schema#label> ?n . "
        "?x a/<http://www.w3.org/2000/01/rdf-schema#subClassOf>* ?t . "
        f"FILTER(STR(?n) IN ({texts})) }} LIMIT 400"
    )


def kinds_of(step: Step) -> dict[str, set[str]]:
    """The classes that such a statement found, by name."""
    found: dict[str, set[str]] = {}
    for row in rows_of(step):
        found.setdefault(row[0], set()).add(row[1])
    return found


def same_name(first: str, second: str) -> bool:
    """Whether two shown names are one."""
    return first.replace("_", " ").casefold() == second.replace("_", " ").casefold()


def found_entities(steps: Sequence[Step]) -> list[Entity]:
    """The entities of all searches, best first, each once."""
    found: dict[str, Entity] = {}
    for step in steps:
        rows = step.data.get("entities", ()) if step.name == "graph_search_entities" else ()
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, Mapping):
                aliases = row.get("aliases")
                names = [str(row.get("name")), *(map(str, aliases) if isinstance(aliases, list) else ())]
                found.setdefault(str(row.get("iri")), Entity(str(row.get("iri")), tuple(names)))
    return list(found.values())


def known_relations(steps: Sequence[Step]) -> list[Relation]:
    """The predicates of ``graph_stats``, with the labels that a query found for them."""
    labels: dict[str, list[str]] = {}
    for step in steps:
        if step.name == "graph_query" and step.arguments.get("sparql") == LABELS_QUERY and step.found:
            for iri, label in _pairs(step.found[0].content):
                labels.setdefault(iri, []).append(label)
    stats = [step for step in steps if step.name == "graph_stats" and not step.failed]
    rows = stats[-1].data.get("predicates", ()) if stats else ()
    relations = []
    for row in rows if isinstance(rows, list) else ():
        iri, name = str(row.get("iri")), str(row.get("predicate"))
        relations.append(Relation(iri, tuple(dict.fromkeys([*labels.get(iri, labels.get(name, ())), name]))))
    return relations


def _pairs(content: str) -> list[tuple[str, str]]:
    try:
        return [(str(iri), str(label)) for iri, label in json.loads(content)["rows"]]
    except (ValueError, KeyError, TypeError):  # it was cut on the way
        return []


def statements(step: Step, relations: Sequence[Relation]) -> Iterator[Statement]:
    """The statements of one walk, taken apart at the name of their predicate."""
    for item in step.found:
        best: tuple[int, Statement] | None = None
        for relation in relations:
            for name in relation.names:
                at = item.content.find(f" {name} ")
                if at > 0 and (best is None or len(name) > best[0]):
                    parts = item.content[:at], item.content[at + len(name) + 2 :]
                    best = len(name), Statement(parts[0], relation, parts[1], item.cite)
        if best is not None and not NAMING & set(best[1].relation.names):
            yield best[1]


def spoken(name: str) -> str:
    """A name as words: ``worksAt`` and ``works_at`` become "works at"; IRIs stay."""
    if "://" in name or name.startswith("urn:"):
        return re.split(r"[/#:]", name)[-1]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.replace("_", " ")) if " " not in name else name


def spoken_name(name: str) -> str:
    """A thing in a sentence, as it is written."""
    return spoken(name) if "://" in name or name.startswith("urn:") else name.replace("_", " ")


def spoken_relation(relation: Relation) -> str:
    """The relation in a sentence."""
    words = spoken(relation.names[0])
    return words.lower() if words.isascii() else words


def is_place(one: Statement) -> bool:
    """Whether its relation says where something is."""
    said = " ".join(one.relation.names).lower()
    return any(
        word in said
        for word in (
            "locat",
            "live",
            "based",
            "headquarter",
            "resid",
            "city",
            "born",
            "address",
            "capital of",
            "part of",
            "capitalof",
            "partof",
            "出生",
            "首都",
            "属于",
            "位于",
            "所在",
            "住",
            "地址",
            "总部",
        )
    )
