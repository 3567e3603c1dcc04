"""The embedding: letter frequencies."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from datamind.core.errors import InputInvalid
from datamind.core.protocols import EmbeddingDescription

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext
    from datamind_embed_letters.options import LettersOptions


async def open_embedding(ctx: ProviderContext, options: LettersOptions) -> LettersEmbedding:
    """What DataMind calls when the provider is first used."""
    return LettersEmbedding(options.alphabet)


class LettersEmbedding:
    """Two texts with the same letters are equal. See ``EmbeddingProvider`` for what is guaranteed."""

    def __init__(self, alphabet: str) -> None:
        self._alphabet = alphabet
        # One more place, so that a text without any of the letters still has a direction.
        self.description = EmbeddingDescription(model_id=f"letters-{alphabet}", dim=len(alphabet) + 1)

    async def embed_documents(self, texts: Sequence[str]) -> bytes:
        """float32, shape (len(texts), dim), L2-normalised rows."""
        return b"".join(self._vector(text) for text in texts)

    async def embed_query(self, text: str) -> bytes:
        """float32, shape (1, dim)."""
        return self._vector(text)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _vector(self, text: str) -> bytes:
        cleaned = text.replace("\0", " ").encode("utf-8", "ignore").decode("utf-8").strip().casefold()
        if not cleaned:
            raise InputInvalid(f"an empty text has no embedding ({text[:20]!r})")
        counts = [float(cleaned.count(letter)) for letter in self._alphabet]
        row = [*counts, 0.0 if any(counts) else 1.0]
        length = math.hypot(*row)
        return array("f", (value / length for value in row)).tobytes()
