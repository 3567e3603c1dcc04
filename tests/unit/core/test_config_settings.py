"""Settings as a whole: defaults, precedence, bounds, messages, secrets."""

import copy
import os
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from datamind.config import LlmSettings, Settings, write_profile_file
from datamind.config.profile import Profile
from datamind.core.errors import ConfigError

DEFAULTS = """
llm api_base=None api_key=None protocol=None model=claude-sonnet-4-6
llm max_tokens=4096 temperature=None timeout_s=60
embedding provider=local api_base=None api_key=None model=None batch_size=32
retrieval strategy=hybrid top_k=5 chunk_size=512 chunk_overlap=64 rerank=False rerank_model=None
kb backend=lancedb lexical=store
graph backend=rdflib dsn=None embed_entities=False
db dialect=duckdb dsn=None read_dsn=None read_only=True row_limit=1000 query_timeout_s=10
memory backend=sqlite dsn=None short_term_turns=20 long_term_enabled=True
skills backend=profile code_skills=False
data profile=default
agent backend=native max_turns=12 max_tool_calls=24 max_input_tokens=120000 max_output_tokens=None max_cost_usd=None
agent wall_clock_timeout_s=300 finalization_reserve_s=20
ingest max_bytes=2147483648 kb_max_bytes=104857600
hooks enabled=True path_allowlist=True audit_log=True path_allowlist_extra=() required=()
plugins allow=None block=() strict=False
logging level=warning format=text file=None
"""
WITH_OPTIONS = ["llm", "embedding", "retrieval", "kb", "graph", "db", "memory", "skills", "agent"]


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.upper().startswith("DATAMIND")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def refusal(**call) -> str:
    with pytest.raises(ConfigError) as caught:
        Settings(**call)
    assert caught.value.__context__ is None, "a pydantic error would follow in the traceback"
    return str(caught.value)


def write_toml(base: Path, text: str, profile: str = "default") -> Path:
    path = Profile(profile, base).settings_file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_are_those_of_the_documentation():
    settings = Settings()
    for line in DEFAULTS.strip().splitlines():
        section, *pairs = line.split()
        for pair in pairs:
            key, _, default = pair.partition("=")
            assert str(getattr(getattr(settings, section), key)) == default, f"{section}.{key}"
    assert settings.data.base_dir == Path.cwd()
    assert all(getattr(settings, section).options == {} for section in WITH_OPTIONS)


def test_there_is_no_key_beyond_the_documented_ones():
    documented = {"data.base_dir", "hooks.audit_key"}
    for line in DEFAULTS.strip().splitlines():
        section, *pairs = line.split()
        documented |= {f"{section}.{pair.partition('=')[0]}" for pair in pairs}
    assert {origin.key for origin in Settings().origins()} == documented


def test_audit_folders_lie_in_the_users_own_folders(tmp_path):
    hooks = Settings().hooks
    assert hooks.audit_key == tmp_path / "config" / "datamind" / "keys"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names the folders of Linux")
