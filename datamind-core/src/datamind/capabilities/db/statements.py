"""Writing SQL that is ours, and looking at SQL that is not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_WORD: Final = re.compile(r"\w+")


def without_end(statement: str) -> str:
    """A statement without the separators and spaces at its end."""
    return statement.rstrip(" \t\r\n;")


def named_in(statement: str, names: Iterable[str]) -> Sequence[str]:
    """The names that occur in a statement, as words or at least as text: never too few of them."""
    folded = statement.casefold()
    words = set(_WORD.findall(folded))
    return sorted(name for name in names if name.casefold() in words or name.casefold() in folded)
