"""StoreAgent without a model: where each part of a message goes, and what the results say of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from datamind.capabilities.text.sentences import split_sentences
from datamind_model_offline.commands import Command, CommandName, kind_of, parse_command, take_said, take_scope
from datamind_model_offline.conversation import Conversation, Step
from datamind_model_offline.given_rows import count_of_rows, json_rows_call, rows_call
from datamind_model_offline.passages import points_back
from datamind_model_offline.paths import path_calls
from datamind_model_offline.planning import Plan, PlannedCall, known_arguments
from datamind_model_offline.replies import language_of, say, surface_name
from datamind_model_offline.skill_text import skill_call, skill_name
from datamind_model_offline.statements import parse_statement

_SHORT: Final = 600
_MEMORY_CHARS: Final = 8_000
_LABEL_CHARS: Final = 80
_MOST_SAVES: Final = 20
_TRIPLE: Final = re.compile(r"[(（]\s*([^,，()（）]+?)\s*[,，]\s*([^,，()（）]+?)\s*[,，]\s*([^()（）]+?)\s*[)）]")
_BETWEEN_TRIPLES: Final = re.compile(r"[\s,，;；.。、]*")
_MARKDOWN: Final = re.compile(r"^(?:#{1,6} |[-*] |\d+\. |```|\|)", re.MULTILINE)
_QUESTION: Final = re.compile(
    r"(?:who|what|where|when|which|why|how|whose|whom|is|are|was|were|do|does|did|can|could|may|should|have|has|will)\b.*\?"
    r"|.*(?:吗|呢|什么|谁|哪[里儿个些]|多少|几点|怎么|为什么).{0,8}[?？]",
    re.IGNORECASE,
)
_REMOVES: Final = frozenset({"memory_forget", "kb_delete", "skill_delete", "db_drop_table"})
_SINCE: Final = re.compile(r"(?:\bsince|\bas of|\bfrom|自从?|从)\s*(\d{4})-(\d{2})-(\d{2})")


def plan_storing(conversation: Conversation) -> Plan:
    """The writes a message asks for; after them, what their results say. One round of calls, never a second."""
    language = language_of(conversation.text)
    if conversation.rounds:
        return Plan(text=outcome_text(conversation.steps, language))
    if not conversation.text.strip():
        return Plan(text=say(language, "nothing_to_do"))
    calls, what = _route(conversation.text, language)
    possible = [known_arguments(conversation, call) for call in calls if conversation.has(call.name)]
    if possible:
        return Plan(calls=tuple(possible))
    if what == "question":
        return Plan(text=say(language, "ask_elsewhere"))
    return _instead(conversation, language, what)


def _route(text: str, language: str) -> tuple[list[PlannedCall], str]:
    """The calls a message asks for, in order of preference, and what it is."""
    skill = skill_call(text)
    if skill is not None:
        return [skill], "skill"
    # An order may stand in another language than what is to be remembered.
    command = parse_command(text, language) or parse_command(text, "en" if language == "zh" else "zh")
    if command is not None:
        return _commanded(command)
    rows = json_rows_call(text)
    if rows is not None:
        return [rows], "text"
    triples = _triples(text)
    if triples:
        return [PlannedCall("graph_upsert_triples", {"triples": triples})], "text"
    paths = path_calls(text)
    if paths:
        return paths, "table" if all(call.name.startswith("db_") for call in paths) else "path"
    if _QUESTION.fullmatch(text.strip()):
        return [], "question"
    saves = _stated(text)
    return (saves, "text") if saves else ([_kept(text)], "text")


def _instead(conversation: Conversation, language: str, what: str) -> Plan:
    """What no preferred tool takes goes to the next that can, or is refused plainly."""
    text = conversation.text.strip()
    if what == "text":
        if conversation.has("kb_add_text"):
            return Plan(calls=(known_arguments(conversation, _kept(text)),))
        if conversation.has("memory_save") and len(text) <= _MEMORY_CHARS:
            return Plan(calls=(known_arguments(conversation, _saved(text, "")),))
    key = "none_to_remove" if what.startswith("forget") else "no_surface"
    return Plan(text=say(language, key, what=say(language, f"what_{what}")))


def _commanded(command: Command) -> tuple[list[PlannedCall], str]:
    parts = command.parts
    match command.name:
        case CommandName.FORGET:
            return [PlannedCall("memory_forget", {"query": parts["target"]})], "forget_memory"
        case CommandName.DELETE_DOCUMENT:
            by = "source" if re.search(r"\.\w{1,5}\Z|/", parts["target"]) else "query"
            return [PlannedCall("kb_delete", {by: parts["target"]})], "forget_document"
        case CommandName.DELETE_SKILL:
            return [PlannedCall("skill_delete", {"name": skill_name(parts["target"])})], "forget_skill"
        case CommandName.DROP_TABLE:
            return [PlannedCall("db_drop_table", {"table": parts["target"]})], "forget_table"
        case CommandName.STORE_ROWS:
            rows = rows_call(parts["text"], parts.get("table", ""))
            return [_kept(parts["text"]) if rows is None else rows], "text"
        case CommandName.KEEP_TEXT:
            return [_kept(parts["text"])], "text"
        case CommandName.CHANGE:
            return [_changed(parts["what"], parts["value"])], "text"
        case _:
            return _remembered(parts["text"]), "text"


def _remembered(said: str) -> list[PlannedCall]:
    """One save for each sentence. A scope named in front counts for all, elsewhere for its sentence."""
    if len(said) > _MEMORY_CHARS:
        return [_kept(said)]
    when, text = take_said(said)
    first, rest = take_scope(text)
    if first and text.endswith(rest.removeprefix("that ").strip()):
        return [_saved(sentence.removeprefix("that "), first, when) for sentence in _sentences(rest)]
    return [_saved(sentence, scope, when) for scope, sentence in map(take_scope, _sentences(text))]


def _changed(what: str, value: str) -> PlannedCall:
    """ "Change my X to Y" as the statement "my X is Y" where the grammar knows it."""
    is_han = re.search("[\u4e00-\u9fff]", what) is not None
    text = f"{what}是{value}" if is_han else f"{what} is {value}"
    statement = parse_statement(text) or parse_statement(text[:1].upper() + text[1:])
    if statement is None:
        return PlannedCall("memory_update", {"query": what, "text": text})
    return _saved(text, "")


def _stated(text: str) -> list[PlannedCall]:
    """Saves for a short message of which every sentence is one the grammar knows."""
    if len(text) > _SHORT:
        return []
    scoped = [take_scope(sentence) for sentence in _sentences(text)]
    if not scoped or any(parse_statement(sentence) is None for _, sentence in scoped):
        return []
    return [_saved(sentence, scope) for scope, sentence in scoped]


def _sentences(text: str) -> list[str]:
    """The sentences of a message, one that begins with "it" with the one before; too many of them stay one text."""
    spans = split_sentences(text)
    if len(spans) > _MOST_SAVES:
        return [text.strip()]
    sentences: list[str] = []
    for start, end in spans:
        if sentences and points_back(text[start:end]):
            sentences[-1] += f" {text[start:end]}"
        else:
            sentences.append(text[start:end])
    return sentences


def _saved(text: str, scope: str, when: str = "") -> PlannedCall:
    arguments: dict[str, Any] = {"text": text, "kind": kind_of(text)}
    if scope:
        arguments["scope"] = scope
    statement = parse_statement(text)
    if statement is not None:
        arguments |= {"subject": statement.subject, "attribute": statement.attribute, "value": statement.value}
        arguments["functional"] = statement.functional
        if not statement.functional:  # one that is functional ends whatever held before
            arguments["ends"] = statement.ends
        if statement.kind != "fact":
            arguments["kind"] = statement.kind
    since = _SINCE.search(text)
    if when:
        arguments["valid_from"] = when
    if since:
        arguments["valid_from"] = f"{since[1]}-{since[2]}-{since[3]}T00:00:00Z"
    return PlannedCall("memory_save", arguments)


def _kept(text: str) -> PlannedCall:
    body = text.strip()
    first = body.splitlines()[0].strip("# \t") if body else ""
    is_markdown = _MARKDOWN.search(body) is not None
    title = first if "\n" in body and len(first) <= _LABEL_CHARS else ""
    return PlannedCall("kb_add_text", {"text": body, "title": title, "format": "markdown" if is_markdown else "text"})


def _triples(text: str) -> list[dict[str, str]]:
    """Triples in brackets, if the message is nothing else."""
    found = [*_TRIPLE.finditer(text)]
    if not found or _BETWEEN_TRIPLES.fullmatch(_TRIPLE.sub("", text)) is None:
        return []
    return [{"subject": match[1], "predicate": match[2], "object": match[3]} for match in found]


def outcome_text(steps: Sequence[Step], language: str) -> str:
    """What the results of the writes say, one line a call."""
    return "\n".join(dict.fromkeys(_outcome(step, language) for step in steps)) or say(language, "nothing_to_do")


def _outcome(step: Step, language: str) -> str:
    surface = surface_name(language, _surface_of(step.name))
    label = _label(step.arguments)
    status = str(step.data.get("status", ""))
    if step.failed or status not in ("stored", "unchanged", "partial"):
        key = "not_removed" if step.name in _REMOVES else "failed"
        message = step.error[1] or step.error[0]
        return say(language, key, surface=surface, label=label, message=" ".join(message.split())).strip()
    line = say(language, _key(step, status), surface=surface, label=label)
    ids = [str(receipt) for receipt in _list(step.data.get("receipt_ids"))[:3]]
    return f"{line} {say(language, 'receipts', ids=', '.join(ids))}" if ids else line


def _key(step: Step, status: str) -> str:
    if status != "stored":
        return status
    if step.name in _REMOVES:
        return "removed"
    operation = step.data.get("operation")
    return {"superseded": "superseded", "replaced": "replaced", "updated": "replaced"}.get(str(operation), "saved")


def _label(arguments: Mapping[str, Any]) -> str:
    for name in ("text", "path", "name", "query", "source", "table", "memory_id", "document_ids"):
        if arguments.get(name):
            label = " ".join(str(arguments[name]).split())
            return f"“{label[:_LABEL_CHARS]}…”" if len(label) > _LABEL_CHARS else f"“{label}”"
    return count_of_rows(arguments) or f"{len(_list(arguments.get('triples')))} triples"


def _surface_of(tool: str) -> str:
    prefix = tool.partition("_")[0]
    return "skills" if prefix == "skill" else prefix


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
