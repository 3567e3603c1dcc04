"""A question followed from the entity that it names, relation by relation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from datamind_model_offline.graph.asked import (
    Asked,
    entities_of,
    is_end,
    is_small,
    neighbors_of,
)
from datamind_model_offline.graph.facts import Relation as Predicate
from datamind_model_offline.graph.facts import (
    Statement,
    is_place,
    kinds_of,
    kinds_query,
    known_kinds,
    known_relations,
    rows_of,
    statements,
)
from datamind_model_offline.graph.linking import (
    EntityMention,
    RelationMention,
    asked_end,
    is_noun,
    kind_mentions,
    relation_mentions,
    unexplained,
)
from datamind_model_offline.planning import PlannedCall
from datamind_model_offline.tables.cues import find_cues
from datamind_model_offline.tables.linking import Text
from datamind_model_offline.tables.words import stem

CHAINS: Final = "SELECT DISTINCT ?p WHERE { ?a ?p ?b . ?b ?p ?c } LIMIT 200"
_FOUND: Final = 50
_FRONTIER: Final = 6
_HOPS: Final = 3
_KINDS: Final = 2
_ABOUT: Final = re.compile(
    r"(?:what (?:do|does|is|can).*(?:know|known|say|said) (?:about|of)|tell me (?:everything |all )?about|who is|what is|who was)\b|"
    r".*(?:是谁|是什么|有哪些信息|知道些?什么|介绍一下)[?？。]?\Z|介绍"
)
_PLACE_ASKED: Final = re.compile(r"\A(?:in|on|at) (?:which|what) \w+ (?:is|are|was|were)\b|[在位于]哪一?[个座]")
_WHICH: Final = re.compile(
    r"(?:\b(?:which|what|how many|whose)|哪一?[个些位家所座只条种辆]?|什么|几[个位家所座只条种辆])\s*\Z"
)
ATTACHED: Final = r"\s*(?:of|in|at|by|for|to|with|on)?\s*(?:the |an? )?(?:\w+ )?"
_COUNTRY: Final = re.compile(r"\b(?:country|province|continent|nation|state)\b|国家|省份|哪个?省|哪国")


@dataclass
class Walked:
    """How far a question was followed.

    Attributes:
        needed: Nodes whose statements are not known yet.
        hops: The statements of each hop.
        kinds_needed: Names of nodes that are reached and whose kind is asked for but not known yet.
    """

    needed: list[str] = field(default_factory=list)
    hops: list[list[Statement]] = field(default_factory=list)
    is_complete: bool = False
    kinds_needed: tuple[str, ...] = ()


def walk(asked: Asked) -> Walked:
    """How far the question can be followed with what the calls so far told."""
    mentions = entities_of(asked)
    relations = known_relations(asked.steps)
    named = relation_mentions(asked.text, relations, mentions)
    named = _without_classes(asked.text, named)
    spans = [*((one.start, one.end) for one in mentions), *((one.start, one.end) for one in named)]
    spans += [
        (cue.start, cue.end) for cue in find_cues(asked.text.low, asked.text.language) if cue.name not in ("not",)
    ]
    kinds = kind_mentions(asked.text, known_kinds(asked.steps))
    kinds = [one for one in kinds if not any(one[0] < end and start < one[1] for start, end in spans)]
    left = unexplained(asked.text, [*spans, *((start, end) for start, end, _ in kinds)])
    if len(mentions) > 2 or not mentions:
        return Walked()
    anchor = mentions[0]
    if not named:
        return _described(asked, anchor, relations) if len(mentions) == 1 and not left else Walked()
    ordered = outwards(asked.text, anchor, named)
    walked = _followed(asked, anchor, ordered, relations, mentions[1:])
    wanted = {iri for start, _, iri in kinds if _WHICH.search(asked.text.low[:start])}
    return _of_wanted_kind(asked, walked, wanted) if _are_kinds(left, walked) else Walked()


def _of_wanted_kind(asked: Asked, walked: Walked, wanted: set[str]) -> Walked:
    """Only the nodes of the kind that "which wines" asks for; a text that stands for itself has no kind."""
    if not wanted or not walked.is_complete or not walked.hops or not is_small(asked):
        return walked
    before = {end for hop in walked.hops[:-1] for one in hop for end in (one.subject, one.object)}
    names = [end for one in walked.hops[-1] for end in (one.subject, one.object)]
    reached = tuple(name for name in dict.fromkeys(names) if name not in before)[:_FOUND]
    query = PlannedCall("graph_query", {"sparql": kinds_query(reached)})
    step = next((s for s in asked.steps if s.name == query.name and s.arguments == query.arguments), None)
    if step is None:
        return Walked(hops=walked.hops, kinds_needed=reached)
    kinds = kinds_of(step)
    known = {*before, *(name for one in entities_of(asked) for name in one.entity.names)}
    kept = [
        one
        for one in walked.hops[-1]
        if any(
            end not in kinds or kinds[end] & wanted for end in (one.subject, one.object) if not is_end(end, list(known))
        )
    ]
    return Walked(hops=[*walked.hops[:-1], kept], is_complete=True) if kept else Walked()


def _are_kinds(left: Sequence[str], walked: Walked) -> bool:
    """Whether words that are left say what kind of thing is met on the way: "which telescopes", Vega Telescope."""
    if not walked.is_complete:
        return len(left) <= _KINDS
    met = {
        stem(word)
        for hop in walked.hops
        for one in hop
        for word in re.findall(r"[^\W_]+", f"{one.subject} {one.object}")
    }
    return all(
        stem(word) in met or any(word in f"{one.subject}{one.object}" for hop in walked.hops for one in hop)
        for word in left
    )


def outwards(text: Text, anchor: EntityMention, named: Sequence[RelationMention]) -> list[RelationMention]:
    """The relation words in the order in which they are followed: "where does the leader of X work" leads, then works."""
    before = sorted((one for one in named if one.start < anchor.start), key=lambda one: -one.start)
    behind = sorted((one for one in named if one.start >= anchor.end), key=lambda one: one.start)
    attached = before and re.fullmatch(ATTACHED, text.low[before[0].end : anchor.start])
    possessive = re.match(r"['’]s?\s", text.low[anchor.end :])
    return [*before, *behind] if attached and not possessive else [*behind, *before]


def _without_classes(text: Text, named: list[RelationMention]) -> list[RelationMention]:
    """ "which city is X located in": the city is what is asked for, no step on the way."""
    if len(named) < 2:
        return named

    def is_class(one: RelationMention) -> bool:
        before = text.low[max(0, one.start - 8) : one.start]
        return re.search(r"\b(?:which|what) \Z|哪个?一?[个座家]?\Z|什么\Z", before) is not None

    kept = [one for one in named if not is_class(one)]
    return kept or named


def _described(asked: Asked, anchor: EntityMention, relations: Sequence[Predicate]) -> Walked:
    """All that is said of an entity, or where it is."""
    step = neighbors_of(asked, anchor.entity.iri)
    is_where = _PLACE_ASKED.search(asked.text.low) is not None or any(
        cue.name == "where" for cue in find_cues(asked.text.low, asked.text.language)
    )
    if not is_where and _ABOUT.match(asked.text.low) is None:
        return Walked()
    if step is None:
        return Walked(needed=[anchor.entity.iri])
    found = list(statements(step, relations))
    if is_where:
        found = [one for one in found if is_place(one) and is_end(one.subject, anchor.entity.names)]
    return Walked(hops=[found], is_complete=bool(found))


def _followed(
    asked: Asked,
    anchor: EntityMention,
    named: Sequence[RelationMention],
    relations: Sequence[Predicate],
    others: Sequence[EntityMention],
) -> Walked:
    if len(named) > _HOPS:
        return Walked()
    walked = Walked()
    frontier: list[tuple[str, tuple[str, ...]]] = [(anchor.entity.iri, anchor.entity.names)]
    place = anchor.start, anchor.end
    for number, mention in enumerate(named):
        steps = [(names, neighbors_of(asked, node)) for node, names in frontier]
        walked.needed = [node for node, _ in frontier if neighbors_of(asked, node) is None]
        if walked.needed:
            return walked
        hop = [
            one
            for names, step in steps
            if step is not None
            for one in _taken(asked, list(statements(step, relations)), names, mention, place)
        ]
        if number == len(named) - 1:
            hop = _of_kind(asked, hop, [name for names, _ in steps for name in names])
            hop = [
                one
                for one in hop
                if all(is_end(one.subject, o.entity.names) or is_end(one.object, o.entity.names) for o in others)
            ]
        if not hop:
            return walked
        walked.hops.append(hop)
        known = [name for names, _ in steps for name in names]
        ends = [end for one in hop for end in (one.subject, one.object) if not is_end(end, known)]
        reached: list[tuple[str, tuple[str, ...]]] = [(end, (end,)) for end in dict.fromkeys(ends)]
        frontier = reached[:_FRONTIER]
        place = min(place[0], mention.start), max(place[1], mention.end)
    walked.is_complete = True
    if _COUNTRY.search(asked.text.low) is not None and all(is_place(one) for one in walked.hops[-1]):
        _wider_place(asked, walked, frontier, relations)
    return walked


def _wider_place(
    asked: Asked, walked: Walked, frontier: Sequence[tuple[str, tuple[str, ...]]], relations: Sequence[Predicate]
) -> None:
    """The place around the place that was found: the country of the city."""
    steps = [(names, neighbors_of(asked, node)) for node, names in frontier]
    walked.needed = [node for node, _ in frontier if neighbors_of(asked, node) is None]
    if walked.needed:
        walked.is_complete = False
        return
    wider = [
        one
        for names, step in steps
        if step is not None
        for one in statements(step, relations)
        if is_end(one.subject, names) and (is_place(one) or _COUNTRY.search(" ".join(one.relation.names).lower()))
    ]
    if wider:
        walked.hops.append(wider)


def _taken(
    asked: Asked, found: Sequence[Statement], names: tuple[str, ...], mention: RelationMention, place: tuple[int, int]
) -> list[Statement]:
    """The statements of a node that a relation word means."""
    scores = {relation.iri: score for relation, score in mention.relations}
    fitting = [one for one in found if one.relation.iri in scores]
    wanted, other = [], []
    for one in fitting:
        end = asked_end(asked.text, place, mention, one.relation)
        at_end = one.subject if end == "subject" else one.object
        if is_end(at_end, names):
            wanted.append(one)
        elif not _is_chaining(asked, one.relation) and not _is_plain(one.relation, scores[one.relation.iri]):
            other.append(one)
    chosen = wanted or other
    best = max((scores[one.relation.iri] for one in chosen), default=0.0)
    return [one for one in chosen if scores[one.relation.iri] >= best - 0.05]


def _is_plain(relation: Predicate, score: float) -> bool:
    """Whether the question uses the relation's own word, so that its direction is sure."""
    return score >= (0.95 if is_noun(relation) else 0.9)


def _of_kind(asked: Asked, hop: Sequence[Statement], names: Sequence[str]) -> list[Statement]:
    """Only times for "when", no numbers for "who" and "where"."""
    cues = {cue.name for cue in find_cues(asked.text.low, asked.text.language)}

    def fits(one: Statement) -> bool:
        end = one.object if is_end(one.subject, names) else one.subject
        if "when" in cues:
            return re.search(r"\d{4}", end) is not None
        if cues & {"who", "where"}:
            return re.fullmatch(r"[-\d.,:/TZ]+", end) is None
        return True

    return [one for one in hop if fits(one)]


def _is_chaining(asked: Asked, relation: Predicate) -> bool:
    """Whether the relation leads from one thing to another of its kind, so that its direction must be the one asked."""
    for step in asked.steps:
        if step.name == "graph_query" and step.arguments.get("sparql") == CHAINS and step.found:
            lines = [row[0] for row in rows_of(step)]
            return relation.iri in lines or bool(set(relation.names) & set(lines))
    return not is_small(asked)
