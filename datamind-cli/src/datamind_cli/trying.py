"""The first minute with one's own files: questions made from what they hold, and an answer with its span shown."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final

from datamind.core.errors import DataMindError
from datamind.core.types import DataSurface

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind
    from datamind.core.evidence import Evidence, InferenceResult

WANTED: Final = 3
_MAX_ASKED: Final = 18
_MAX_EACH: Final = 12
_MAX_DOCUMENTS: Final = 30
_CONTEXT_CHARS: Final = 160
_MAX_STATEMENTS: Final = 200
_MAX_HEADING: Final = 60
_SEAM: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PREPOSITIONS: Final = frozenset({"in", "at", "by", "of", "for", "to", "on", "from", "with"})
_NUMBERS: Final = frozenset({"integer", "decimal", "float"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that the files may answer.

    Attributes:
        surface: Whose evidence must be cited.
    """

    question: str
    surface: DataSurface


@dataclass(frozen=True, slots=True)
class Tried:
    """A question that was answered, with the first piece of evidence that it cites."""

    question: str
    result: InferenceResult
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Shown:
    """A cited span between what stands around it."""

    before: str
    span: str
    after: str


async def try_questions(system: DataMind, progress: Callable[[str], None], *, wanted: int = WANTED) -> list[Tried]:
    """Questions made from headings, tables and entities, asked: only those whose answer cites what they are made of."""
    candidates = await _candidates(system)
    answered: list[Tried] = []
    for candidate in candidates[:_MAX_ASKED]:
        progress(f"asking: {candidate.question}")
        tried = await _asked(system, candidate)
        if tried is not None and all(tried.result.answer != other.result.answer for other in answered):
            answered.append(tried)
        if len(answered) == wanted:
            break
    return answered


async def _asked(system: DataMind, candidate: Candidate) -> Tried | None:
    try:
        result = await system.query(candidate.question)
    except DataMindError:
        return None
    cited = [result.evidence[citation.number - 1] for citation in result.citations if citation.supported]
    evidence = next((item for item in cited if item.surface is candidate.surface), None)
    return Tried(candidate.question, result, evidence) if evidence is not None else None


async def _candidates(system: DataMind) -> list[Candidate]:
    """Questions of each surface in turn, so that the first three are about different things where there are some."""
    columns = [[item async for item in make(system)] for surface, make in _MAKERS if surface not in system.services.off]
    mixed = chain.from_iterable(zip_longest(*columns))
    return list({item.question: item for item in mixed if item is not None}.values())


async def _from_headings(system: DataMind) -> AsyncIterator[Candidate]:
    from datamind.capabilities.text.blocks import split_blocks

    sources = system.services.control.sources
    stored = (await sources.active(DataSurface.KB))[:_MAX_DOCUMENTS]
    found: list[list[str]] = []
    for document in stored:
        text = await sources.text(document.content_hash)
        blocks = split_blocks(text, media_type=document.source.media_type)
        paths = dict.fromkeys(block.heading_path for block in blocks if block.heading_path and block.kind == "prose")
        # The title of the whole document last: its sections say more.
        headings = [path[-1] for path in sorted(paths, key=len, reverse=True)] or [document.title]
        found.append([heading for heading in headings if 1 < len(heading) <= _MAX_HEADING])
    in_turn = chain.from_iterable(zip_longest(*found))
    for heading in [heading for heading in in_turn if heading][:_MAX_EACH]:
        for question in _about(heading):
            yield Candidate(question, DataSurface.KB)


def _about(heading: str) -> Iterator[str]:
    if heading.endswith(("?", "？")):
        yield heading
    elif _is_chinese(heading):
        yield f"关于{heading}有什么规定？"
        yield f"{heading}是什么？"
    else:
        are = "are" if heading.endswith("s") and not heading.endswith("ss") else "is"
        yield f"What {are} {_inside_a_sentence(heading)}?"
        yield f"What is said about {heading}?"


async def _from_tables(system: DataMind) -> AsyncIterator[Candidate]:
    db = system.services.read.db
    for table in (await db.tables() if db is not None else ())[:_MAX_EACH]:
        described = await db.describe(table.name, sample=0)
        distinct = {profile.name: profile.distinct for profile in described.profile}
        numbers = [column.name for column in table.columns if column.kind in _NUMBERS and not _is_key(column.name)]
        texts = [column.name for column in table.columns if column.kind == "text"]
        # A label names rows, a group of rows has the same text.
        label = max(texts, key=lambda name: distinct[name], default="")
        group = min((name for name in texts if 1 < distinct[name] < table.rows), key=distinct.__getitem__, default="")
        for question in _of_table(table.name, label, group, numbers[-1] if numbers else ""):
            yield Candidate(question, DataSurface.DB)


