"""What a user may set under ``memory.options``."""

from __future__ import annotations

from pydantic import Field

from datamind.plugins import ProviderOptions


class SqliteMemoryOptions(ProviderOptions):
    """Options of the memory store ``sqlite``."""

    busy_timeout_s: float = Field(
        30.0, gt=0, le=3600, description="How long a write waits while another process writes."
    )
