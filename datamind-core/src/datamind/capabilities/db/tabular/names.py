"""Names of tables and columns: kept as they are, made distinct, and what changed is told."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import PurePosixPath

from datamind.core.errors import InputInvalid

MAX_NAME = 128
RESERVED = "_datamind_"
"""How names begin that are not a user's."""

MAX_COLUMNS = 2_000


def make_column_names(header: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Distinct names and, for those that had to change, the new name to what the file had.

    A blank name becomes ``column_<position>``, a repeated one (compared after casefold, as engines do)
    ``<name>_2``, ``<name>_3`` …

    Raises:
        InputInvalid: Too many columns.
    """
    if len(header) > MAX_COLUMNS:
        raise InputInvalid(f"{len(header)} columns are more than {MAX_COLUMNS}", hint="Is the delimiter right?")
    cleaned = [_clean(name) for name in header]
    given = {name.casefold() for name in cleaned if name}
    names: list[str] = []
    used: set[str] = set()
    for position, name in enumerate(cleaned, 1):
        chosen = name or f"column_{position}"
        if chosen.casefold() in used or (not name and chosen.casefold() in given):
            chosen = _numbered(chosen, used | given)
        used.add(chosen.casefold())
        names.append(chosen)
    return tuple(names), {new: old for new, old in zip(names, header, strict=True) if new != old}


def check_table_name(name: str) -> str:
    """The name without surrounding space.

    Raises:
        InputInvalid: Empty, too long, or with characters that do not print.
    """
    cleaned = unicodedata.normalize("NFC", name.strip())
    if not cleaned or len(cleaned) > MAX_NAME or not cleaned.isprintable():
        raise InputInvalid(
            f"the table name {name[:40]!r} is empty, too long or does not print", hint=f"At most {MAX_NAME} characters."
        )
    if cleaned.casefold().startswith((RESERVED, "sqlite_")):
        raise InputInvalid(f"the table name {cleaned[:40]!r} is reserved", hint="Choose another.")
    return cleaned


def table_name_of(file_name: str) -> str:
    """A table name from a file name: without its ending, everything that is no letter or digit as ``_``."""
    stem = PurePosixPath(file_name).name.partition(".")[0]
    name = re.sub(r"\W+", "_", unicodedata.normalize("NFC", stem)).strip("_")[:MAX_NAME]
    return name or "table"


def quoted(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _clean(name: str) -> str:
    return "".join(char for char in name if char.isprintable()).strip()[:MAX_NAME]


def _numbered(name: str, used: set[str]) -> str:
    number = 2
    while f"{name}_{number}".casefold() in used:
        number += 1
    return f"{name}_{number}"
