"""A question put to the graph, and what the calls so far told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from datamind_model_offline.conversation import Conversation, Step
from datamind_model_offline.graph.facts import (
    found_entities,
    known_kinds,
    known_relations,
    same_name,
)
from datamind_model_offline.graph.linking import (
    EntityMention,
    entity_mentions,
)
from datamind_model_offline.planning import PlannedCall
from datamind_model_offline.tables.linking import Text, prepare

_CHAINED_UP_TO: Final = 100_000
_AROUND: Final = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """A question put to the graph, with what the calls so far told."""

    conversation: Conversation
    text: Text

    @property
    def steps(self) -> Sequence[Step]:
        """The calls so far."""
        return self.conversation.steps


def ask_graph(conversation: Conversation, question: str, language: str) -> Asked | None:
    """The question, if there is a graph that can be read."""
    if not conversation.holds("graph") or not conversation.has("graph_neighbors"):
        return None
    return Asked(conversation, prepare(question, language))


def entities_of(asked: Asked) -> list[EntityMention]:
    """The entities that the question names; relations and kinds are none."""
    found = found_entities(asked.steps)
    predicates = {name for relation in known_relations(asked.steps) for name in relation.names}
    kinds = {kind.iri for kind in known_kinds(asked.steps)}
    return entity_mentions(
        asked.text, [one for one in found if one.iri not in kinds and not predicates & set(one.names)]
    )


def is_end(end: str, names: Sequence[str]) -> bool:
    """Whether an end of a statement is called by one of these names."""
    return any(same_name(end, name) for name in names)


def is_small(asked: Asked) -> bool:
    """Whether a query over the whole graph is cheap enough."""
    sizes = [step.data.get("statements") for step in asked.steps if step.name == "graph_stats"]
    return bool(sizes) and isinstance(sizes[-1], int) and sizes[-1] <= _CHAINED_UP_TO


def around(node: str) -> PlannedCall:
    """The call that tells what is said of a node."""
    return PlannedCall("graph_neighbors", {"entity": node, "limit": _AROUND})


def neighbors_of(asked: Asked, node: str) -> Step | None:
    """What was told of a node, or None."""
    return next((s for s in asked.steps if s.name == "graph_neighbors" and s.arguments.get("entity") == node), None)


def was_made(asked: Asked, call: PlannedCall) -> bool:
    """Whether a call is among those so far."""
    return any(step.name == call.name and step.arguments == call.arguments for step in asked.steps)