def test_audit_folders_without_xdg_variables_and_with_a_relative_one(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    hooks = Settings().hooks
    assert hooks.audit_key == tmp_path / ".config/datamind/keys"


def test_b28_each_level_wins_over_the_ones_below_it(clean, monkeypatch):
    assert Settings().llm.model == "claude-sonnet-4-6"
    write_toml(clean, '[llm]\nmodel = "from-file"\n')
    assert Settings().llm.model == "from-file"
    (clean / ".env").write_text("DATAMIND__LLM__MODEL=from-dotenv\n")
    assert Settings().llm.model == "from-dotenv"
    monkeypatch.setenv("DATAMIND__LLM__MODEL", "from-env")
    assert Settings().llm.model == "from-env"
    flags = {"llm.model": "from-flag"}
    assert Settings.load(flags).llm.model == "from-flag"
    assert Settings.load(flags, llm={"model": "from-call"}).llm.model == "from-call"


def test_b28_an_empty_variable_is_not_set(clean, monkeypatch):
    write_toml(clean, '[llm]\nmodel = "from-file"\n')
    for empty in ("", "  "):
        monkeypatch.setenv("DATAMIND__LLM__MODEL", empty)
        assert Settings().llm.model == "from-file"


def test_precedence_holds_per_key_not_per_section(tmp_path, monkeypatch):
    monkeypatch.setenv("DATAMIND__DATA__BASE_DIR", str(tmp_path / "elsewhere"))
    settings = Settings(data={"profile": "x"})
    assert settings.data.profile == "x"
    assert settings.data.base_dir == tmp_path / "elsewhere"
    assert settings.data.data_dir == tmp_path / "elsewhere/data/profiles/x"
    assert settings.data.storage_dir == tmp_path / "elsewhere/storage/x"


def test_options_are_merged_per_option(clean, monkeypatch):
    write_toml(clean, '[kb.options]\na = "file"\nb = "file"\nc = "file"\nd.deep = 1\n')
    monkeypatch.setenv("DATAMIND__KB__OPTIONS__B", "env")
    settings = Settings(kb={"options": {"c": "call"}})
    assert settings.kb.options == {"a": "file", "b": "env", "c": "call", "d": {"deep": 1}}


def test_the_profile_file_follows_profile_and_base_dir(tmp_path, monkeypatch):
    write_toml(tmp_path / "one", '[llm]\nmodel = "one-default"\n')
    write_toml(tmp_path / "one", '[llm]\nmodel = "one-x"\n', "x")
    write_toml(tmp_path / "two", '[llm]\nmodel = "two-x"\n', "x")
    monkeypatch.setenv("DATAMIND__DATA__BASE_DIR", str(tmp_path / "one"))
    assert Settings().llm.model == "one-default"
    assert Settings.load({"data.profile": "x"}).llm.model == "one-x"
    assert Settings.load({"data.profile": "x"}, data={"base_dir": tmp_path / "two"}).llm.model == "two-x"
    assert Settings(data={"profile": "y"}).llm.model == "claude-sonnet-4-6"


@pytest.mark.parametrize("line", ['profile = "other"', 'base_dir = "/elsewhere"'])
def test_a_profile_file_cannot_move_itself(clean, line):
    path = write_toml(clean, f"[data]\n{line}\n")
    message = refusal()
    assert f"data.{line.split()[0]} ({path}) cannot be set in a profile file" in message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[llm\n", "is not valid TOML"),
        (b"[llm]\nmodel = '\xff'\n", "cannot be read"),
        (b"llm = 3\n", "must be a table of settings"),
        (b"[lmm]\nmodel = 'x'\n", "did you mean the section llm?"),
        (b"[retrieval]\ntop-k = 3\n", "did you mean retrieval.top_k?"),
        (b"[retrieval]\ntop_k = 0\n", "must be at least 1"),
    ],
)
def test_a_wrong_profile_file_is_named_in_one_line(clean, content, expected):
    path = write_toml(clean, "")
    path.write_bytes(content)
    message = refusal()
    assert expected in message
    assert str(path) in message
    assert "\n" not in message


def test_a_profile_file_may_begin_with_a_byte_order_mark(clean):
    write_toml(clean, "").write_bytes(b"\xef\xbb\xbf[llm]\nmodel = 'x'\n")
    assert Settings().llm.model == "x"


