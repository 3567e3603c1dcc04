"""The clients and embeddings of core and of its testing package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from datamind.core.protocols.models import TextModelClient, ToolCallingModelClient
from datamind.testing.conformance.embeddings import EmbeddingConformance
from datamind.testing.conformance.models import ModelClientConformance, TextModelConformance
from datamind.testing.models import ScriptedModel, ScriptedTextModel, Turn
from datamind.testing.providers import ProviderTarget


class TestScriptedModel(ModelClientConformance):
    capabilities = frozenset({"scripted"})

    async def open_client(self, folder: Path, turns: Sequence[Turn]) -> ToolCallingModelClient:
        return ScriptedModel(turns)

    async def stopped(self, client: ToolCallingModelClient) -> int:
        assert isinstance(client, ScriptedModel)
        return client.stopped


class TestOfflineModel(ModelClientConformance):
    """Says what it finds, not what a test tells it to."""

    async def open_client(self, folder: Path, turns: Sequence[Turn]) -> ToolCallingModelClient:
        return await ProviderTarget("model.client", "datamind_model_offline.client:open_client").open(folder)


class TestScriptedTextModel(TextModelConformance):
    async def open_client(self, folder: Path, answers: Sequence[str]) -> TextModelClient:
        return ScriptedTextModel(answers)


class TestHashingEmbedding(EmbeddingConformance):
    factory = "datamind.capabilities.embedding.hashing:open_embedding"
