"""RetrieveAgent without a model: which reads come next, and when they are enough."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from datamind_model_offline import listing, timeline
from datamind_model_offline.asked_days import AskedDay, asked_day
from datamind_model_offline.asked_facts import asked_fact
from datamind_model_offline.commands import CommandName, parse_command
from datamind_model_offline.conversation import Conversation, Step
from datamind_model_offline.extract import SURE, Answer, Quote, choose, leading_sentences
from datamind_model_offline.grammar import FormName, Parsed, parse_question
from datamind_model_offline.passages import Found, shown_text
from datamind_model_offline.planning import Plan, PlannedCall, known_arguments
from datamind_model_offline.question import Question, analyse, is_of_the_speaker, with_context
from datamind_model_offline.replies import joined, language_of, say, surface_name
from datamind_model_offline.structured import (
    bridge_stage,
    graph_stage,
    nearest_names,
    parts_of,
    structured_answer,
    table_stage,
)
from datamind_model_offline.utilities import utility_call

MAX_ROUNDS: Final = 11
"""Replies with calls in one run; after them the answer is made from what there is."""

_SHOWN_CHARS: Final = 120
_MEMORIES: Final = 20
_PASSAGES: Final = 8
_WIDE_SHARE: Final = 0.5
_SEARCHES: Final = {
    "memory_recall": "memory",
    "db_list_tables": "db",
    "kb_search": "kb",
    "graph_search_entities": "graph",
    "skill_search": "skills",
}
_FOLLOWS: Final = re.compile(
    r"(?:and|what about|how about|or|also|then)\b"
    r"|.*\b(?:it|its|they|them|their|he|him|his|she|her|there|that|those|this)\b"
    r"|那|还有|另外|那么|.*(?:呢[?？]?\Z|[他她它]|那里|那边|这个|那个)",
    re.IGNORECASE,
)
_WHICH_SKILL: Final = re.compile(r"\b(?:which|what) skills?\b|哪[个些]技能|什么技能", re.IGNORECASE)
_FEW_WORDS: Final = 3.2
_WRITES: Final = frozenset(CommandName) - {CommandName.CHANGE, CommandName.KEEP_TEXT}


@dataclass(frozen=True, slots=True)
class Reading:
    """One question and what is known about it."""

    conversation: Conversation
    question: Question
    parsed: Parsed
    language: str

    @property
    def found(self) -> list[Found]:
        """Everything that can be cited, each piece once, where it ranked best."""
        best: dict[int, Found] = {}
        for step in self.conversation.steps:
            # What a skill is for does not say how: its body does.
            if step.name == "skill_search" and not _WHICH_SKILL.search(self.question.text):
                continue
            if step.name.startswith(("db_", "graph_")):
                continue
            wide = step.name == "kb_search" and step.arguments.get("query") == self.question.wide
            for item in step.found:
                if wide:
                    item = replace(item, share=item.share * _WIDE_SHARE, rank=item.rank + 2)
                best.setdefault(item.cite, item)
        return list(best.values())


def plan_reading(conversation: Conversation) -> Plan:
    """The next calls, or the answer; of two questions in one, first all calls for the one, then for the other."""
    parts = parts_of(conversation)
    if len(parts) == 1:
        return _plan(conversation)
    texts = []
    for part in parts:
        plan = _plan(replace(conversation, text=part))
        if plan.calls:
            return plan
        texts.append(plan.text)
    return Plan(text="\n".join(dict.fromkeys(texts)))


def _plan(conversation: Conversation) -> Plan:
    reading = _read(conversation)
    if not conversation.text:
        return Plan(text=say(reading.language, "no_question"))
    command = parse_command(conversation.text, reading.question.language)
    if command is not None and command.name in _WRITES:
        return Plan(text=say(reading.language, "read_only"))
    for stage in _stages(reading):
        calls = tuple(call for call in map_known(conversation, stage(reading)) if not _was_made(conversation, call))
        if not calls:
            continue
        if len(conversation.rounds) >= MAX_ROUNDS or _is_sure(reading):
            break
        return Plan(calls=calls)
    return Plan(text=_final_text(reading))


def map_known(conversation: Conversation, calls: Sequence[PlannedCall]) -> list[PlannedCall]:
    """The calls that can be made here, with the arguments their tools know."""
    return [known_arguments(conversation, call) for call in calls if conversation.has(call.name)]


def _read(conversation: Conversation) -> Reading:
    language = language_of(conversation.text)
    question = analyse(conversation.text)
    if conversation.earlier and _is_follow_up(question):
        question = with_context(question, analyse(conversation.earlier[-1]))
    return Reading(conversation, question, parse_question(conversation.text, question.language), language)


def _is_follow_up(question: Question) -> bool:
    weight = sum(term.weight for term in question.terms)
    few = weight <= (_FEW_WORDS * 2 if question.language == "zh" else _FEW_WORDS)
    return few and (not any(term.weight >= 1 for term in question.terms) or _FOLLOWS.match(question.text) is not None)


Stage = Callable[[Reading], list[PlannedCall]]


def _stages(reading: Reading) -> list[Stage]:
    special: dict[FormName, list[Stage]] = {
        FormName.COUNT: [lambda r: listing.calls(r.conversation, r.parsed)],
        FormName.LISTING: [lambda r: listing.calls(r.conversation, r.parsed)],
        FormName.SUMMARY: [_documents, _whole_document, _passages],
        FormName.HISTORY: [_history, _memories, _tables, _graph, _bridge, _passages, _wide_passages],
        FormName.SKILL: [_memories, _skills, _skill_body, _passages, _wide_passages],
    }
    default = [_memories, _fact, _tables, _graph, _bridge, _passages, _wide_passages, _skills, _skill_body]
    return [_utility, *special.get(reading.parsed.form, default)]


def _utility(reading: Reading) -> list[PlannedCall]:
    call = utility_call(reading.parsed)
    return [call] if call is not None else []


def _memories(reading: Reading) -> list[PlannedCall]:
    if not reading.conversation.holds("memory"):
        return []
    return [PlannedCall("memory_recall", {"query": reading.question.wide, "top_k": _MEMORIES})]


def _history(reading: Reading) -> list[PlannedCall]:
    if not reading.conversation.holds("memory"):
        return []
    asked = asked_day(reading.question.text)
    if asked is not None:
        query = {"query": reading.question.wide, "top_k": _MEMORIES, "as_of": f"{asked.day}T23:59:59Z"}
        return [PlannedCall("memory_recall", query)]
    fact = asked_fact(reading.question.text)
    return [PlannedCall("memory_history", {"subject": fact[0], "attribute": fact[1]})] if fact is not None else []


def _tables(reading: Reading) -> list[PlannedCall]:
    return table_stage(reading.conversation, reading.language)


def _graph(reading: Reading) -> list[PlannedCall]:
    return graph_stage(reading.conversation, reading.language)


def _fact(reading: Reading) -> list[PlannedCall]:
    """The fact asked for by its name, which is the same in both languages; its words need not be."""
    fact = asked_fact(reading.question.text)
    if fact is None or not reading.conversation.holds("memory"):
        return []
    return [PlannedCall("memory_history", {"subject": fact[0], "attribute": fact[1], "limit": _MEMORIES})]


def _bridge(reading: Reading) -> list[PlannedCall]:
    return bridge_stage(reading.conversation, reading.language)


def _passages(reading: Reading) -> list[PlannedCall]:
    if not reading.conversation.holds("kb"):
        return []
    return [PlannedCall("kb_search", {"query": _search_text(reading), "top_k": _PASSAGES})]


def _wide_passages(reading: Reading) -> list[PlannedCall]:
    if not reading.conversation.holds("kb") or reading.question.wide == _search_text(reading):
        return []
    return [PlannedCall("kb_search", {"query": reading.question.wide, "top_k": _PASSAGES})]


def _search_text(reading: Reading) -> str:
    earlier = [term.text for term in reading.question.context]
    gap = "" if reading.question.language == "zh" else " "
    return " ".join([reading.question.text, gap.join(earlier)]).strip()[:1_000]


def _skills(reading: Reading) -> list[PlannedCall]:
    if not reading.conversation.holds("skills"):
        return []
    return [PlannedCall("skill_search", {"query": reading.question.text[:1_000], "top_k": 3})]


def _skill_body(reading: Reading) -> list[PlannedCall]:
    """The best skill that was found, read whole."""
    hits = [item for step in reading.conversation.steps if step.name == "skill_search" for item in step.found]
    name = hits[0].content.partition(":")[0].strip() if hits else ""
    return [PlannedCall("skill_get", {"name": name})] if re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) else []


def _documents(reading: Reading) -> list[PlannedCall]:
    return [PlannedCall("kb_list_documents", {"limit": 200})] if reading.conversation.holds("kb") else []


def _whole_document(reading: Reading) -> list[PlannedCall]:
    """The one document whose title or file name has the words of the topic."""
    name = listing.document_named(reading.conversation, reading.parsed.parts.get("topic", ""))
    return [PlannedCall("kb_get", {"document": name, "max_chars": 3_000})] if name else []


def _was_made(conversation: Conversation, call: PlannedCall) -> bool:
    return any(step.name == call.name and step.arguments == call.arguments for step in conversation.steps)


def _is_sure(reading: Reading) -> bool:
    if reading.parsed.form in (FormName.COUNT, FormName.LISTING):
        return False
    if reading.parsed.form is FormName.SUMMARY:
        return any(step.name == "kb_get" and step.found for step in reading.conversation.steps)
    if structured_answer(reading.conversation, reading.language):
        return True
    answer = _answer(reading)
    return answer is not None and answer.trust >= SURE


def _answer(reading: Reading) -> Answer | None:
    utilities = [step for step in reading.conversation.steps if step.found and step.found[0].surface == "utility"]
    if utilities:
        return _quoting(utilities[-1].found[0])
    found = reading.found
    if reading.parsed.form is FormName.SUMMARY:
        return leading_sentences(found)
    if reading.parsed.form is FormName.HISTORY:
        return _answer_from_history(reading, found)
    holding = timeline.holding(found)
    stated = timeline.stating(holding, reading.question.text)
    return _quoting(stated) if stated is not None else choose(reading.question, holding)


def _quoting(item: Found) -> Answer:
    return Answer((Quote(shown_text(item.content), item.cite),), SURE)


def _answer_from_history(reading: Reading, found: Sequence[Found]) -> Answer | None:
    asked = asked_day(reading.question.text)
    if asked is not None:
        return _answer_as_of(reading, found, asked)
    past = timeline.superseded(found, reading.question.text)
    if past:
        return _quoting(past[0])
    # What holds now is no answer to what held before.
    now = timeline.stating(timeline.holding(found), reading.question.text)
    return choose(reading.question, [item for item in found if item is not now])


def _answer_as_of(reading: Reading, found: Sequence[Found], asked: AskedDay) -> Answer | None:
    year = asked.day[:4]
    told = [item for item in found if item.surface == "memory" or year in f"{item.content} {item.note} {item.source}"]
    held = timeline.holding(told, at=asked.day)
    stated = timeline.stating(held, asked.rest)
    # What is told of that time seldom says its number.
    return _quoting(stated) if stated is not None else choose(analyse(asked.rest), held)


def _final_text(reading: Reading) -> str:
    if reading.parsed.form in (FormName.COUNT, FormName.LISTING):
        listed = listing.text(reading.conversation, reading.parsed, reading.language)
        return listed or _nothing(reading)
    told = structured_answer(reading.conversation, reading.language)
    if told:
        return told
    answer = _answer(reading)
    if answer is None:
        return "\n".join(filter(None, [_of_memory(reading), _nothing(reading)]))
    told = _of_memory(reading)
    return (f"{told}\n" if told else "") + "\n".join(f"{quote.text} [{quote.cite}]" for quote in answer.quotes)


def _of_memory(reading: Reading) -> str:
    """That memory is off, where what the user said of himself is asked for: documents may say something like it."""
    status = reading.conversation.surfaces.get("memory")
    asks = reading.parsed.form in (FormName.FACTOID, FormName.HISTORY) and is_of_the_speaker(reading.question.text)
    return say(reading.language, "memory_off") if asks and status is not None and not status.available else ""


def _nothing(reading: Reading) -> str:
    language = reading.language
    steps = reading.conversation.steps
    failed = [step for step in steps if step.failed and step.name in _SEARCHES and step.error[1]]
    searched = [_SEARCHES[step.name] for step in steps if step.name in _SEARCHES and not step.failed]
    parts = [_failure(step, language) for step in failed]
    if searched:
        names = joined(language, [surface_name(language, surface) for surface in dict.fromkeys(searched)])
        asked = shown_text(reading.conversation.text)
        asked = asked if len(asked) <= _SHOWN_CHARS else f"{asked[:_SHOWN_CHARS]}…"
        parts.insert(0, say(language, "nothing", question=asked, surfaces=names))
        parts.append(_nearest(reading))
    return "\n".join(dict.fromkeys(filter(None, parts))) or say(language, "nowhere")


def _nearest(reading: Reading) -> str:
    near = nearest_names(reading.conversation, reading.language)
    if near is None:
        return ""
    word, table, columns = near
    return say(reading.language, "no_column", word=word, table=table, columns=joined(reading.language, columns))


def _failure(step: Step, language: str) -> str:
    name = surface_name(language, _SEARCHES[step.name])
    return say(language, "failed_read", surface=name, message=shown_text(step.error[1]))