def test_an_empty_value_means_none(clean, monkeypatch):
    write_toml(clean, '[hooks]\naudit_key = ""\nrequired = ""\n[embedding]\nmodel = "other"\n')
    settings = Settings.load({"embedding.model": ""})
    assert settings.hooks.audit_key is None
    assert settings.hooks.required == ()
    assert settings.embedding.model is None
    assert refusal(llm={"model": ""}) == ("llm.model (in the call) needs a value; leave it out to get the default.")


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("retrieval.top_k", -3, "must be at least 1"),
        ("retrieval.chunk_size", 0, "must be at least 1"),
        ("retrieval.chunk_overlap", -1, "must be at least 0"),
        ("db.row_limit", -1, "must be at least 1"),
        ("agent.max_turns", 0, "must be at least 1"),
        ("agent.max_tool_calls", 0, "must be at least 1"),
        ("agent.max_cost_usd", 0, "must be more than 0"),
        ("agent.wall_clock_timeout_s", float("nan"), "must be a finite number"),
        ("llm.max_tokens", 0, "must be at least 1"),
        ("llm.temperature", 3, "must be at most 2"),
        ("llm.timeout_s", 0, "must be more than 0"),
        ("llm.api_base", "ftp://host", "must be a URL such as https://host/v1"),
        ("llm.api_base", "http://[", "must be a URL such as https://host/v1"),
        ("embedding.batch_size", 0, "must be at least 1"),
        ("retrieval.top_k", True, "must be a number, not true or false"),
        ("retrieval.top_k", "many", "must be a whole number"),
        ("retrieval.rerank", "perhaps", "must be true or false"),
        ("ingest.max_bytes", 0, "must be at least 1 byte"),
        ("ingest.max_bytes", "3XB", "must be a size such as"),
        ("ingest.max_bytes", -1, "must be a number of bytes or a size such as 2GiB"),
        ("ingest.max_bytes", float("inf"), "must be a number of bytes or a size such as 2GiB"),
        ("ingest.max_bytes", "9" * 400 + ".0GiB", "must be a number of bytes or a size such as 2GiB"),
        ("ingest.max_bytes", "1,000,000", "must be a number of bytes or a size such as 2GiB"),
        ("ingest.max_bytes", "2GiB or so", "must be a number of bytes or a size such as 2GiB"),
        ("ingest.max_bytes", True, "must be a number of bytes or a size such as 2GiB"),
        ("logging.level", "loud", "must be one of 'debug', 'info', 'warning' or 'error'"),
        ("hooks.required", 5, "must be a list"),
        ("hooks.required", '["a"', "must be items between commas, or a JSON array"),
        ("logging.file", "~no-such-user/x", "cannot be resolved"),
        ("kb.backend", 5, "must be text"),
        ("kb.backend", None, "needs a value"),
    ],
)
def test_a61_a_value_out_of_bounds_is_refused_in_one_line(key, value, reason):
    section, name = key.split(".")
    message = refusal(**{section: {name: value}})
    assert message.startswith(key)
    assert reason in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"retrieval": {"chunk_size": 64}}, "retrieval.chunk_overlap = 64 must be less than retrieval.chunk_size = 64"),
        ({"agent": {"wall_clock_timeout_s": 20}}, "agent.finalization_reserve_s = 20 must be less than"),
        ({"retrieval": {"rerank": True}}, "needs a reranker; set retrieval.rerank_model"),
        ({"retrieval": {"rerank_model": "acme"}}, "does nothing alone; set retrieval.rerank = true too"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(call, expected):
    assert expected in refusal(**call)


def test_a69_settings_that_cannot_act_are_refused_with_the_reason():
    assert "db.read_only = False (in the call) is rejected: there is no SQL write tool" in refusal(
        db={"read_only": False}
    )
    assert "skills.code_skills = True (in the call) is rejected" in refusal(skills={"code_skills": True})
    assert "graph.embed_entities = True (in the call) is rejected" in refusal(graph={"embed_entities": True})
    assert "memory.long_term_enabled = False (in the call) is rejected" in refusal(memory={"long_term_enabled": False})
    assert Settings(db={"read_only": True}, skills={"code_skills": False}).db.read_only


@pytest.mark.parametrize(
    "key",
    [
        *("llm.fallback_model", "llm.fallback_protocol", "llm.tool_mode", "ingest.retention_days"),
        *("hooks.audit_anchor", "hooks.destructive_sql", "server.port", "server.keys"),
    ],
)
def test_a69_a_setting_of_what_does_not_exist_yet_is_unknown(key):
    section, _, name = key.partition(".")
    assert re.search(rf"{section}(\.{name})? \(in the call\) is not a setting", refusal(**{section: {name: "1"}}))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"llm": {"modle": "x"}}, "llm.modle (in the call) is not a setting; did you mean llm.model?"),
        ({"llm": {"max_turns": 3}}, "did you mean agent.max_turns?"),
        ({"llm": {"base_url": "x"}}, "llm has: api_base, api_key, protocol,"),
        ({"llm": {"options.": "x"}}, "llm.options. (in the call) is not a setting"),
        ({"data": {"options": {}}}, "data.options (in the call) is not a setting"),
        ({"model": "x"}, "did you mean llm.model?"),
        ({"retreival": {}}, "did you mean the section retrieval?"),
        ({"zzz": {}}, "sections are: llm, embedding, retrieval,"),
        ({"llm": "x"}, "llm (in the call) must be a table of settings."),
        ({"kb": {"options": 3}}, "kb.options (in the call) must be a table of options."),
        ({"kb": {"options": "[1]"}}, "kb.options (in the call) must be a JSON object"),
    ],
)
def test_a61_an_unknown_key_suggests_the_right_one(call, expected):
    assert expected in refusal(**call)


