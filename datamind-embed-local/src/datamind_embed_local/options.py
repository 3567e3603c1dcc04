"""What a user may set under ``embedding.options``."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from datamind.plugins import ProviderOptions


class FastembedOptions(ProviderOptions):
    """Options of the embedding ``fastembed``."""

    cache_dir: Path | None = Field(None, description="Folder of downloaded models; none = `models` beside the profile.")
    threads: int = Field(1, ge=1, le=256, description="Threads that one embedding call uses.")
