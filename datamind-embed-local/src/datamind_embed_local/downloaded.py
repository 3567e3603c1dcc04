"""The embedding ``fastembed``: ONNX models that are downloaded once."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from datamind.core.errors import ConfigError, PluginError
from datamind.core.protocols.models import EmbeddingDescription
from datamind.engine_host import EngineHost, EngineLimits, EngineReply, EngineRequest, EngineSpec, open_engine
from datamind_embed_local.child import ChildEmbedding

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext
    from datamind_embed_local.options import FastembedOptions

DEFAULT_MODEL: Final = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
_DOWNLOAD_S: Final = 1800.0
_PASSED: Final = (
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
)


async def open_fastembed(ctx: ProviderContext, options: FastembedOptions) -> ChildEmbedding:
    """The embedding of ``embedding.model``, downloaded by now.

    Raises:
        PluginError: fastembed is not installed.
        ConfigError: It has no such model.
        StoreError: The model cannot be downloaded or read.
    """
    if find_spec("fastembed") is None:
        raise PluginError(
            "the embedding 'fastembed' needs the package fastembed",
            code="plugin_error.missing",
            hint="pip install 'datamind-embed-local[fastembed]'",
        )
    model = ctx.settings.embedding.model or DEFAULT_MODEL
    folder = options.cache_dir or ctx.profile.base_dir / "storage" / "models"
    spec = EngineSpec(
        "embedding fastembed",
        "datamind_embed_local.downloaded:make_engine",
        {"model": model, "folder": str(folder), "threads": options.threads, "niceness": 0},
        limits=EngineLimits(address_space_bytes=None, open_files=1024),
        environment={name: os.environ[name] for name in _PASSED if name in os.environ},
        start_s=_DOWNLOAD_S,
    )
    async with open_engine(spec) as host:
        dim = await _dimension(host, model)
    return ChildEmbedding(EmbeddingDescription(model_id=f"fastembed/{model}", dim=dim), spec)


async def _dimension(host: EngineHost, model: str) -> int:
    dim = (await host.call("dimension", deadline_s=60, retry=True)).value
    if not dim:
        raise ConfigError(
            f"embedding.model = {model[:80]!r} is no model of fastembed", hint="It lists them as supported models."
        )
    return int(dim)


class FastEngine:
    """A model of fastembed; one that it does not know has dimension 0 and embeds nothing."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        from fastembed import TextEmbedding

        os.nice(options["niceness"])
        known = {row["model"]: row["dim"] for row in TextEmbedding.list_supported_models()}
        self._dim = known.get(options["model"], 0)
        if self._dim:
            self._model = TextEmbedding(options["model"], cache_dir=options["folder"], threads=options["threads"])
        self.operations = {"dimension": lambda _: self._dim, "embed": self._embed}

    def _embed(self, request: EngineRequest) -> EngineReply:
        import numpy as np

        texts = json.loads(bytes(request.payloads[0]))
        embed = self._model.query_embed if request.args["is_query"] else self._model.passage_embed
        rows = np.asarray(list(embed(texts)), np.float32).reshape(len(texts), self._dim)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return EngineReply(payloads=(unit.tobytes(),))


def make_engine(options: Mapping[str, Any]) -> FastEngine:
    """Load the model, after a download if the folder does not have it."""
    return FastEngine(options)
