from __future__ import annotations

import pytest

from datamind.core.errors import ConfigError, PluginError
from datamind.plugins import PluginHost, ProviderKind, ProviderRegistry
from datamind.plugins.discovery import installed_entry_points
from tests.support.plugins import plugin_source, write_distribution

KB = ProviderKind.KB_STORE


@pytest.fixture
def registry(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))

    def build(**environ):
        return ProviderRegistry(PluginHost(installed_entry_points([str(tmp_path)])[0], environ))

    return build


def error_of(registry, kind, name):
    with pytest.raises(PluginError) as raised:
        registry.select(kind, name)
    assert isinstance(raised.value, ConfigError)
    assert "\n" not in str(raised.value)
    return raised.value


def test_a_provider_is_selected_by_its_exact_name(tmp_path, registry):
    write_distribution(tmp_path, "reg-one", plugin_source(provider="one"))
    found = registry()
    assert found.select(KB, "one").factory == "acme.store:open_store"
    assert found.select("kb.store", "memory").origin.distribution == "datamind-core"
    assert [spec.name for spec in found.specs(KB)] == ["memory", "one"]
    assert len(found.specs()) == 11
    assert error_of(found, KB, "One").code == "plugin_error.missing"


def test_a_missing_known_provider_names_the_command_that_installs_it(registry):
    error = error_of(registry(), KB, "lancedb")
    assert error.code == "plugin_error.missing"
    assert str(error) == (
        "kb.backend='lancedb' is not installed (installed kb.store: memory). Run: pip install datamind-kb-lancedb"
    )
    assert "It comes with datamind-db-sqlalchemy, which is not released yet." in str(
        error_of(registry(), ProviderKind.DB_DIALECT, "postgres")
    )


def test_a_misspelt_provider_is_recognised_installed_or_not(tmp_path, registry):
    assert "Did you mean 'lancedb'? Run: pip install datamind-kb-lancedb" in str(error_of(registry(), KB, "lancdb"))
    write_distribution(tmp_path, "reg-two", plugin_source(provider="memo"))
    found = registry()
    assert str(error_of(found, KB, "memmo")).endswith("(installed kb.store: memo, memory). Did you mean 'memo'?")
    assert "(installed kb.store: memory, memo)" in str(error_of(found, KB, "memoryx"))


def test_a_loader_has_no_setting_and_is_named_by_its_kind(registry):
    assert str(error_of(registry(), ProviderKind.INGEST_LOADER, "pdf")) == (
        "ingest.loader 'pdf' is not installed (installed ingest.loader: none). Run: pip install datamind-documents"
    )


@pytest.mark.parametrize(
    ("kind", "name", "distribution", "point"),
    [
        (ProviderKind.MODEL_CLIENT, "anthropic", "datamind-model-anthropic", "anything"),
        (KB, "zeta", "reg-broken", "zeta"),
        (KB, "zeta", "reg-broken", "kb-zeta"),
        (KB, "zeta_x", "datamind-kb-zeta-x", "anything"),
    ],
    ids=["known table", "entry point", "surface and entry point", "distribution"],
)
def test_a_selected_provider_of_a_broken_plugin_names_distribution_version_and_cause(
    tmp_path, registry, kind, name, distribution, point
):
    package = distribution.replace("-", "_")
    points = {point: f"{package}.plugin"}
    write_distribution(tmp_path, distribution, "import reg_absent", version="3.2", entry_points=points)
    error = error_of(registry(), kind, name)
    assert error.code == "plugin_error.broken"
    assert f"{kind.setting}={name!r} cannot be used" in str(error)
    assert f"{distribution} 3.2 failed: ModuleNotFoundError: No module named 'reg_absent'" in str(error)


def test_a_selected_provider_of_a_blocked_plugin_says_what_blocks_it(tmp_path, registry):
    write_distribution(tmp_path, "datamind-kb-lancedb", plugin_source(provider="lancedb"))
    error = error_of(registry(DATAMIND_PLUGINS_BLOCK="datamind-kb-lancedb"), KB, "lancedb")
    assert "is blocked: named in DATAMIND_PLUGINS_BLOCK" in str(error)


def test_a_duplicate_plugin_is_named_when_it_is_selected(tmp_path, registry):
    for name in ("datamind-kb-lancedb", "reg-shadow"):
        write_distribution(tmp_path, name, "", entry_points={"kb-lancedb": "nowhere"})
    error = error_of(registry(), KB, "lancedb")
    assert "claimed by datamind-kb-lancedb 1.0 and reg-shadow 1.0" in str(error)


def test_a_broken_plugin_of_another_name_is_mentioned_not_blamed(tmp_path, registry):
    write_distribution(tmp_path, "reg-stranger", "import reg_absent")
    error = error_of(registry(), KB, "zeta")
    assert error.code == "plugin_error.missing"
    assert "These plugins did not load: reg-stranger" in str(error)
    assert registry().select(KB, "memory").name == "memory"


def test_a_plugin_that_fails_after_registering_is_refused_when_selected(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    later = "def datamind_register_commands():\n    raise RuntimeError('boom')"
    write_distribution(tmp_path, "reg-late", plugin_source(later, provider="late"))
    host = PluginHost(installed_entry_points([str(tmp_path)])[0], {})
    registry = ProviderRegistry(host)
    assert registry.select(KB, "late").name == "late"
    host.commands()
    assert "RuntimeError: boom" in str(error_of(registry, KB, "late"))


@pytest.mark.parametrize("other", ["memory", "same"], ids=["with core", "with each other"])
def test_two_providers_of_one_kind_and_name_fail_their_plugins_and_both_are_named(tmp_path, registry, other):
    write_distribution(tmp_path, f"reg-{other}-a", plugin_source(provider=other))
    if other == "same":
        write_distribution(tmp_path, f"reg-{other}-b", plugin_source(provider=other))
        error = error_of(registry(), KB, other)
        assert error.code == "plugin_error.broken"
        assert "kb.store 'same' is claimed by both reg-same-a 1.0 " in str(error)
        assert "reg-same-b 1.0" in str(error)
    else:
        assert registry().select(KB, other).origin.name == "core"
    assert registry(DATAMIND_PLUGINS_BLOCK=f"reg-{other}-a").select(KB, other).name == other


def test_one_name_in_two_kinds_is_no_clash(tmp_path, registry):
    write_distribution(tmp_path, "reg-kinds", plugin_source(provider="hybrid", kind="graph.store"))
    assert registry().select(ProviderKind.GRAPH_STORE, "hybrid").origin.name == "reg-kinds"
