"""Variables and ``.env``: what is read, what is refused, what is left alone."""

import os

import pytest

from datamind.config import Settings, seen_vendor_variables
from datamind.core.errors import ConfigError


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.upper().startswith(("DATAMIND", "ANTHROPIC", "OPENAI"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal() -> str:
    with pytest.raises(ConfigError) as caught:
        Settings()
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DATAMIND__LLM__MODLE", "did you mean DATAMIND__LLM__MODEL?"),
        ("DATAMIND__LMM__MODEL", "did you mean DATAMIND__LLM__MODEL?"),
        ("DATAMIND__LLM__MAX_TURNS", "did you mean DATAMIND__AGENT__MAX_TURNS?"),
        ("DATAMIND__LLM", "llm has: api_base"),
        ("DATAMIND__LLM__MODEL__NAME", "did you mean DATAMIND__LLM__MODEL?"),
        ("DATAMIND__LOGGING__OPTIONS__X", "logging has: level, format, file"),
        ("DATAMIND__", "sections are: llm"),
        ("DATAMIND_LLM_MODEL", "is not read; did you mean DATAMIND__LLM__MODEL?"),
        ("DATAMIND_LLM__MODEL", "is not read; did you mean DATAMIND__LLM__MODEL?"),
    ],
)
def test_a61_a_misspelt_variable_is_named_and_corrected(monkeypatch, name, meant):
    monkeypatch.setenv(name, "canary")
    message = refusal()
    assert message.startswith(name)
    assert meant in message
    assert "canary" not in message


def test_a54_a_variable_that_does_nothing_is_refused(monkeypatch):
    monkeypatch.setenv("DATAMIND__DATA__SKILLS_DIR", "/x")
    assert refusal() == "DATAMIND__DATA__SKILLS_DIR is not a setting; data has: profile, base_dir."


def test_a_wrong_value_names_its_variable(monkeypatch):
    monkeypatch.setenv("DATAMIND__RETRIEVAL__TOP_K", "-3")
    assert refusal() == "retrieval.top_k = '-3' (DATAMIND__RETRIEVAL__TOP_K) must be at least 1."


def test_b28_an_empty_misspelt_variable_is_not_set(monkeypatch):
    monkeypatch.setenv("DATAMIND__LLM__MODLE", "")
    assert Settings().llm.model == "claude-sonnet-4-6"


def test_values_are_read_by_their_type(monkeypatch):
    monkeypatch.setenv("DATAMIND__RETRIEVAL__TOP_K", "7")
    monkeypatch.setenv("DATAMIND__RETRIEVAL__RERANK", "yes")
    monkeypatch.setenv("DATAMIND__RETRIEVAL__RERANK_MODEL", "cross")
    monkeypatch.setenv("DATAMIND__AGENT__MAX_COST_USD", "0.5")
    monkeypatch.setenv("DATAMIND__LOGGING__LEVEL", "INFO")
    settings = Settings()
    assert (settings.retrieval.top_k, settings.retrieval.rerank, settings.retrieval.rerank_model) == (7, True, "cross")
    assert (settings.agent.max_cost_usd, settings.logging.level) == (0.5, "info")


def test_a_secret_loses_the_line_break_of_the_file_it_came_from(monkeypatch):
    monkeypatch.setenv("DATAMIND__LLM__API_KEY", "sk-test\n")
    assert Settings().llm.api_key.get_secret_value() == "sk-test"


def test_options_come_as_a_json_object_or_one_by_one(monkeypatch):
    monkeypatch.setenv("DATAMIND__KB__OPTIONS", '{"probes": 3, "tags": ["a"]}')
    monkeypatch.setenv("DATAMIND__KB__OPTIONS__REFINE_FACTOR", "2")
    settings = Settings()
    assert settings.kb.options == {"probes": 3, "tags": ["a"], "refine_factor": "2"}
    rows = {row.key: row.where for row in settings.origins()}
    assert rows["kb.options.probes"] == "DATAMIND__KB__OPTIONS"
    assert rows["kb.options.refine_factor"] == "DATAMIND__KB__OPTIONS__REFINE_FACTOR"


def test_the_short_plugin_variables_are_settings(monkeypatch):
    monkeypatch.setenv("DATAMIND_PLUGINS", "datamind-skills, datamind-mcp")
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "x")
    monkeypatch.setenv("DATAMIND_PLUGINS_STRICT", "1")
    plugins = Settings().plugins
    assert (plugins.allow, plugins.block, plugins.strict) == (("datamind-skills", "datamind-mcp"), ("x",), True)


def test_two_variables_for_one_key_are_refused(monkeypatch):
    monkeypatch.setenv("DATAMIND_PLUGINS", "a")
    monkeypatch.setenv("DATAMIND__PLUGINS__ALLOW", "b")
    message = refusal()
    assert "DATAMIND_PLUGINS" in message
    assert "DATAMIND__PLUGINS__ALLOW" in message
    assert "set the same key; remove one." in message


def test_variables_of_others_are_left_alone(clean, monkeypatch):
    monkeypatch.setenv("DATAMIND_SOMETHING_ELSE", "x")
    monkeypatch.setenv("LLM__MODEL", "x")
    (clean / ".env").write_text("OTHER_APP=1\nLLM__MODEL=x\n")
    assert Settings().llm.model == "claude-sonnet-4-6"


def test_vendor_variables_are_seen_and_never_used(clean, monkeypatch):
    assert seen_vendor_variables() == []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "")
    (clean / ".env").write_text("ANTHROPIC_API_KEY=sk-canary\n")
    assert seen_vendor_variables() == ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]
    settings = Settings()
    assert settings.llm.api_key is None
    assert settings.llm.api_base is None
    assert settings.embedding.api_key is None
    assert settings.secrets() == frozenset()


def test_dotenv_keeps_dollar_signs_and_ignores_empty_values(clean, monkeypatch):
    (clean / ".env").write_text("DATAMIND__LLM__API_KEY='a$HOME${HOME}'\nDATAMIND__LLM__MODEL=\n")
    settings = Settings()
    assert settings.llm.api_key.get_secret_value() == "a$HOME${HOME}"
    assert settings.llm.model == "claude-sonnet-4-6"


def test_dotenv_gives_way_to_the_environment_but_not_to_an_empty_variable(clean, monkeypatch):
    (clean / ".env").write_bytes(b"\xef\xbb\xbfDATAMIND__LLM__MODEL=from-dotenv\n")
    monkeypatch.setenv("DATAMIND__LLM__MODEL", "")
    assert Settings().llm.model == "from-dotenv"
    monkeypatch.setenv("DATAMIND__LLM__MODEL", "from-env")
    assert Settings().llm.model == "from-env"


def test_dotenv_mistakes_name_the_file(clean):
    (clean / ".env").write_text("DATAMIND__RETRIEVAL__TOP_K=0\n")
    assert refusal() == (f"retrieval.top_k = '0' (DATAMIND__RETRIEVAL__TOP_K in {clean / '.env'}) must be at least 1.")
    (clean / ".env").write_text("DATAMIND__LLM__MODLE=x\n")
    assert "did you mean DATAMIND__LLM__MODEL?" in refusal()
    (clean / ".env").write_bytes(b"X=\xff\xfe\n")
    assert "cannot be read" in refusal()


def test_a_folder_named_dotenv_is_left_alone(clean):
    (clean / ".env").mkdir()
    assert Settings().llm.model == "claude-sonnet-4-6"
