"""The embeddings of datamind-embed-local."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from datamind.testing.conformance.embeddings import EmbeddingConformance
from datamind_embed_local.machine import obstacle


@pytest.mark.skipif(bool(obstacle()), reason=f"the embedding 'local' cannot run here: {obstacle()}")
class TestLocal(EmbeddingConformance):
    factory = "datamind_embed_local.local:open_local"


@pytest.mark.skipif(find_spec("fastembed") is None, reason="fastembed is not installed; its model needs the network")
class TestFastembed(EmbeddingConformance):
    factory = "datamind_embed_local.downloaded:open_fastembed"
    options_model = "datamind_embed_local.options:FastembedOptions"
