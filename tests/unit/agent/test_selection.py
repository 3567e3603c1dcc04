"""Which provider serves what, and that no setting is taken and ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from datamind.agent.budgets import loop_config
from datamind.agent.selection import select_providers
from datamind.core.errors import ConfigError, PluginError
from datamind.core.types import DataSurface
from datamind.plugins import NO_OPTIONS, ProviderKind, ProviderRegistry, ProviderSpec, hookimpl
from tests.support.scripted import Entry, host_of
from tests.support.systems import settings_in


def providers(*pairs: tuple[ProviderKind, str]) -> Entry:
    @hookimpl
    def register() -> list[ProviderSpec]:
        return [ProviderSpec(kind, name, "acme.x:open", NO_OPTIONS, "A test provider.") for kind, name in pairs]

    return Entry("acme", datamind_register_providers=register)


def select(folder: Path, *entries: Any, enable: frozenset[DataSurface] | None = None, **sections: Any) -> Any:
    return select_providers(settings_in(folder, **sections), ProviderRegistry(host_of(*entries)), enable)


def test_with_core_alone_every_default_is_off_and_says_what_to_install(tmp_path: Path) -> None:
    selection = select(tmp_path, kb={})
    assert set(selection.off) == set(DataSurface) - {DataSurface.UTILITY}
    for reason, distribution in (
        (selection.off[DataSurface.KB], "datamind-kb-lancedb"),
        (selection.off[DataSurface.MEMORY], "datamind-memory-sqlite"),
        (selection.off[DataSurface.SKILLS], "datamind-skills"),
        (selection.off[DataSurface.DB], "datamind-db-duckdb"),
        (selection.off[DataSurface.GRAPH], "datamind-graph-rdflib"),
    ):
        assert f"pip install {distribution}" in reason
    assert "datamind-model-offline" in str(selection.model_error)


@pytest.mark.parametrize(
    ("sections", "command"),
    [
        ({"kb": {"backend": "lancedb"}}, "pip install datamind-kb-lancedb"),
        ({"memory": {"backend": "sqlite"}}, "pip install datamind-memory-sqlite"),
        ({"skills": {"backend": "profile"}}, "pip install datamind-skills"),
        ({"db": {"dialect": "duckdb"}}, "pip install datamind-db-duckdb"),
        ({"db": {"dialect": "postgres"}}, "datamind-db-sqlalchemy, which is not released"),
        ({"db": {"row_limit": 5}}, "pip install datamind-db-duckdb"),
        ({"graph": {"backend": "sparql", "dsn": "http://x"}}, "pip install datamind-graph-rdflib"),
        ({"graph": {"options": {"a": 1}}}, "pip install datamind-graph-rdflib"),
        ({"kb": {"options": {"a": 1}}}, "pip install datamind-kb-lancedb"),
        ({"embedding": {"batch_size": 5}}, "pip install datamind-embed-local"),
        ({"llm": {"protocol": "anthropic"}}, "datamind-model-anthropic, which is not released"),
        ({"llm": {"protocol": "offline"}}, "pip install datamind-model-offline"),
        ({"llm": {"api_key": "k" * 20}}, "datamind-model-anthropic, which is not released"),
        ({"embedding": {"provider": "local"}}, "pip install datamind-embed-local"),
        ({"agent": {"backend": "sdk"}}, "datamind-loop-sdk, which is not released"),
        ({"kb": {"backend": "memory", "lexical": "bm25s"}}, "pip install datamind-kb-lancedb"),
        ({"retrieval": {"strategy": "multi_query"}}, "retrieval.strategy='multi_query'"),
        ({"retrieval": {"rerank": True, "rerank_model": "acme"}}, "retrieval.rerank_model='acme'"),
        ({"kb": {"backend": "lancedbb"}}, "Did you mean 'lancedb'?"),
    ],
)
def test_what_settings_name_and_is_missing_is_an_error_with_what_to_do(
    tmp_path: Path, sections: dict[str, Any], command: str
) -> None:
    with pytest.raises(PluginError) as caught:
        select(tmp_path, **sections)
    assert isinstance(caught.value, ConfigError)
    assert command in str(caught.value)


@pytest.mark.parametrize(
    ("sections", "key"),
    [
        ({"llm": {"protocol": "offline", "api_base": "http://u:pw@h/v1"}}, "llm.api_base"),
        ({"llm": {"api_base": "http://h/v1"}}, "llm.api_base"),
        ({"embedding": {"provider": "hashing", "model": "m"}}, "embedding.model"),
        ({"embedding": {"provider": "hashing", "api_base": "http://u:pw@h/v1"}}, "embedding.api_base"),
        ({"embedding": {"provider": "hashing", "api_key": "pw"}}, "embedding.api_key"),
        ({"memory": {"backend": "memory", "dsn": "postgresql://u:pw@h/d"}}, "memory.dsn"),
        ({"graph": {"backend": "memory", "dsn": "http://u:pw@h/d"}}, "graph.dsn"),
    ],
)
def test_a69_a_setting_that_nothing_acts_on_is_rejected(tmp_path: Path, sections: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=key) as caught:
        select(tmp_path, providers((ProviderKind.MODEL_CLIENT, "offline")), **sections)
    assert "pw" not in str(caught.value)


def test_only_what_is_enabled_is_selected(tmp_path: Path) -> None:
    selection = select(tmp_path, enable=frozenset({DataSurface.KB}))
    assert ProviderKind.KB_STORE in selection.chosen
    assert ProviderKind.MEMORY_STORE not in selection.chosen
    assert selection.off[DataSurface.MEMORY] == "it was not enabled"
    assert DataSurface.KB not in selection.off


def test_what_was_not_enabled_is_not_missed(tmp_path: Path) -> None:
    selection = select(tmp_path, enable=frozenset({DataSurface.KB}), memory={"backend": "sqlite"}, db={"row_limit": 5})
    assert selection.off[DataSurface.MEMORY] == selection.off[DataSurface.DB] == "it was not enabled"


def test_the_model_follows_the_key_when_none_is_named(tmp_path: Path) -> None:
    both = providers((ProviderKind.MODEL_CLIENT, "offline"), (ProviderKind.MODEL_CLIENT, "anthropic"))
    assert select(tmp_path, both).model_protocol == "offline"
    assert select(tmp_path, both, llm={"api_key": "k" * 20}).model_protocol == "anthropic"
    named = select(tmp_path, both, llm={"api_key": "k" * 20, "protocol": "offline"})
    assert named.model_protocol == "offline"


def test_a69_every_limit_of_the_agent_section_reaches_the_loop(tmp_path: Path) -> None:
    agent = {
        "max_turns": 3,
        "max_tool_calls": 4,
        "max_input_tokens": 5,
        "max_output_tokens": 6,
        "max_cost_usd": 7.5,
        "wall_clock_timeout_s": 80.0,
        "finalization_reserve_s": 9.0,
    }
    llm = {"max_tokens": 10, "temperature": 0.5, "timeout_s": 11.0}
    config = loop_config(settings_in(tmp_path, agent=agent, llm=llm))
    assert [getattr(config, name) for name in config.__dataclass_fields__] == [
        *(3, 4, 5, 6, 7.5, 80.0, 9.0),
        *(10, 0.5, 11.0),
    ]
