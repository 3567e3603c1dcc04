"""Which keys exist, and the nearest one to a key that does not."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import Final

from datamind.config.sections import Section, Sections

ENVIRONMENT_PREFIX: Final = "DATAMIND__"


@cache
def section_types() -> dict[str, type[Section]]:
    """The class of each section, in the order of the documentation."""
    return {name: field.annotation for name, field in Sections.model_fields.items()}  # type: ignore[misc]


@cache
def known_keys() -> tuple[str, ...]:
    """Every ``section.key``, in the order of the documentation."""
    return tuple(f"{section}.{name}" for section, kind in section_types().items() for name in kind.model_fields)


def is_known(key: str) -> bool:
    """Whether the key exists; ``<section>.options.<name>`` does where the section has options."""
    section, _, name = key.partition(".")
    if name.startswith("options.") and name != "options.":
        name = "options"
    return f"{section}.{name}" in known_keys()


def is_options_table(key: str) -> bool:
    """Whether the key is a whole ``<section>.options``, rather than one option."""
    return key.count(".") == 1 and key.endswith(".options")


def environment_name(key: str) -> str:
    """``DATAMIND__LLM__MODEL`` for ``llm.model``."""
    return ENVIRONMENT_PREFIX + key.upper().replace(".", "__")


def nearest_key(key: str) -> str | None:
    """The key that was probably meant: the same name in another section, else a similar spelling."""
    name = key.rpartition(".")[2]
    namesakes = [known for known in known_keys() if known.endswith(f".{name}")]
    found = get_close_matches(key, namesakes, 1, cutoff=0) or get_close_matches(key, known_keys(), 1, cutoff=0.75)
    return found[0] if found else None


def unknown_key_text(key: str) -> str:
    """What to say after the name of a key, or of a section, that does not exist."""
    if nearest := nearest_key(key):
        return f"is not a setting; did you mean {nearest}?"
    section = key.partition(".")[0]
    if section in section_types():
        return f"is not a setting; {section} has: {', '.join(section_types()[section].model_fields)}"
    if similar := get_close_matches(section, section_types(), 1):
        return f"is not a setting; did you mean the section {similar[0]}?"
    return f"is not a setting; sections are: {', '.join(section_types())}"
