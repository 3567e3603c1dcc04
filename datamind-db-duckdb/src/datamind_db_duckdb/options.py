"""What a user may set under ``db.options``."""

from __future__ import annotations

from pydantic import ByteSize, Field

from datamind.plugins import ProviderOptions


class DuckDBOptions(ProviderOptions):
    """Options of the database dialect ``duckdb``."""

    threads: int = Field(2, ge=1, le=64, description="Threads of one statement.")
    memory_limit: ByteSize = Field(ByteSize(512 * 1024**2), ge=64 * 1024**2, description="Memory of the engine.")
    address_space: ByteSize = Field(
        ByteSize(2 * 1024**3), ge=512 * 1024**2, description="Address space of each process, enforced by the system."
    )
    import_timeout_s: float = Field(900.0, gt=0, description="Time after which an import is stopped.")
