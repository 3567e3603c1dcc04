"""Which entities and relations a question names, and in which direction it asks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from datamind.capabilities.text.offsets import normalize_nfkc
from datamind_model_offline.graph.concepts import concepts, han_words
from datamind_model_offline.graph.facts import NAMING, Entity, Kind, Relation, spoken
from datamind_model_offline.tables import words
from datamind_model_offline.tables.cues import is_light, without_light_han
from datamind_model_offline.tables.linking import Text

_HAN: Final = re.compile(r"[\u3400-\u9fff]+")
_GENERIC: Final = frozenset(
    map(words.stem, re.findall(r"\w+", "has have is are was were of by in at to with on for from a the and"))
)
_CLASS_WORDS: Final = """
    person people company companies city country place firm organization organisation thing one man woman employee
    colleague someone town entity institution project member relation relationship related connected connection linked
    link name product book file which
"""
_CLASSES: Final = frozenset(map(words.stem, _CLASS_WORDS.split()))
_HAN_CLASSES: Final = re.compile(
    r"人员|人|公司|城市|国家|地方|机构|组织|企业|项目|产品|关系|联系|关联|之间|怎么|如何|名字|东西|部门|员工|大学|学校|医院|银行|团队|哪所|位置|老师|同事"
)
_NEAR: Final = 12
Direction = Literal["subject", "object"]


@dataclass(frozen=True, slots=True)
class EntityMention:
    """An entity where the question names it, by the name it is shown with or by another."""

    start: int
    end: int
    entity: Entity
    is_shown: bool = True


@dataclass(frozen=True, slots=True)
class RelationMention:
    """A word of a relation, and the predicates that it may mean with how well it fits."""

    start: int
    end: int
    relations: tuple[tuple[Relation, float], ...]


def entity_mentions(text: Text, entities: Sequence[Entity]) -> list[EntityMention]:
    """The entities that the question names whole, the longest names first; none overlap."""
    found: list[EntityMention] = []
    for entity in entities:
        for name in entity.names:
            low = normalize_nfkc(spoken(name) if "_" in name else name).lower().strip()
            if len(low) < 2:
                continue
            found += [
                EntityMention(*match.span(), entity, is_shown=name == entity.names[0])
                for match in re.finditer(re.escape(low), text.low)
                if _is_bordered(text.low, *match.span())
            ]
    if any(one.is_shown for one in found):
        # "which school does Ada attend": the one with the id ``school`` is not meant
        found = [one for one in found if one.is_shown or not text.shown[one.start : one.end].islower()]
    found.sort(key=lambda one: (one.start - one.end, one.start))
    kept: list[EntityMention] = []
    for one in found:
        if not any(one.start < other.end and other.start < one.end for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)


def kind_mentions(text: Text, kinds: Sequence[Kind]) -> list[tuple[int, int, str]]:
    """The words that name a class of nodes, and the class: "which wines", 哪些门店."""
    found: list[tuple[int, int, str]] = []
    stems = [word.stem for word in text.words]
    for kind in kinds:
        for name in kind.names:
            said = [words.stem(part) for part in re.findall(r"[^\W_\u3400-\u9fff]+", spoken(name))]
            for i in range(len(stems) - len(said) + 1 if said else 0):
                if stems[i : i + len(said)] == said:
                    found.append((text.words[i].start, text.words[i + len(said) - 1].end, kind.iri))
            if _HAN.fullmatch(name) and len(name) > 1:
                found += [(*match.span(), kind.iri) for match in re.finditer(re.escape(name), text.low)]
    return found


def _is_bordered(low: str, start: int, end: int) -> bool:
    def joins(a: str, b: str) -> bool:
        return a.isalnum() and b.isalnum() and not (_HAN.match(a) or _HAN.match(b))

    return not (start > 0 and joins(low[start - 1], low[start])) and not (
        end < len(low) and joins(low[end - 1], low[end])
    )


def relation_mentions(
    text: Text, relations: Sequence[Relation], taken: Iterable[EntityMention]
) -> list[RelationMention]:
    """The words outside entities that fit a predicate of the graph, in their order."""
    spans = [(one.start, one.end) for one in taken]
    usable = [relation for relation in relations if not NAMING & set(relation.names)]
    found = []
    for start, end, keys in _terms(text, spans, usable):
        fits = tuple((relation, score) for relation in usable if (score := _fit(relation, keys)) > 0)
        if fits:
            best = max(score for _, score in fits)
            if best < 0.7 and keys[0] in _CLASSES:
                continue  # "how many people work": a word for the kind of thing asked for
            found.append(RelationMention(start, end, tuple(fit for fit in fits if fit[1] >= best - 0.15)))
    return _merged(sorted(found, key=lambda one: one.start), spans)


def _merged(found: Sequence[RelationMention], spans: Sequence[tuple[int, int]]) -> list[RelationMention]:
    """Neighbouring words of one relation as one: "is the seat located", 总部所在."""
    kept: list[RelationMention] = []
    for one in found:
        last = kept[-1] if kept else None
        same = last is not None and {r.iri for r, _ in last.relations} & {r.iri for r, _ in one.relations}
        between = last is not None and any(last.end <= start < one.start for start, _ in spans)
        if last is None or not same or between or one.start - last.end > _NEAR:
            kept.append(one)
            continue
        both = [(r, max(score, dict(last.relations).get(r, 0.0))) for r, score in one.relations if r.iri in same]
        kept[-1] = RelationMention(last.start, one.end, tuple(both))
    return kept


def _terms(
    text: Text, spans: Sequence[tuple[int, int]], relations: Sequence[Relation]
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    def is_free(start: int, end: int) -> bool:
        return not any(start < stop and begin < end for begin, stop in spans)

    for word in text.words:
        if is_free(word.start, word.end) and word.stem not in _GENERIC:
            yield word.start, word.end, (word.stem,)
    covered = "".join(char if is_free(i, i + 1) else " " for i, char in enumerate(text.low))
    own = {run for relation in relations for name in relation.names for run in _HAN.findall(name)}
    own |= {run.removesuffix("于") for run in own if len(run) > 2}
    for said in sorted({*own, *han_words()}, key=lambda one: (-len(one), one)):
        if len(said) < 2 and said not in ("住", "教", "写", "画", "吃"):
            continue
        for match in re.finditer(re.escape(said), covered):
            yield *match.span(), (said,)
            covered = covered[: match.start()] + " " * len(said) + covered[match.end() :]


def _fit(relation: Relation, keys: tuple[str, ...]) -> float:
    (key,) = keys
    best = 0.0
    for name in relation.names:
        own = relation_words(name)
        if key in own or (_HAN.fullmatch(key) and (key in name or name in key)):
            best = max(best, 1.0 if len(own) <= 1 or key == own[0] else 0.9)
        elif any(concepts(key) & concepts(word) for word in own):
            best = max(best, 0.8)
        elif len(own) == 1 and own[0] in words.like(key):
            best = max(best, 0.6)
    return best


def relation_words(name: str) -> list[str]:
    """The words of a predicate's name that say what it is about."""
    latin = [words.stem(part) for part in re.findall(r"[^\W_\u3400-\u9fff]+", spoken(name).lower())]
    han = _HAN.findall(name)
    parts = [word for run in han for word in han_words() if word in run and len(word) > 1]
    return [word for word in latin if word not in _GENERIC] + han + parts