def test_an_unknown_flag_suggests_the_right_one():
    with pytest.raises(ConfigError, match=r"retrieval\.topk \(on the command line\).*did you mean retrieval\.top_k\?"):
        Settings.load({"retrieval.topk": "3"})


def test_every_mistake_is_reported_at_once(clean, monkeypatch):
    write_toml(clean, "[db]\nrow_limit = 0\n")
    monkeypatch.setenv("DATAMIND__LLM__MODLE", "x")
    lines = refusal(retrieval={"top_k": 0, "chunk_size": 0}, lmm={}).splitlines()
    assert lines[0] == "5 mistakes in the settings:"
    assert len(lines) == 6


def test_a_long_value_is_shortened():
    assert len(refusal(llm={"max_tokens": "7x" * 500})) < 150


@pytest.mark.parametrize("size", ["2GiB", "2147483648", 2147483648, "2048 MiB"])
def test_sizes_are_bytes_or_text(size):
    assert Settings(ingest={"kb_max_bytes": size}).ingest.kb_max_bytes == 2 * 1024**3


def test_text_becomes_lists(tmp_path, monkeypatch):
    monkeypatch.setenv("DATAMIND__HOOKS__REQUIRED", "a, b,")
    monkeypatch.setenv("DATAMIND__PLUGINS__BLOCK", '["k,1", "k2"]')
    monkeypatch.setenv("DATAMIND__HOOKS__PATH_ALLOWLIST_EXTRA", f"{tmp_path},sub")
    settings = Settings()
    assert settings.hooks.required == ("a", "b")
    assert settings.plugins.block == ("k,1", "k2")
    assert settings.hooks.path_allowlist_extra == (tmp_path, Path.cwd() / "sub")


def test_a_section_object_counts_only_what_was_set(monkeypatch):
    monkeypatch.setenv("DATAMIND__LLM__MAX_TOKENS", "7")
    settings = Settings(llm=LlmSettings(model="x"))
    assert (settings.llm.model, settings.llm.max_tokens) == ("x", 7)


def test_a_section_object_alone_fails_as_clearly():
    with pytest.raises(ConfigError) as caught:
        LlmSettings(max_tokens=0, modle="x")
    assert str(caught.value).splitlines()[1:] == [
        "  llm.max_tokens = 0 must be at least 1.",
        "  llm.modle is not a setting; did you mean llm.model?",
    ]
    assert caught.value.__context__ is None


def test_settings_are_immutable_and_can_be_copied_and_sent():
    settings = Settings(llm={"model": "x", "api_key": "k-1"})
    with pytest.raises(Exception, match="frozen"):
        settings.llm.model = "y"
    for twin in (copy.deepcopy(settings), pickle.loads(pickle.dumps(settings))):
        assert twin == settings
        assert twin.origins() == settings.origins()


