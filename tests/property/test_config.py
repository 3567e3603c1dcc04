"""What holds for any setting: precedence, messages without secrets, files that read back equal."""

import os
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from datamind.config import Profile, Settings, describe_settings
from datamind.config.toml import format_toml
from datamind.core.errors import ConfigError

KEYS = [row.key for row in describe_settings()]
PLAIN_TEXT_KEYS = [
    row.key
    for row in describe_settings()
    if row.type == "text"
    and row.key.split(".")[1]
    in (
        "model",
        "backend",
        "strategy",
        "dialect",
        "host",
        "lexical",
        "provider",
    )
]
SECRET_KEYS = [row.key for row in describe_settings() if "secret" in row.type]
words = st.text("abcdefghij-_", min_size=1, max_size=8)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
LEVELS = ["call", "flag", "env", ".env", "profile file"]


def isolated(variables: dict[str, str]):
    inherited = {name: value for name, value in os.environ.items() if not name.upper().startswith("DATAMIND")}
    return patch.dict(os.environ, {**inherited, **variables}, clear=True)


def variable(key: str) -> str:
    return "DATAMIND__" + key.upper().replace(".", "__")


@given(st.dictionaries(st.tuples(st.sampled_from(LEVELS), st.sampled_from(PLAIN_TEXT_KEYS)), words, max_size=20))
@settings(max_examples=60, deadline=None)
def test_b28_each_key_takes_the_highest_level_that_has_it(given_values):
    at = {level: {key: text for (where, key), text in given_values.items() if where == level} for level in LEVELS}
    with TemporaryDirectory() as folder, isolated({variable(key): text for key, text in at["env"].items()}):
        before = Path.cwd()
        os.chdir(folder)
        try:
            Path(".env").write_text("".join(f"{variable(key)}={text}\n" for key, text in at[".env"].items()))
            path = Profile("default", Path()).settings_file
            path.parent.mkdir(parents=True)
            path.write_text(format_toml(nested(at["profile file"])))
            found = {row.key: row for row in Settings.load(at["flag"], **nested(at["call"])).origins()}
        finally:
            os.chdir(before)
    for key in PLAIN_TEXT_KEYS:
        level = next((level for level in LEVELS if key in at[level]), "default")
        assert found[key].origin == level
        assert level == "default" or found[key].value == at[level][key]


def nested(values: dict[str, str]) -> dict[str, dict[str, str]]:
    tables: dict[str, dict[str, str]] = {}
    for key, value in values.items():
        section, name = key.split(".")
        tables.setdefault(section, {})[name] = value
    return tables


@given(st.dictionaries(st.sampled_from(KEYS), texts, max_size=6), st.sampled_from(["env", "flag", "call"]))
@settings(max_examples=300, deadline=None)
def test_any_text_anywhere_gives_settings_or_one_config_error(values, level):
    with isolated({variable(key): text for key, text in values.items()} if level == "env" else {}):
        try:
            if level == "call":
                Settings(**nested(values))
            else:
                Settings.load(values if level == "flag" else {})
        except ConfigError as error:
            assert error.__context__ is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(KEYS), json_values, max_size=6))
@settings(max_examples=300, deadline=None)
def test_any_value_in_a_call_gives_settings_or_one_config_error(values):
    with isolated({}):
        try:
            Settings(**nested(values)).origins()
        except ConfigError as error:
            assert error.__context__ is None


@given(st.sampled_from(SECRET_KEYS), json_values, st.sampled_from(["", "{", "[", '["', ",", "http://"]))
@settings(max_examples=200, deadline=None)
def test_b27_no_value_of_a_secret_is_ever_shown(key, value, prefix):
    canary = f"{prefix}kanarie{value if isinstance(value, str) else ''}"
    for given_value in (canary, [canary], {canary: 1}, [[canary]], [canary, value]):
        with isolated({}):
            try:
                read = Settings(**nested({key: given_value}))
            except ConfigError as error:
                assert "kanarie" not in str(error)
            else:
                assert "kanarie" not in f"{read!r} {read.origins()}"
                assert any("kanarie" in text for text in read.secrets())


toml_values = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False) | texts | st.datetimes() | st.dates() | st.times(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(texts, st.dictionaries(texts, toml_values, max_size=4), max_size=4))
@settings(max_examples=300, deadline=None)
def test_what_is_written_as_toml_reads_back_equal(tables):
    expected = {name: without_empty_tables(table) for name, table in tables.items()}
    assert tomllib.loads(format_toml(tables)) == {name: table for name, table in expected.items() if table}


def without_empty_tables(table):
    return {key: value for key, value in table.items() if value != {}}


@given(st.text(max_size=70) | st.text("ab/.\\~-_:0", max_size=10))
@settings(max_examples=300, deadline=None)
def test_a17_no_name_leads_out_of_the_base_folder(name):
    base = Path("/base")
    try:
        profile = Profile(name, base)
    except ConfigError:
        return
    assert profile.data_dir.resolve().parent == base / "data" / "profiles"
    assert profile.storage_dir.resolve().parent == base / "storage"
