"""What the names that people and models give mean in a graph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from datamind.capabilities.graph.names import fold, is_unspaced
from datamind.capabilities.graph.terms import PREDICATE, make_node, name_of, read_iri, to_ntriples
from datamind.core.errors import NotFound
from datamind.core.protocols.graph import EntityHit, GraphReader, Term, Triple, TriplePattern

_LOOKED_AT: Final = 50
_NEAREST: Final = 3
_SHOWN_CHARS: Final = 80
_PREFIXED: Final = re.compile(r"[\w.-]*:([\w.-]+)")


class Resolver:
    """Finds the nodes and predicates of one graph by name."""

    def __init__(self, reader: GraphReader) -> None:
        self._reader = reader

    async def node(self, name: str) -> Term:
        """The one node that a name or an IRI means.

        Raises:
            NotFound: None is called so, or several are; those that are alike are named.
        """
        found = await self.nodes(name)
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(to_ntriples(term) for term in found[:5])
            raise NotFound(f"{len(found)} entities are called {name[:_SHOWN_CHARS]!r}", hint=f"Give one of {listed}.")
        alike = [hit.entity.name for hit in await self._reader.search_entities(name, _NEAREST)]
        hint = f"Similar: {', '.join(alike)}." if alike else "graph_search_entities finds entities by name."
        raise NotFound(f"no entity is called {name[:_SHOWN_CHARS]!r}", hint=hint)

    async def nodes(self, name: str) -> Sequence[Term]:
        """Every node that a name may mean: the one whose IRI it is, else those that are called so."""
        node = make_node(name)
        if await self.holds((node,)):
            return (node,)
        return _called(await self._reader.search_entities(name, _LOOKED_AT))

    async def predicates(self, names: Sequence[str]) -> Mapping[str, tuple[Term, ...]]:
        """For each name the predicates that it means: the one whose IRI it is, else all that are called so.

        Raises:
            NotFound: No statement has a predicate that is called so; the nearest are named.
        """
        return {name: await self._predicates(name) for name in dict.fromkeys(names)}

    async def _predicates(self, name: str) -> tuple[Term, ...]:
        found = await self.predicates_called(name)
        if found:
            return found
        nearest = ", ".join(await self._nearest(_last_part(name)))
        hint = f"Nearest: {nearest}." if nearest else "graph_stats lists the relations."
        raise NotFound(f"no relation is called {name[:_SHOWN_CHARS]!r}", hint=hint)

    async def _nearest(self, name: str) -> Sequence[str]:
        # One wrong character of two leaves nothing alike; the other one still leads to the name.
        for part in (name, *(char for char in name if is_unspaced(char))):
            hits = await self._reader.search_predicates(part, _NEAREST)
            if hits:
                return list(dict.fromkeys(hit.entity.name for hit in hits))
        return ()

    async def predicates_called(self, name: str) -> tuple[Term, ...]:
        """Every predicate of a statement that a name may mean; none for an IRI that is no predicate here."""
        given = read_iri(name)
        if given is not None:
            return (given,) if await self._is_used(given) else ()
        minted = make_node(name, namespace=PREDICATE)
        found = [minted] if await self._is_used(minted) else []
        last = _last_part(name)
        hits = await self._reader.search_predicates(last, _LOOKED_AT)
        return tuple(dict.fromkeys([*found, *(_called(hits) or _run_together(hits, last))]))

    async def _is_used(self, predicate: Term) -> bool:
        return bool((await self._reader.statements(TriplePattern(predicate=predicate), limit=1)).triples)

    async def holds(self, terms: tuple[Term, ...]) -> bool:
        """Whether the graph holds this statement, or says something about this node."""
        if len(terms) == 3:
            return bool((await self._reader.asserted_by([Triple(*terms)]))[0])
        return len(terms) == 1 and bool((await self._reader.edges(terms, direction="both", limit=1)).triples)

    async def is_called(self, term: Term, name: str) -> bool:
        """Whether a name means this term; a literal is called by its text."""
        if term.is_literal:
            return fold(term.value) == fold(name)
        return term in await self.nodes(name)


def _last_part(name: str) -> str:
    given, prefixed = read_iri(name), _PREFIXED.fullmatch(name.strip())
    if given is not None:
        return name_of(given)
    # A prefix is known to the file that declares it alone; what stands behind it is the name.
    return prefixed[1] if prefixed else name


def _called(hits: Sequence[EntityHit]) -> Sequence[Term]:
    return [hit.entity.term for hit in hits if hit.match in ("exact", "alias")]


def _run_together(hits: Sequence[EntityHit], name: str) -> Sequence[Term]:
    """Those that differ in spaces only: ``works at`` is ``worksAt``."""
    wanted = fold(name).replace(" ", "")
    return [
        hit.entity.term
        for hit in hits
        if wanted in {fold(one).replace(" ", "") for one in (hit.entity.name, *hit.entity.aliases)}
    ]
