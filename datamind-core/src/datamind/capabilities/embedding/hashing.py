"""An embedding that knows no meaning: hashed tokens, the same on every machine. For tests."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from datamind.capabilities.embedding.texts import clean_text
from datamind.capabilities.text.tokens import tokenize, tokenize_for_index
from datamind.core.protocols.models import EmbeddingDescription

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext

DIM: Final = 256


async def open_embedding(ctx: ProviderContext, options: Any) -> HashingEmbedding:
    """Nothing to load."""
    return HashingEmbedding()


class HashingEmbedding:
    """Texts that share tokens are near each other; nothing else is.

    Source: Weinberger et al. 2009, feature hashing with signs.
    """

    description = EmbeddingDescription(model_id=f"hashing-{DIM}", dim=DIM)

    async def embed_documents(self, texts: Sequence[str]) -> bytes:
        """float32, shape (len(texts), 256), L2-normalised rows.

        Raises:
            InputInvalid: A text is empty, or holds nothing but blanks, NUL and lone surrogates.
        """
        return b"".join(_vector(tokenize_for_index(text), text) for text in map(clean_text, texts))

    async def embed_query(self, text: str) -> bytes:
        """float32, shape (1, 256), L2-normalised.

        Raises:
            InputInvalid: As for ``embed_documents``.
        """
        cleaned = clean_text(text)
        return _vector(tokenize(cleaned), cleaned)

    async def aclose(self) -> None:
        """Nothing to release."""


def _vector(tokens: Sequence[str], text: str) -> bytes:
    row = [0.0] * DIM
    for token, count in Counter(tokens).items():
        place, sign = _slot(token)
        row[place] += sign * math.sqrt(count)
    length = math.hypot(*row)
    if not length:  # no words at all, or words that cancel out
        row[_slot(text)[0]] = length = 1.0
    return array("f", [value / length for value in row]).tobytes()


@lru_cache(maxsize=65_536)
def _slot(token: str) -> tuple[int, float]:
    digest = blake2b(token.encode("utf-8"), digest_size=8).digest()
    return int.from_bytes(digest[:7]) % DIM, 1.0 if digest[7] & 1 else -1.0
