"""The base of every value that leaves the process: frozen, strict about its keys, JSON-serialisable."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen value; ``record["field"]`` works as well as ``record.field``."""

    # Built on first use: a short command pays only for the records it makes.
    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64", defer_build=True
    )

    def __getitem__(self, key: str) -> Any:
        if key not in type(self).model_fields:
            raise KeyError(key)
        return getattr(self, key)


def _as_utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time needs a zone")
    return value.astimezone(UTC)


Instant = Annotated[datetime, AfterValidator(_as_utc)]
"""A point in time, always in UTC; serialised as ISO 8601."""


def now() -> datetime:
    """The present instant in UTC."""
    return datetime.now(UTC)
