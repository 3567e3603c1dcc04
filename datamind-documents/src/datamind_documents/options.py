"""What a user may set under ``ingest.options``."""

from __future__ import annotations

from pydantic import ByteSize, Field

from datamind.plugins import ProviderOptions


class DocumentsOptions(ProviderOptions):
    """Options of the document loaders."""

    address_space: ByteSize = Field(
        ByteSize(2 * 1024**3), ge=512 * 1024**2, description="Address space of the reading process."
    )
    max_unpacked: ByteSize = Field(
        ByteSize(512 * 1024**2), ge=1024**2, description="What the parts of one document may have when unpacked."
    )
    timeout_s: float = Field(60.0, gt=0, description="Time after which reading a document is stopped.")
    idle_s: float = Field(10.0, gt=0, description="Time without work after which the reading process is closed.")
