"""Any order of imports leaves both databases in the state of a model made of dicts."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from datamind.testing.machines.database import DatabaseMachine
from datamind.testing.providers import ProviderTarget

LIMITS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class ReferenceMachine(DatabaseMachine):
    target = ProviderTarget("db.dialect", "datamind.capabilities.db.providers.memory:open_database")
    durable = False


class DuckDBMachine(DatabaseMachine):
    target = ProviderTarget(
        "db.dialect", "datamind_db_duckdb.dialect:open_dialect", "datamind_db_duckdb.options:DuckDBOptions"
    )


TestReference = ReferenceMachine.TestCase
TestReference.settings = settings(LIMITS, max_examples=50, stateful_step_count=25)
TestDuckDB = DuckDBMachine.TestCase
TestDuckDB.settings = settings(LIMITS, max_examples=5, stateful_step_count=15)