def unexplained(text: Text, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Content words that neither an entity nor a relation explains."""

    def is_taken(start: int, end: int) -> bool:
        return any(start < stop and begin < end for begin, stop in spans)

    left = [
        word.low
        for word in text.words
        if not is_taken(word.start, word.end) and word.stem not in _CLASSES and (word.is_name or not is_light(word.low))
    ]
    covered = "".join(" " if is_taken(i, i + 1) else char for i, char in enumerate(text.low))
    for run in _HAN.findall(covered):
        left += [part for part in without_light_han(_HAN_CLASSES.sub("", run)).split() if len(part) > 1]
    return left


def asked_end(text: Text, place: tuple[int, int], mention: RelationMention, relation: Relation) -> Direction:
    """Which end of the statement the known entity is.

    Args:
        place: Where the entity, or the words that stand for it, are in the question.
    """
    start, end = place
    before = text.low[:start]
    between = text.low[min(end, mention.end) : max(start, mention.start)]
    behind = text.low[mention.end : mention.end + 4]
    is_behind = mention.start >= end
    said = text.low[mention.start : mention.end]
    by_entity = not is_behind and re.search(r"\bby\b|被|由", between) is not None
    possessive = is_behind and re.match(r"\s*['’]s?\s|\s*的", text.low[end : end + 3]) is not None
    passive = (
        is_behind
        and (re.search(r"\bby\b", behind + text.low[mention.end :]) or re.search(r"由谁|被谁", text.low)) is not None
    )
    fronted = is_behind and not possessive and not passive
    if possessive and text.language == "zh" and said in relation.names:
        return "subject"  # X的作曲
    kind = _kind(relation)
    gap = text.low[end : mention.start]
    if kind == "noun" and is_behind and said in relation.names and _HAN.fullmatch(said) and gap in ("", "的"):
        return "subject"  # X所在城市
    if words.stem(spoken(relation.names[-1]).lower().split(" ")[0]) == "report" and _ABOVE.search(said):
        return "subject"
    if text.language == "en" and is_behind and not possessive and re.search(r"\b(?:who|what|which\b.*)\s*\Z", before):
        fronted = True
    agent = fronted or by_entity
    if kind in ("verb", "of"):
        if kind == "verb" and not is_behind and _is_agent_noun(said) and not by_entity:
            return "object"
        return "subject" if agent else "object"
    return "object" if agent and kind != "noun_of_place" and _is_verb(said) else "subject"


def is_noun(relation: Relation) -> bool:
    """Whether the relation is called by what the object is to the subject: founder, teacher."""
    return _kind(relation) == "noun"


def _kind(relation: Relation) -> str:
    name = spoken(relation.names[-1]).lower()
    if name.endswith((" by", "者", "人", "方")) or name.startswith("has "):
        return "noun"
    if name.endswith(" of"):
        return "of"
    first = name.split(" ")[0]
    if _VERB_PREPOSITION.search(name) and not _is_agent_noun(first) and first not in _NOUNS:
        return "verb"
    if (
        re.search(r"(?:ed|[^s]s|born|led|taught|wrote|made|won|built)\Z", first)
        and len(first) > 2
        and first not in _NOUNS
    ):
        return "verb"
    if name in ("work at", "work in", "live in", "study at", "report to", "belong to", "part of"):
        return "verb"
    if _HAN.fullmatch(name):
        return (
            "noun"
            if name.endswith(
                (
                    "人",
                    "者",
                    "长",
                    "地",
                    "师",
                    "国",
                    "城市",
                    "方",
                    "商",
                    "部门",
                    "单位",
                    "总部",
                    "经理",
                    "主管",
                    "配偶",
                    "首都",
                    "上级",
                    "成员",
                )
            )
            else "verb"
        )
    return "noun"


_ABOVE: Final = re.compile(r"boss|supervisor|manager|superior|上级|上司|领导|主管")
_VERB_PREPOSITION: Final = re.compile(r"\w (?:on|in|at|from|to|into|with|for|near|under)\Z")
_NOUNS: Final = frozenset(
    {"headquarters", "employees", "members", "parents", "children", "boss", "species", "status", "address", "class"}
)


def _is_agent_noun(word: str) -> bool:
    return re.search(r"(?:er|or|head|boss|chief|author|ceo|parent|人|者|师|商|长|经理|主管)s?\Z", word) is not None


def _is_verb(word: str) -> bool:
    return not _is_agent_noun(word)
