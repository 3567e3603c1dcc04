"""The calls that answer a question from the graph, round by round, and the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from datamind_model_offline.graph.asked import (
    Asked,
    around,
    entities_of,
    is_end,
    is_small,
    was_made,
)
from datamind_model_offline.graph.facts import (
    KINDS_QUERY,
    LABELS_QUERY,
    NAMING,
    Statement,
    kinds_query,
    known_relations,
    rows_of,
    same_name,
    spoken_name,
    spoken_relation,
    statements,
)
from datamind_model_offline.graph.linking import (
    EntityMention,
    relation_mentions,
)
from datamind_model_offline.graph.walk import ATTACHED, CHAINS, Walked, outwards, walk
from datamind_model_offline.passages import shown_text
from datamind_model_offline.planning import PlannedCall
from datamind_model_offline.tables.cues import find_cues

_FOUND: Final = 50
_FRONTIER: Final = 6
_SHOWN: Final = 12
_PREDICATES: Final = 50
_PATH: Final = re.compile(
    r"\b(?:related|connected|connection|relationship|relation|linked|link)\b|关系|关联|联系|相关|有什么联系"
)


def graph_calls(asked: Asked) -> list[PlannedCall]:
    """The next calls; none once the question is followed to its end, or cannot be."""
    search = PlannedCall("graph_search_entities", {"query": asked.text.shown[:200], "limit": _FOUND})
    if not was_made(asked, search):
        names = [PlannedCall("graph_query", {"sparql": query}) for query in (LABELS_QUERY, KINDS_QUERY)]
        return [search, PlannedCall("graph_stats", {}), *names]
    mentions = entities_of(asked)
    if not mentions:
        return []
    if _is_path(asked, mentions):
        return [_path(asked, mentions)]
    walked = walk(asked)
    calls = [around(node) for node in walked.needed[:_FRONTIER]]
    if walked.kinds_needed:
        return [PlannedCall("graph_query", {"sparql": kinds_query(walked.kinds_needed)})]
    if calls and is_small(asked):
        calls.append(PlannedCall("graph_query", {"sparql": CHAINS}))
    return calls or _counting(asked)


def _path(asked: Asked, mentions: Sequence[EntityMention]) -> PlannedCall:
    """How two things are connected; that both are persons, or are called alike, connects nothing."""
    relations = [one.iri for one in known_relations(asked.steps) if not NAMING & set(one.names)]
    ends = {"start": mentions[0].entity.iri, "goal": mentions[1].entity.iri, "max_hops": 5}
    return PlannedCall("graph_path", {**ends, "predicates": relations} if len(relations) <= _PREDICATES else ends)


def graph_answer(asked: Asked, language: str) -> str:
    """The statements in words, each with its number; empty without any."""
    found = answering_statements(asked)
    if not found or any(not was_made(asked, call) for call in _counting(asked)):
        return ""
    lines = [f"{_sentence(one)} [{one.cite}]" for one in found[:_SHOWN]]
    counted = _counted(asked)
    return "\n".join([*([counted] if counted else []), *lines])


def answering_statements(asked: Asked) -> list[Statement]:
    """The statements that answer, those of the last hop first."""
    mentions = entities_of(asked)
    if not mentions:
        return []
    if _is_path(asked, mentions):
        relations = known_relations(asked.steps)
        return [one for step in asked.steps if step.name == "graph_path" for one in statements(step, relations)]
    walked = walk(asked)
    if not walked.is_complete:
        return []
    return list({one.cite: one for hop in reversed(walked.hops) for one in hop}.values())


def answer_names(asked: Asked) -> list[str]:
    """The nodes that answer."""
    walked = walk(asked) if entities_of(asked) else Walked()
    if not walked.is_complete or not walked.hops:
        return []
    mention = entities_of(asked)[0]
    known = {*mention.entity.names}
    known |= {one.object for hop in walked.hops[:-1] for one in hop} | {
        one.subject for hop in walked.hops[:-1] for one in hop
    }
    ends = [end for one in walked.hops[-1] for end in (one.subject, one.object)]
    return [end for end in dict.fromkeys(ends) if not any(same_name(end, name) for name in known)]


def described(asked: Asked) -> str | None:
    """The words of a question that describe something by an entity and its relation: "head of the ward"."""
    mentions = entities_of(asked)
    if len(mentions) != 1:
        return None
    anchor = mentions[0]
    named = relation_mentions(asked.text, known_relations(asked.steps), mentions)
    if not named:
        return None
    nearest = outwards(asked.text, anchor, named)[0]
    gap = asked.text.low[min(anchor.end, nearest.end) : max(anchor.start, nearest.start)]
    if re.fullmatch(rf"{ATTACHED}|['’]s?\s+|的?", gap) is None:
        return None
    return asked.text.shown[min(anchor.start, nearest.start) : max(anchor.end, nearest.end)]


def _is_path(asked: Asked, mentions: Sequence[EntityMention]) -> bool:
    return len(mentions) == 2 and _PATH.search(asked.text.low) is not None and mentions[0].entity != mentions[1].entity


def _counting(asked: Asked) -> list[PlannedCall]:
    """A count in one statement, where a number of things is asked for."""
    query = _count_query(asked)
    return [PlannedCall("graph_query", {"sparql": query})] if query else []


def _count_query(asked: Asked) -> str:
    if not any(cue.name == "count" for cue in find_cues(asked.text.low, asked.text.language)):
        return ""
    walked = walk(asked)
    if not walked.is_complete or len(walked.hops) != 1:
        return ""
    entity = entities_of(asked)[0].entity
    found = walked.hops[0]
    if len(found) == 1 and re.search(r"\d", found[0].other(entity.names[0])):
        return ""
    paths = "|".join(dict.fromkeys(f"<{one.relation.iri}>" for one in found))
    forward = is_end(found[0].subject, entity.names)
    pattern = f"<{entity.iri}> {paths} ?x" if forward else f"?x {paths} <{entity.iri}>"
    return f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {pattern} }}"


def _counted(asked: Asked) -> str:
    query = _count_query(asked)
    step = (
        next((s for s in asked.steps if s.name == "graph_query" and s.arguments.get("sparql") == query), None)
        if query
        else None
    )
    if step is None or not step.found:
        return ""
    rows = rows_of(step)
    return f"{rows[0][0]} [{step.found[0].cite}]" if rows else ""


def _sentence(one: Statement) -> str:
    gap = "" if all(re.search("[\u3400-\u9fff]", part) for part in (one.relation.names[0], one.subject)) else " "
    return shown_text(f"{spoken_name(one.subject)}{gap}{spoken_relation(one.relation)}{gap}{spoken_name(one.object)}")
