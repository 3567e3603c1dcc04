"""What a provider of vectors returns is looked at before anything is built on it."""

from __future__ import annotations

from array import array
from collections.abc import Awaitable, Sequence
from math import isfinite

from datamind.capabilities.embedding.texts import clean_text
from datamind.core.errors import DataMindError, ModelError
from datamind.core.protocols.models import EmbeddingDescription, EmbeddingProvider


class GuardedEmbedding:
    """Any embedding; vectors of another number, dimension or form than asked for never get past it."""

    def __init__(self, provider: EmbeddingProvider) -> None:
        self._provider = provider

    @property
    def description(self) -> EmbeddingDescription:
        """That of the provider."""
        return self._provider.description

    async def embed_documents(self, texts: Sequence[str]) -> bytes:
        """float32, shape (len(texts), dim), finite.

        Raises:
            InputInvalid: A text is empty, or holds nothing but blanks, NUL and lone surrogates.
            ModelError: The vectors are not what was asked for, or the provider failed in a way of its own.
            DataMindError: What else the provider raises.
        """
        cleaned = [clean_text(text) for text in texts]
        return await self._checked(self._provider.embed_documents(cleaned), len(cleaned)) if cleaned else b""

    async def embed_query(self, text: str) -> bytes:
        """float32, shape (1, dim), finite.

        Raises:
            DataMindError: As for ``embed_documents``.
        """
        return await self._checked(self._provider.embed_query(clean_text(text)), 1)

    async def aclose(self) -> None:
        """Close the provider."""
        await self._provider.aclose()

    async def _checked(self, work: Awaitable[bytes], count: int) -> bytes:
        model_id, dim = self.description.model_id, self.description.dim
        try:
            vectors = await work
        except DataMindError:
            raise
        except Exception as error:
            raise ModelError(f"the embedding {model_id!r} failed ({type(error).__name__})") from error
        if len(vectors) != 4 * dim * count:
            raise ModelError(
                f"the embedding {model_id!r} returned {len(vectors)} bytes, not {count} vectors of {dim} float32",
                code="model_error.vectors",
            )
        if not all(map(isfinite, array("f", vectors))):
            raise ModelError(
                f"the embedding {model_id!r} returned a value that is not finite", code="model_error.vectors"
            )
        return vectors
