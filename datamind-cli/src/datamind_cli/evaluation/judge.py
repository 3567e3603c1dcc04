"""Whether an answer is right: what it says, and what it cites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from datamind.core.evidence import Evidence, InferenceResult
    from datamind_cli.evaluation.questions import Question

_SKILL_FILE: Final = "SKILL.md"
_SAYS_NOTHING_KNOWN: Final = re.compile(
    r"\b(no|not|nothing|none|neither|never|unknown|cannot|unable|without|lacks?)\b|n['’]t\b"
    r"|没有|没能|未能|未找到|找不到|不知道|不清楚|无法|并无|不足",
    re.IGNORECASE,
)


def reason_wrong(question: Question, result: InferenceResult) -> str:
    """Why an answer is wrong; empty when it is right.

    Right: an accepted string occurs in the answer after normalisation, and a listed source is cited. Where nothing is
    known: nothing is cited, the answer says that there is nothing, and states no number that was not asked about.
    """
    if question.answers is None:
        return _reason_claimed(question, result)
    from datamind.capabilities.text.normalize import contains_normalized

    if not any(contains_normalized(result.answer, accepted) for accepted in question.answers):
        return "no accepted answer"
    cited = cited_evidence(result)
    if not cited:
        return "nothing is cited"
    if not any(is_source(listed, item) for listed in question.sources for item in cited):
        return "no listed source is cited"
    return ""


def cited_evidence(result: InferenceResult) -> list[Evidence]:
    """The evidence that an answer cites, in its order."""
    cited = {citation.evidence_id for citation in result.citations}
    return [item for item in result.evidence if item.evidence_id in cited]


def _reason_claimed(question: Question, result: InferenceResult) -> str:
    from datamind.capabilities.text.normalize import find_numbers

    if result.citations:
        return "it claims something, with a citation"
    if result.answer.strip() and not _SAYS_NOTHING_KNOWN.search(result.answer):
        return "it claims something"
    asked = {number.value for number in find_numbers(question.question)}
    if any(number.value not in asked for number in find_numbers(result.answer)):
        return "it states a number"
    return ""


def is_source(listed: str, item: Evidence) -> bool:
    """Whether a listed source is what the evidence comes from."""
    match item.locator.type:
        case "memory":
            return _is_same_text(listed, item.content)
        case "skill":
            return item.locator.name in _skill_names(listed)
        case "table":
            return _is_named(listed, item.locator.tables) or _is_path(listed, item.source.uri)
        case "triple":
            return _is_named(listed, _names_of_iri(item.locator.subject)) or _is_path(listed, item.source.uri)
        case _ if item.source.kind == "text":
            return _is_same_text(listed, item.content)
        case _:
            return _is_path(listed, item.source.uri)


def _is_same_text(listed: str, content: str) -> bool:
    from datamind.capabilities.text.normalize import contains_normalized

    return contains_normalized(content, listed) or contains_normalized(listed, content)


def _skill_names(listed: str) -> Iterator[str]:
    parts = [part for part in PurePosixPath(listed).parts if part != _SKILL_FILE]
    yield from parts[-1:]


def _is_named(listed: str, names: Iterable[str]) -> bool:
    wanted = {listed.casefold(), PurePosixPath(listed).stem.casefold()}
    return any(name.casefold() in wanted or name.casefold().replace("_", " ") in wanted for name in names)


def _names_of_iri(iri: str) -> Iterator[str]:
    bare = unquote(iri.strip("<>"))
    yield bare
    yield re.split(r"[/#:]", bare)[-1]


def _is_path(listed: str, uri: str) -> bool:
    if urlsplit(uri).scheme != "file":
        return False
    wanted = PurePosixPath(listed).parts
    held = PurePosixPath(unquote(uri.partition(":")[2])).parts
    shared = min(len(wanted), len(held))
    return shared > 0 and wanted[-shared:] == held[-shared:]
