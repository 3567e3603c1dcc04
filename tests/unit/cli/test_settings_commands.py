"""config, profiles, init and the mistakes of settings."""

from __future__ import annotations

import stat

import pytest

from datamind.config import Profile, Settings
from datamind.plugins import PluginHost, ProviderRegistry
from datamind_cli.initialising import absent_defaults, make_proposals


def origins_of(rows):
    return {row["key"]: (row["value"], row["origin"]) for row in rows}


def test_b28_config_show_says_where_each_value_comes_from(run, run_json, home, monkeypatch):
    (home / ".env").write_text("DATAMIND__RETRIEVAL__CHUNK_SIZE=700\nDATAMIND__LLM__MODEL=from-dotenv\n")
    run("init", "--set", "retrieval.top_k=7", "--set", "llm.model=from-file")
    monkeypatch.setenv("DATAMIND__LLM__TIMEOUT_S", "30")
    monkeypatch.setenv("DATAMIND__LLM__MAX_TOKENS", "")
    found = origins_of(run_json("config", "show", "--set", "agent.max_turns=3"))
    assert found["agent.max_turns"] == (3, "flag")
    assert found["llm.timeout_s"] == (30, "env")
    assert found["llm.model"] == ("from-dotenv", ".env")
    assert found["retrieval.chunk_size"] == (700, ".env")
    assert found["retrieval.top_k"] == (7, "profile file")
    assert found["llm.max_tokens"] == (4096, "default")
    text = run("config", "show", "--origin").stdout
    assert "DATAMIND__LLM__TIMEOUT_S" in text
    assert "datamind.toml" in text


def test_config_show_of_a_section_or_key(run_json, run):
    assert all(row["key"].startswith("llm.") for row in run_json("config", "show", "llm"))
    assert [row["key"] for row in run_json("config", "show", "llm.model")] == ["llm.model"]
    result = run("config", "show", "lm")
    assert result.exit_code == 2
    assert "no setting 'lm'" in result.stderr


def test_b27_secrets_are_masked(run, monkeypatch):
    monkeypatch.setenv("DATAMIND__LLM__API_KEY", "sk-canary-0099")
    for arguments in (["--origin"], ["--json"], []):
        result = run("config", "show", *arguments)
        assert result.exit_code == 0
        assert "canary" not in result.stdout + result.stderr


@pytest.mark.parametrize("name", ["../../etc", "/abs", "", "..", "Work", "con", "a/b"])
def test_a17_a_profile_outside_the_rule_is_one_line(run, name, home):
    for command in (["ask", "x"], ["receipts"], ["init"], ["profiles"], ["demo"]):
        result = run(*command, "--profile", name)
        assert result.exit_code == 3, command
        assert result.stderr.count("\n") == 1
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("DATAMIND__RETRIVAL__TOP_K", "DATAMIND__RETRIEVAL__TOP_K"),
        ("DATAMIND__RETRIEVAL__TOPK", "DATAMIND__RETRIEVAL__TOP_K"),
        ("DATAMIND_LLM_MODEL", "DATAMIND__LLM__MODEL"),
    ],
)
def test_a61_a_misspelt_variable_stops_and_names_the_right_one(run, monkeypatch, variable, meant):
    monkeypatch.setenv(variable, "3")
    result = run("ask", "x")
    assert result.exit_code == 3
    assert variable in result.stderr
    assert meant in result.stderr
    assert result.stderr.count("\n") == 1


def test_a61_a_value_out_of_bounds_names_the_value_and_the_bound(run):
    result = run("ask", "x", "--set", "retrieval.top_k=-3")
    assert result.exit_code == 3
    assert "retrieval.top_k" in result.stderr
    assert "-3" in result.stderr
    assert "at least 1" in result.stderr


@pytest.mark.parametrize(
    "setting",
    ["db.read_only=false", "skills.code_skills=true", "retrieval.rerank=true", "graph.embed_entities=true"],
)
def test_a69_a_setting_that_nothing_acts_on_is_rejected(run, setting):
    result = run("receipts", "--set", setting, "--set", "kb.backend=memory")
    assert result.exit_code == 3
    assert setting.partition(".")[0] in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_unknown_provider_named_in_settings_stops(run):
    for setting, said in (
        ("kb.backend=lancdb", "lancedb"),
        ("memory.backend=redis", "redis"),
        ("llm.protocol=x", "'x'"),
    ):
        result = run("ask", "question", "--set", setting)
        assert result.exit_code == 3, setting
        assert said in result.stderr
        assert result.stderr.count("\n") == 1


