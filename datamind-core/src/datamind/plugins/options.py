"""The base of every options model. Imports pydantic, so it loads only when a provider is opened."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class ProviderOptions(BaseModel):
    """Options of one provider: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NoOptions(ProviderOptions):
    """For a provider that takes none."""
