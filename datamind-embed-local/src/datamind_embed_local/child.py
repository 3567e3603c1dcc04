"""An embedding whose model lives in child processes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from datamind.capabilities.embedding.texts import clean_text
from datamind.core.protocols.models import EmbeddingDescription
from datamind.engine_host import EngineHost, EngineReply, EngineSpec

MAX_CHARS: Final = 2_000
"""A text is embedded by its beginning: the models read some 512 tokens at once, and time grows with the rest."""

_SLICE_CHARS: Final = 4_000
_DEADLINE_S: Final = 60.0
_BACKGROUND_NICENESS: Final = 10
_IDLE_S: Final = 30.0


class ChildEmbedding:
    """Passages and questions have a process each, so that no question waits behind a batch of passages.

    The process of the passages gives way to everything else on the machine, and ends when it has had no work for half
    a minute.
    """

    def __init__(self, description: EmbeddingDescription, spec: EngineSpec) -> None:
        self._description = description
        self._questions = EngineHost(_with_niceness(spec, 0))
        self._passages = EngineHost(replace(_with_niceness(spec, _BACKGROUND_NICENESS), idle_s=_IDLE_S))

    @property
    def description(self) -> EmbeddingDescription:
        """Model id, dimension and languages."""
        return self._description

    async def embed_documents(self, texts: Sequence[str]) -> bytes:
        """float32, shape (len(texts), dim), L2-normalised rows, by the first 2,000 characters of each text.

        Raises:
            InputInvalid: A text is empty, or holds nothing but blanks, NUL and lone surrogates.
            LimitExceeded: It took longer than a minute for some 4,000 characters.
            StoreError: The process failed or does not start.
        """
        cleaned = [clean_text(text)[:MAX_CHARS] for text in texts]
        return b"".join([await _embed(self._passages, part, is_query=False) for part in _slices(cleaned)])

    async def embed_query(self, text: str) -> bytes:
        """float32, shape (1, dim), L2-normalised, by the first 2,000 characters.

        Raises:
            DataMindError: As for ``embed_documents``.
        """
        return await _embed(self._questions, [clean_text(text)[:MAX_CHARS]], is_query=True)

    async def aclose(self) -> None:
        """End both processes; may be called twice."""
        await self._questions.aclose()
        await self._passages.aclose()


async def _embed(host: EngineHost, texts: Sequence[str], *, is_query: bool) -> bytes:
    reply: EngineReply = await host.call(
        "embed",
        {"is_query": is_query},
        payloads=[json.dumps(texts).encode()],
        deadline_s=_DEADLINE_S,
        retry=True,
    )
    return bytes(reply.payloads[0])


def _slices(texts: Sequence[str]) -> Iterator[list[str]]:
    """Whole texts of at most ``_SLICE_CHARS`` together: what is sent at once cannot be given up halfway."""
    part: list[str] = []
    used = 0
    for text in texts:
        if part and used + len(text) > _SLICE_CHARS:
            yield part
            part, used = [], 0
        part.append(text)
        used += len(text)
    if part:
        yield part


def _with_niceness(spec: EngineSpec, niceness: int) -> EngineSpec:
    return replace(spec, options={**spec.options, "niceness": niceness})
