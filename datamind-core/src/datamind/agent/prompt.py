"""Prompts: Markdown files with named placeholders, and the sections plugins add."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from datamind.core.types import Role
from datamind.plugins import PromptSection

_COMMENT = re.compile(r"\A<!--.*?-->\s*", re.DOTALL)
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def make_system_prompt(role: Role, surfaces: Sequence[str], sections: Sequence[PromptSection] = ()) -> str:
    """The instructions of a role. Equal inputs give equal bytes: no clock, no ids."""
    added = "".join(f"\n## {section.title}\n{section.text.strip()}\n" for section in sections)
    return fill(role.value, surfaces=", ".join(surfaces) or "none", sections=added)


def fill(name: str, **values: str) -> str:
    """A prompt file with its placeholders filled; braces in ``values`` are left alone."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], _text(name)).strip()


def placeholders(name: str) -> frozenset[str]:
    """The inputs a prompt file expects."""
    return frozenset(_PLACEHOLDER.findall(_text(name)))


@cache
def _text(name: str) -> str:
    return _COMMENT.sub("", (files("datamind.agent") / "prompts" / f"{name}.md").read_text("utf-8"))
