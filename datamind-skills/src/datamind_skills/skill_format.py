"""The public SKILL.md format: YAML front matter between two ``---`` lines, then Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from datamind.core.errors import InputInvalid, SourceUnreadable
from datamind.core.lazy_pattern import lazy_pattern
from datamind.core.types import is_profile_name
from datamind_skills.exact import shown

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node

MAX_FRONT_MATTER_CHARS: Final = 16_384
MAX_DEPTH: Final = 10
MAX_DESCRIPTION_CHARS: Final = 4_096
MAX_KEYWORDS: Final = 64

_NAME = lazy_pattern(r"[a-z0-9][a-z0-9-]{0,63}")
_OPENING = lazy_pattern(r"---[ \t]*\r?\n")
_CLOSING = lazy_pattern(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_BLANK_LINE = lazy_pattern(r"[ \t]*\r?\n")
_SEPARATORS = lazy_pattern("[,，、;；\n]")
_UNCLEAN = lazy_pattern("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
_TAG = "tag:yaml.org,2002:"
_OURS = ("name", "description", "keywords")


@dataclass(frozen=True, slots=True)
class SkillHeader:
    """The front matter.

    Attributes:
        others: Keys that are kept as they stand when the skill is rewritten, as YAML nodes.
    """

    name: str
    description: str
    keywords: tuple[str, ...] = ()
    others: tuple[tuple[Any, Any], ...] = field(default=(), compare=False, repr=False)


def check_skill_name(name: str) -> str:
    """``name``, if it is ``[a-z0-9][a-z0-9-]{0,63}`` and no device name of any system: it becomes a folder name.

    Raises:
        InputInvalid: Anything else.
    """
    if _NAME.fullmatch(name) is None or not is_profile_name(name):
        raise InputInvalid(
            f"skill name {shown(name)} is not allowed",
            code="input_invalid.skill_name",
            hint="The SKILL.md standard allows a-z, 0-9 and '-', at most 64, the first no '-': give such a `name:` in"
            " its front matter, and what people call it, in any language, into its description.",
        )
    return name


def read_skill(content: bytes, folder: str) -> tuple[SkillHeader, str]:
    """Header and body of a SKILL.md file; a missing name is the name of its folder.

    Raises:
        SourceUnreadable: Not UTF-8, no front matter, YAML that is broken or unbounded, or no description.
        InputInvalid: A name that is not allowed.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceUnreadable(f"byte {error.start} is not UTF-8", hint="Save the file as UTF-8.") from None
    front, body = _parts(text)
    return _header(_fields(front), folder), body


def write_skill(header: SkillHeader, body: str) -> bytes:
    """The file that `read_skill` reads back as exactly this header and body."""
    import yaml

    def scalar(text: str) -> Node:
        # Quoted on one line, a line of dashes in the text cannot pass for the end of the front matter.
        return yaml.ScalarNode(f"{_TAG}str", text, style='"' if "\n" in text else None)

    pairs: list[tuple[Node, Node]] = [(scalar("name"), scalar(header.name))]
    pairs.append((scalar("description"), scalar(header.description)))
    if header.keywords:
        words = yaml.SequenceNode(f"{_TAG}seq", [scalar(word) for word in header.keywords], flow_style=True)
        pairs.append((scalar("keywords"), words))
    tree = yaml.MappingNode(f"{_TAG}map", [*pairs, *header.others], flow_style=False)
    front = yaml.serialize(tree, Dumper=yaml.SafeDumper, allow_unicode=True, width=10**6)
    return f"---\n{front}---\n\n{body}".encode()


def _parts(text: str) -> tuple[str, str]:
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        raise SourceUnreadable(
            "there is no front matter", hint="Begin the file with a '---' line, name and description, and a '---' line."
        )
    front = text[opening.end() : closing.start()]
    if len(front) > MAX_FRONT_MATTER_CHARS:
        raise SourceUnreadable(f"the front matter has more than {MAX_FRONT_MATTER_CHARS} characters")
    blank = _BLANK_LINE.match(text, closing.end())
    return front, text[blank.end() if blank else closing.end() :]


def _fields(front: str) -> dict[str, tuple[Node, Node]]:
    import yaml

    try:
        _check_shape(yaml.parse(front, Loader=yaml.SafeLoader))
        tree = yaml.compose(front, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = "" if line is None else f" in line {line + 2}"
        problem = " ".join(str(getattr(error, "problem", None) or "it cannot be parsed").split())
        raise SourceUnreadable(
            f"the front matter is not valid YAML{where}: {problem}", hint="Put a value with ': ' in quotes."
        ) from None
    if not isinstance(tree, yaml.MappingNode):
        raise SourceUnreadable("the front matter is not a list of 'key: value' lines")
    return _pairs(tree)


def _check_shape(events: Iterable[Any]) -> None:
    # Judged on the flat event stream, before anything recursive sees the text.
    from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

    depth = 0
    for event in events:
        if isinstance(event, AliasEvent):
            raise SourceUnreadable("the front matter uses a YAML alias", hint="Write the value out.")
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise SourceUnreadable(f"the front matter nests deeper than {MAX_DEPTH}")


def _pairs(tree: MappingNode) -> dict[str, tuple[Node, Node]]:
    pairs: dict[str, tuple[Node, Node]] = {}
    for key, value in tree.value:
        name = str(key.value)
        if name in pairs:
            raise SourceUnreadable(f"the front matter gives {shown(name)} twice")
        pairs[name] = (key, value)
    return pairs


def _header(fields: dict[str, tuple[Node, Node]], folder: str) -> SkillHeader:
    description = _text(fields, "description")
    if not description:
        raise SourceUnreadable("there is no description", hint="Say what the skill does and when to use it.")
    if len(description) > MAX_DESCRIPTION_CHARS:
        raise SourceUnreadable(f"the description has more than {MAX_DESCRIPTION_CHARS} characters")
    return SkillHeader(
        name=check_skill_name(_text(fields, "name") or folder),
        description=description,
        keywords=clean_keywords(_words(fields)),
        others=tuple(pair for name, pair in fields.items() if name not in _OURS),
    )


def _text(fields: dict[str, tuple[Node, Node]], name: str) -> str:
    if name not in fields:
        return ""
    node = fields[name][1]
    if not isinstance(node.value, str):
        raise SourceUnreadable(f"{name} is not a text", hint=f"Write {name}: and the text in quotes.")
    return "" if node.tag.endswith(":null") else _clean(name, node.value).strip()


def _words(fields: dict[str, tuple[Node, Node]]) -> Iterator[str]:
    if "keywords" not in fields:
        return
    node = fields["keywords"][1]
    items = [node] if isinstance(node.value, str) else node.value
    for item in items:
        value = getattr(item, "value", None)
        if not isinstance(value, str):
            raise SourceUnreadable("keywords are not a list of words", hint="Write keywords: one, two.")
        if not item.tag.endswith(":null"):
            yield from _SEPARATORS.split(_clean("keywords", value)) if item is node else [_clean("keywords", value)]


def _clean(name: str, value: str) -> str:
    # An escape such as "\ud800" passes the parser and would fail later, in whoever lists the skills.
    if _UNCLEAN.search(value):
        raise SourceUnreadable(f"{name} has a control character or half a surrogate pair")
    return value


def clean_keywords(words: Iterable[str]) -> tuple[str, ...]:
    """Stripped, without repetitions and blanks, at most 64, in their order."""
    stripped = (" ".join(word.split()) for word in words)
    return tuple(dict.fromkeys(word for word in stripped if word))[:MAX_KEYWORDS]
