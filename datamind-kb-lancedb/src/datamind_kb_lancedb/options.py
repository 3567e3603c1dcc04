"""What a user may set under ``kb.options``."""

from __future__ import annotations

from pydantic import Field

from datamind.plugins import ProviderOptions


class LanceOptions(ProviderOptions):
    """Options of the KB store ``lancedb``."""

    keep_versions_s: float = Field(
        60.0, gt=0, description="How long what a write replaced stays on disk, for readers that are at work."
    )
    exact_limit: int = Field(
        200_000, ge=0, description="Vectors of a model up to which a search compares all of them, held in memory."
    )
    lock_wait_s: float = Field(30.0, ge=0, description="How long a write waits while another process writes.")
