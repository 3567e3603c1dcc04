"""Settings under ``embedding.options``."""

from __future__ import annotations

from pydantic import Field

from datamind.plugins import ProviderOptions


class LettersOptions(ProviderOptions):
    """Options of the embedding ``letters``."""

    alphabet: str = Field("abcdefghijklmnopqrstuvwxyz", min_length=1, description="Letters that are counted.")
