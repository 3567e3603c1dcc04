"""The embedding as those use it who can do without one."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, Self

from datamind.capabilities.embedding.guard import GuardedEmbedding
from datamind.core.errors import ConfigError, DataMindError, PluginError
from datamind.core.logging import redactor
from datamind.core.protocols.models import EmbeddingProvider

log = logging.getLogger(__name__)

_RETRY_S: Final = 30.0


class EmbeddingAccess:
    """Opens the embedding when it is first asked for, and says why there is none.

    Attributes:
        reason: Why the last ``get`` gave none, or an empty string.
        is_absent: The reason is that no plugin brings the embedding.
    """

    def __init__(self, open_provider: Callable[[], Awaitable[EmbeddingProvider]]) -> None:
        self._open_provider = open_provider
        self._embedding: GuardedEmbedding | None = None
        self._asks_again_at = 0.0
        self.reason = ""
        self.is_absent = False

    @classmethod
    def of(cls, provider: EmbeddingProvider) -> Self:
        """One that is open already."""
        access = cls(lambda: _ready(provider))
        access._embedding = GuardedEmbedding(provider)
        return access

    async def get(self) -> EmbeddingProvider | None:
        """The embedding; one that did not open for a passing cause is tried again half a minute later.

        Raises:
            ConfigError: A setting of the embedding is wrong.
        """
        if self._embedding is None and time.monotonic() >= self._asks_again_at:
            await self._open()
        return self._embedding

    async def _open(self) -> None:
        try:
            self._embedding = GuardedEmbedding(await self._open_provider())
        except DataMindError as error:
            if isinstance(error, ConfigError) and not isinstance(error, PluginError):
                raise
            log.info("there are no vectors: %s", error)
            self.reason = redactor.text(error.message)
            self.is_absent = error.code == "plugin_error.missing"
            self._asks_again_at = time.monotonic() + _RETRY_S if error.retryable else float("inf")
        else:
            self.reason, self.is_absent = "", False


async def _ready(provider: EmbeddingProvider) -> EmbeddingProvider:
    return provider
