"""Model clients and embeddings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from datamind.core.messages import ModelDelta, ModelReply, ModelRequest
from datamind.core.record import Record


@runtime_checkable
class ToolCallingModelClient(Protocol):
    """Drives an agent.

    G1 ``stream`` ends with exactly one ReplyDone, or raises a ModelError; a stream cut short raises.
    G2 Call ids of one reply are unique and not empty, whatever the wire said.
    G3 Arguments are passed on as the JSON text that arrived, never repaired.
    G4 ``complete`` returns the reply that ``stream`` would have ended with.
    G5 Nothing of ``request.surfaces`` leaves the process.
    G6 Closing the iterator stops the request; ``aclose`` may be called twice.

    Attributes:
        name: The ``llm.protocol`` that selects it.
        model: The model's own name, shown in every result.
        extractive: Whether answers are put together from found text without a language model.
    """

    name: str
    model: str
    extractive: bool

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Deltas in order; see G1."""
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The whole reply; see G4."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...


@runtime_checkable
class TextModelClient(Protocol):
    """Plain text out of a prompt: query rewriting, extraction, SQL.

    G1 With ``schema`` the result is JSON text that is valid by that schema, or AnswerInvalid is raised.
    """

    async def generate_text(
        self, system: str, prompt: str, *, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> str:
        """The model's text; see G1."""
        ...


class EmbeddingDescription(Record):
    """What fusion and storage must know of an embedding model.

    Attributes:
        model_id: Stored with every vector; another id means other vectors.
        languages: ISO 639-1 codes it was trained for; empty means multilingual.
    """

    model_id: str
    dim: int
    languages: tuple[str, ...] = ()


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Texts to vectors.

    G1 Returns float32 bytes in C order, shape (len(texts), dim), rows L2-normalised, row i for text i.
    G2 The same text gives the same vector in any batch.
    G3 An empty text is refused with InputInvalid; NUL and lone surrogates are not passed on.
    G4 A number of rows other than asked for raises; nothing is padded or guessed.
    """

    @property
    def description(self) -> EmbeddingDescription:
        """Model id, dimension and languages; no I/O."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> bytes:
        """Vectors of passages; see G1 to G4."""
        ...

    async def embed_query(self, text: str) -> bytes:
        """One vector of a question, shape (1, dim)."""
        ...

    async def aclose(self) -> None:
        """Release the model or the connection."""
        ...