def test_origins_say_where_each_value_was_set(clean, monkeypatch):
    path = write_toml(clean, '[db]\nrow_limit = 7\n[kb.options]\npath = "p"\n')
    (clean / ".env").write_text("DATAMIND__RETRIEVAL__TOP_K=9\n")
    monkeypatch.setenv("DATAMIND__RETRIEVAL__STRATEGY", "lexical")
    settings = Settings.load({"agent.max_turns": "1"}, llm={"model": "x"})
    rows = {row.key: (row.value, str(row.origin), row.where) for row in settings.origins()}
    assert rows["llm.model"] == ("x", "call", "")
    assert rows["agent.max_turns"] == (1, "flag", "")
    assert rows["retrieval.strategy"] == ("lexical", "env", "DATAMIND__RETRIEVAL__STRATEGY")
    assert rows["retrieval.top_k"] == (9, ".env", f"DATAMIND__RETRIEVAL__TOP_K in {clean / '.env'}")
    assert rows["db.row_limit"] == (7, "profile file", str(path))
    assert rows["kb.options.path"] == ("p", "profile file", str(path))
    assert rows["ingest.max_bytes"] == (2147483648, "default", "")


SECRET_CALL = {
    "llm": {"api_key": "canary-1", "options": {"extra_token": "canary-2", "nested": {"password": "canary-3"}}},
    "embedding": {"api_key": "canary-4"},
    "graph": {"dsn": "http://u:canary-5@host/q"},
    "db": {"dsn": "postgresql://u:canary-6@host/d", "read_dsn": "postgresql://r:canary-7@host/d"},
    "memory": {"dsn": "postgresql://u:canary%2D8@host/m", "options": {"proxy": "http://u:canary-9@p/"}},
}


def test_b27_no_secret_is_shown():
    settings = Settings(**SECRET_CALL)
    shown = f"{settings!r} {settings} {settings.llm!r} {settings.origins()} {vars(settings)} {settings._sources}"
    assert "canary" not in shown
    values = {row.key: row.value for row in settings.origins()}
    assert values["llm.api_key"] == "**********"
    assert values["memory.options.proxy"] == "http://**********@p/"


def test_b27_the_redactor_learns_every_secret():
    secrets = Settings(**SECRET_CALL).secrets()
    assert {f"canary-{number}" for number in range(1, 10)} <= secrets
    assert "canary%2D8" in secrets
    assert "postgresql://u:canary-6@host/d" in secrets
    assert Settings().secrets() == frozenset()


@pytest.mark.parametrize(
    "call",
    [
        {"llm": {"api_key": ["canary"]}},
        {"db": {"dsn": {"canary": 1}}},
        {"kb": {"options": "canary"}},
        {"llm": {"api_base": "http://canary:x@host"}},
        {"llm": {"api_base": "http://canary" + "x" * 200 + ":x@host/" + "y" * 200}},
        {"llm": {"api_base": {"url": "http://canary:x@host"}}},
        {"llm": {"canary_key": "canary-value"}},
    ],
)
def test_b27_a_refused_secret_is_not_quoted(call):
    with pytest.raises(ConfigError) as caught:
        Settings(**call)
    trace = "".join(traceback.format_exception(caught.value)).replace("canary_key", "")
    assert "canary" not in trace.split("ConfigError:", 1)[1]


def test_a70_no_default_names_a_remote_host():
    values = [str(row.value) for row in Settings().origins()]
    assert not [value for value in values if "://" in value]


def test_a_profile_file_that_was_written_is_read(clean):
    write_profile_file(Profile("default", clean), {"llm.model": "saved"})
    assert Settings().llm.model == "saved"


def test_importing_the_package_loads_no_pydantic():
    code = (
        "import sys, datamind.config as c; c.Profile; assert not [m for m in sys.modules if m.startswith('pydantic')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_loads():
    import datamind.config

    assert all(getattr(datamind.config, name) is not None for name in datamind.config.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Setings'"):
        datamind.config.Setings  # noqa: B018