def _of_table(table: str, label: str, group: str, number: str) -> Iterator[str]:
    chinese = _is_chinese(table + label + number)
    name, label, group, number = (part.replace("_", " ") for part in (table, label, group, number))
    if number and label:
        yield f"{number}最高的{label}是哪个？" if chinese else f"Which {label} has the highest {number}?"
    if number and group:
        yield f"各{group}的{number}合计是多少？" if chinese else f"What is the total {number} per {group}?"
    if number:
        yield f"{name}的平均{number}是多少？" if chinese else f"What is the average {number} in {name}?"
    yield f"{name}有多少行？" if chinese else f"How many rows are in {name}?"


async def _from_graph(system: DataMind) -> AsyncIterator[Candidate]:
    from datamind.capabilities.graph.terms import name_of

    statement = f"SELECT ?s ?p WHERE {{ ?s ?p ?o FILTER(isIRI(?s) && isIRI(?o)) }} LIMIT {_MAX_STATEMENTS}"
    result, _ = await system.services.read.graph.query(statement)
    firsts = {row[0]: row for row in result.rows if row[0] and row[1]}
    for subject, relation in list(firsts.values())[:_MAX_EACH]:
        assert subject is not None and relation is not None
        name, verb = name_of(subject), name_of(relation).replace("_", " ")
        for question in _of_relation(name, _SEAM.sub(" ", verb)):
            yield Candidate(question, DataSurface.GRAPH)


def _of_relation(name: str, relation: str) -> Iterator[str]:
    words = relation.casefold().split()
    if not words or words[-1] in ("type", "label", "subject"):
        return
    if _is_chinese(name + relation):
        yield f"{name}的{relation}是什么？"
    elif words[-1] in _PREPOSITIONS and len(words) > 1:
        yield f"What {'does' if words[0].endswith('s') else 'is'} {name} {_base(words[0])} {' '.join(words[1:])}?"
    elif words[0].endswith("s") and len(words) == 1:
        yield f"What does {name} {_base(words[0])}?"
    else:
        yield f"What is the {' '.join(words[words[0] == 'has' :])} of {name}?"


def _base(verb: str) -> str:
    """``leads`` as it stands behind ``does``."""
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb


def _inside_a_sentence(heading: str) -> str:
    """With a small letter, unless the first word is a name or in capitals as far as can be seen."""
    first, _, rest = heading.partition(" ")
    is_title = rest and any(word[:1].isupper() for word in rest.split())
    return heading if is_title or first[1:] != first[1:].lower() else heading[:1].lower() + heading[1:]


def _is_key(name: str) -> bool:
    folded = name.casefold()
    return folded in ("id", "no", "number", "year", "编号", "序号", "年份") or folded.endswith(("_id", " id", "编号"))


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


async def shown_span(system: DataMind, tried: Tried) -> Shown:
    """What the answer quotes, or all that it cites, in the text around it."""
    evidence, locator = tried.evidence, tried.evidence.locator
    text, start, end = evidence.content, 0, len(evidence.content)
    if locator.type == "text":
        stored = next(iter(await system.services.control.sources.get(evidence.source.source_id)), None)
        whole = await system.services.control.sources.text(stored.content_hash) if stored else ""
        if whole[locator.start : locator.end] == evidence.content:
            text, start, end = whole, locator.start, locator.end
    quoted = _quoted(tried, text[start:end])
    if quoted:
        start = text.index(quoted, start)
        end = start + len(quoted)
    before, after = text[max(0, start - _CONTEXT_CHARS) : start], text[end : end + _CONTEXT_CHARS]
    return Shown(_from_a_word(before, cut=start > _CONTEXT_CHARS), text[start:end], _to_a_word(after, text, end))


def _quoted(tried: Tried, content: str) -> str:
    """The longest line or sentence of the answer that stands in the evidence word for word."""
    from datamind.capabilities.text.sentences import split_sentences

    parts = [content[start:end].strip() for start, end in split_sentences(content)]
    return max((part for part in parts if part in tried.result.answer), key=len, default="")


def _from_a_word(text: str, *, cut: bool) -> str:
    return "…" + text.partition(" ")[2] if cut and " " in text[:40] else "…" * cut + text


def _to_a_word(after: str, text: str, end: int) -> str:
    if end + _CONTEXT_CHARS >= len(text):
        return after
    return (after.rpartition(" ")[0] if " " in after[-40:] else after) + "…"


_MAKERS: Final = (
    (DataSurface.KB, _from_headings),
    (DataSurface.DB, _from_tables),
    (DataSurface.GRAPH, _from_graph),
)
