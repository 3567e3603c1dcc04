"""Both databases pass every test of the kit that they can."""

from __future__ import annotations

from datamind.testing.conformance.database import DatabaseConformance


class TestInMemoryDatabase(DatabaseConformance):
    factory = "datamind.capabilities.db.providers.memory:open_database"
    capabilities = frozenset({"imports"})


class TestDuckDB(DatabaseConformance):
    factory = "datamind_db_duckdb.dialect:open_dialect"
    options_model = "datamind_db_duckdb.options:DuckDBOptions"
    capabilities = frozenset({"durable", "decimals", "imports"})
