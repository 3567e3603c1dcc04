"""Skills in a message: SKILL.md with its front matter, or "skill: name" and what follows."""

from __future__ import annotations

import re
from typing import Final

from datamind_model_offline.planning import PlannedCall

_FRONT: Final = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*\r?\n?(.*)\Z", re.DOTALL)
_FIELD: Final = re.compile(r"^(name|description|keywords)[ \t]*[:：][ \t]*(.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_LABELLED: Final = re.compile(
    r"\A\s*(?:skill|技能)[ \t]*[:：][ \t]*(?P<name>[^\n]+)\n+\s*(?:(?:description|描述"
    r"|说明)[ \t]*[:：][ \t]*(?P<description>[^\n]+)\n+)?(?P<body>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)


def skill_call(text: str) -> PlannedCall | None:
    """The write for a message that is a skill."""
    front = _FRONT.match(text)
    if front is not None:
        fields = {match[1]: _scalar(match[2]) for match in _FIELD.finditer(front[1])}
        if not fields.get("name"):
            return None
        return _upsert(fields["name"], fields.get("description", ""), front[2], fields.get("keywords", ""))
    labelled = _LABELLED.match(text)
    if labelled is None:
        return None
    return _upsert(labelled["name"], labelled["description"] or "", labelled["body"], "")


def skill_name(words: str) -> str:
    """The name a skill has by these words."""
    return re.sub(r"[^a-z0-9]+", "-", words.strip().casefold()).strip("-") or words.strip()


def _upsert(name: str, description: str, body: str, keywords: str) -> PlannedCall:
    body = body.strip()
    first = body.splitlines()[0].strip("# ") if body else ""
    words = [word.strip(" -[]\"'") for word in re.split(r"[,，\n]|(?:\A|\s)-\s", keywords)]
    arguments = {
        "name": skill_name(name),
        "description": description or first,
        "body": body or description,
        "keywords": [word for word in words if word] or None,
    }
    return PlannedCall("skill_upsert", arguments)


def _scalar(value: str) -> str:
    """A YAML scalar without its marks: quoted, plain or block."""
    lines = [line.strip() for line in value.strip().splitlines()]
    if lines and re.fullmatch(r"[|>][+-]?\d?", lines[0]):
        lines = lines[1:]
    text = " ".join(line for line in lines if line)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
