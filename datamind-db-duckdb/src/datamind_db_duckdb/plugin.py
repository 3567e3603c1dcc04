"""Registers the database dialect ``duckdb``."""

from __future__ import annotations

from datamind.plugins import PLUGIN_API as _CURRENT_API
from datamind.plugins import ProviderKind, ProviderSpec, hookimpl

PLUGIN_API = _CURRENT_API


@hookimpl
def datamind_register_providers() -> list[ProviderSpec]:
    """One dialect."""
    return [
        ProviderSpec(
            ProviderKind.DB_DIALECT,
            "duckdb",
            "datamind_db_duckdb.dialect:open_dialect",
            "datamind_db_duckdb.options:DuckDBOptions",
            "Tables in one DuckDB file, owned by a process that can be stopped.",
        )
    ]