def test_profiles_lists_what_there_is_and_marks_the_current(run, run_json):
    assert run_json("profiles") == []
    assert "There is no profile" in run("profiles").stderr
    run("init", "--profile", "work")
    run("init", "--profile", "home")
    rows = {row["name"]: row for row in run_json("profiles", "--profile", "work")}
    assert set(rows) == {"home", "work"}
    assert rows["work"]["current"]
    assert not rows["home"]["current"]
    assert rows["work"]["has_settings"]
    assert "* " in run("profiles", "--profile", "work").stdout


def test_init_writes_a_profile_that_works_with_what_is_installed(run, home, monkeypatch):
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "kb-lancedb")
    result = run("init", "--profile", "work", "--set", "retrieval.top_k=8")
    assert result.exit_code == 0, result.stderr
    file = home / "data" / "profiles" / "work" / "datamind.toml"
    assert 'backend = "memory"' in file.read_text()
    assert "top_k = 8\n" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (home / "storage" / "work").is_dir()


def test_init_again_changes_nothing(run, run_json, home):
    run("init")
    before = (home / "data" / "profiles" / "default" / "datamind.toml").read_bytes()
    assert run_json("init")["written"] == []
    assert (home / "data" / "profiles" / "default" / "datamind.toml").read_bytes() == before


def test_init_never_overwrites_silently(run, run_json, home):
    run("init", "--set", "retrieval.top_k=8")
    assert run_json("init", "--set", "retrieval.top_k=9")["left"] == ["retrieval.top_k"]
    file = home / "data" / "profiles" / "default" / "datamind.toml"
    assert "top_k = 8\n" in file.read_text()
    result = run("init", "--set", "retrieval.top_k=9")
    assert "left: retrieval.top_k = 9 (now 8)" in result.stdout
    assert run_json("init", "--yes", "--set", "retrieval.top_k=9")["written"] == ["retrieval.top_k"]
    assert "top_k = 9\n" in file.read_text()


def test_init_names_vendor_variables_whose_client_is_not_installed(run, monkeypatch, home):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234567")
    result = run("init", "--yes")
    assert "OPENAI_API_KEY is set" in result.stdout
    assert "It comes with datamind-model-openai, which is not released yet." in result.stdout
    assert "canary" not in result.stdout + (home / "data/profiles/default/datamind.toml").read_text()


def test_init_in_a_folder_that_cannot_be_written(run, home):
    (home / "data").write_text("a file where a folder should be")
    result = run("init")
    assert result.exit_code == 3
    assert result.stderr.count("\n") == 1


def registry_with(monkeypatch, tmp_path, *protocols):
    from tests.support.plugins import plugin_source, write_distribution

    for protocol in protocols:
        plugin = plugin_source(kind="model.client", provider=protocol)
        write_distribution(tmp_path, f"vendor-{protocol.replace('_', '-')}", plugin)
    monkeypatch.syspath_prepend(str(tmp_path))
    return ProviderRegistry(PluginHost(environ={}))


def proposals_for(monkeypatch, tmp_path, *protocols):
    settings = Settings()
    registry = registry_with(monkeypatch, tmp_path, *protocols)
    return {proposal.key: proposal for proposal in make_proposals(settings, registry, Profile.of(settings), {})}


def test_a_vendor_key_is_offered_with_its_client_and_asks(monkeypatch, tmp_path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://other.example/v1")
    proposals = proposals_for(monkeypatch, tmp_path, "anthropic", "openai_chat_completions")
    key = proposals["llm.api_key"]
    assert (key.value, key.asks, key.is_secret) == ("sk-ant-canary", True, True)
    assert "canary" not in key.shown
    assert proposals["llm.protocol"].value == "anthropic"
    assert "llm.api_base" not in proposals  # of another vendor


def test_a_default_that_is_installed_is_left_alone(monkeypatch, tmp_path):
    from tests.support.plugins import plugin_source, write_distribution

    write_distribution(tmp_path, "vendor-store", plugin_source(kind="kb.store", provider="lancedb"))
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = ProviderRegistry(PluginHost(environ={"DATAMIND_PLUGINS_BLOCK": "kb-lancedb"}))
    assert "kb.backend" not in absent_defaults(Settings(), registry)
    assert "kb.backend" not in absent_defaults(Settings(kb={"backend": "lancedb"}), registry)


def test_a_setting_that_was_named_is_not_replaced():
    registry = ProviderRegistry(PluginHost(environ={}))
    assert "kb.backend" not in absent_defaults(Settings(kb={"backend": "lancedb"}), registry)
