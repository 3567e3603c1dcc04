"""Between table rows and the types of the Protocol."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from datamind.core.protocols.memory import MemoryItem

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

ITEM_COLUMNS: Final = (
    "m.memory_id, m.scope, m.session, m.kind, m.text, m.subject, m.attribute, m.value, m.functional, m.valid_from, "
    "m.valid_to, m.created_at, m.origin, m.receipt_id, m.closed_by, m.close_receipt_id"
)
"""What ``make_item`` reads, of ``memories AS m``."""

_NAMES: Final = tuple(column.strip().removeprefix("m.") for column in ITEM_COLUMNS.split(","))


def to_microseconds(instant: datetime) -> int:
    """Since 1970, exactly."""
    return (instant - _EPOCH) // _MICROSECOND


def make_item(row: Sequence[Any]) -> MemoryItem:
    """The item of a row of ``ITEM_COLUMNS``."""
    values = dict(zip(_NAMES, row, strict=True))
    for name in ("valid_from", "valid_to", "created_at"):
        if values[name] is not None:
            values[name] = _EPOCH + values[name] * _MICROSECOND
    return MemoryItem(**values)


def encode_tokens(tokens: Iterable[str]) -> list[str]:
    """Tokens as words that FTS5 keeps whole whatever is in them; empty ones are left out."""
    return [token.encode().hex() for token in tokens if token]
