"""The table of settings for documentation."""

import pytest

from datamind.config import Settings, describe_settings
from datamind.config.catalogue import section_types

ROWS = {row.key: row for row in describe_settings()}


def test_every_setting_is_described():
    assert len(ROWS) > 60
    for key, row in ROWS.items():
        assert row.description.endswith("."), key
        assert row.type, key


def test_every_section_has_a_docstring_and_its_own_name():
    assert list(section_types()) == list(Settings.model_fields)
    for name, kind in section_types().items():
        assert kind.section_name() == name
        assert "__doc__" in vars(kind)


@pytest.mark.parametrize(
    ("key", "variable", "type_", "default"),
    [
        ("llm.model", "DATAMIND__LLM__MODEL", "text", "claude-sonnet-4-6"),
        ("llm.api_key", "DATAMIND__LLM__API_KEY", "secret", ""),
        ("llm.temperature", "DATAMIND__LLM__TEMPERATURE", "number ≥ 0 ≤ 2", ""),
        ("logging.format", "DATAMIND__LOGGING__FORMAT", "text or json", "text"),
        ("retrieval.top_k", "DATAMIND__RETRIEVAL__TOP_K", "whole number ≥ 1", "5"),
        ("agent.max_cost_usd", "DATAMIND__AGENT__MAX_COST_USD", "number > 0", ""),
        ("hooks.enabled", "DATAMIND__HOOKS__ENABLED", "true or false", "true"),
        ("hooks.required", "DATAMIND__HOOKS__REQUIRED", "list of text", ""),
        ("hooks.audit_key", "DATAMIND__HOOKS__AUDIT_KEY", "path", "<user config dir>/datamind/keys"),
        ("data.base_dir", "DATAMIND__DATA__BASE_DIR", "path", "."),
        ("ingest.max_bytes", "DATAMIND__INGEST__MAX_BYTES", "size", "2GiB"),
        ("kb.options", "DATAMIND__KB__OPTIONS", "table", ""),
        ("plugins.allow", "DATAMIND__PLUGINS__ALLOW", "list of text", ""),
    ],
)
def test_a_row_says_type_bounds_and_default(key, variable, type_, default):
    row = ROWS[key]
    assert (row.variable, row.type, row.default) == (variable, type_, default)
