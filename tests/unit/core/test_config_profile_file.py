"""Writing the profile file."""

import os
import stat
import tomllib
from pathlib import Path

import pytest
from pydantic import SecretStr

from datamind.config import Profile, Settings, write_profile_file
from datamind.core.errors import ConfigError


@pytest.fixture
def profile(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.upper().startswith("DATAMIND")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return Profile("demo", tmp_path)


def settings(profile: Profile) -> Settings:
    return Settings(data={"profile": profile.name, "base_dir": profile.base_dir})


def test_what_is_written_is_what_settings_read(profile):
    path = write_profile_file(
        profile,
        {
            "llm.model": 'quo"te\\ 模型 \x7f',
            "llm.api_key": SecretStr("sk-test"),
            "llm.temperature": 0.5,
            "retrieval.top_k": 3,
            "hooks.required": ("a", "b"),
            "hooks.path_allowlist_extra": [Path("/x")],
            "hooks.audit_log": False,
            "kb.options.nested": {"a b": [1, {"c": True}]},
            "ingest.max_bytes": "1GiB",
        },
    )
    assert path == profile.settings_file
    read = settings(profile)
    assert read.llm.model == 'quo"te\\ 模型 \x7f'
    assert read.llm.api_key.get_secret_value() == "sk-test"
    assert (read.llm.temperature, read.retrieval.top_k, read.ingest.max_bytes) == (0.5, 3, 1024**3)
    assert (read.hooks.required, read.hooks.path_allowlist_extra) == (("a", "b"), (Path("/x"),))
    assert not read.hooks.audit_log
    assert read.kb.options == {"nested": {"a b": [1, {"c": True}]}}


def test_the_file_is_for_its_owner_alone(profile):
    path = write_profile_file(profile, {"llm.api_key": "sk-test"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_other_values_and_the_first_comment_stay(profile):
    profile.data_dir.mkdir(parents=True)
    profile.settings_file.write_text(
        '# mine\n# too\n\n[llm]\nmodel = "a" # lost\nmax_tokens = 9\n[kb.options]\nx = 1979-05-27\n'
    )
    write_profile_file(profile, {"llm.model": "b", "db.row_limit": 5})
    text = profile.settings_file.read_text()
    assert text.startswith("# mine\n# too\n\n[llm]\n")
    assert tomllib.loads(text) == {
        "llm": {"model": "b", "max_tokens": 9},
        "kb": {"options": {"x": tomllib.loads("x = 1979-05-27")["x"]}},
        "db": {"row_limit": 5},
    }


def test_a_new_file_explains_itself(profile):
    path = write_profile_file(profile, {"llm.model": "x"})
    assert path.read_text().startswith("# Settings of one profile.")
    write_profile_file(profile, {"llm.model": "y"})
    assert path.read_text().count("# Settings of one profile.") == 1


def test_none_removes_a_key(profile):
    write_profile_file(profile, {"llm.model": "x", "llm.max_tokens": 3, "db.row_limit": 4})
    write_profile_file(profile, {"llm.model": None, "db.row_limit": None, "agent.max_turns": None})
    assert tomllib.loads(profile.settings_file.read_text()) == {"llm": {"max_tokens": 3}}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"llm.modle": "x"}, "did you mean llm.model?"),
        ({"model": "x"}, "did you mean llm.model?"),
        ({"retrieval.top_k": 0}, "must be at least 1"),
        ({"data.profile": "other"}, "cannot be set in a profile file"),
        ({"db.read_only": False}, "is rejected"),
        ({"llm.model": "a\ud800"}, "cannot be written"),
        ({"kb.options.x": "a\ud800"}, "cannot be written"),
        ({"kb.options.x": object()}, "TOML has no form for object"),
    ],
)
def test_what_would_not_load_is_not_written(profile, values, expected):
    before = write_profile_file(profile, {"llm.model": "before"}).read_bytes()
    with pytest.raises(ConfigError) as caught:
        write_profile_file(profile, values)
    assert expected in str(caught.value)
    assert profile.settings_file.read_bytes() == before
    assert [path.name for path in profile.data_dir.iterdir()] == ["datamind.toml"]


def test_a_broken_file_is_not_overwritten(profile):
    profile.data_dir.mkdir(parents=True)
    for text, expected in [("[llm", "is not valid TOML"), ("llm = 3\n", "llm is a value in the profile file")]:
        profile.settings_file.write_text(text)
        with pytest.raises(ConfigError, match=expected):
            write_profile_file(profile, {"llm.model": "x"})
        assert profile.settings_file.read_text() == text


def test_a_wrong_value_can_be_mended(profile):
    profile.data_dir.mkdir(parents=True)
    profile.settings_file.write_text("[retrieval]\ntop_k = 0\n")
    write_profile_file(profile, {"retrieval.top_k": 4})
    assert settings(profile).retrieval.top_k == 4


def test_a_failed_replace_leaves_the_old_file_and_nothing_else(profile, monkeypatch):
    before = write_profile_file(profile, {"llm.model": "before"}).read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="No space left on device"):
        write_profile_file(profile, {"llm.model": "after"})
    assert profile.settings_file.read_bytes() == before
    assert [path.name for path in profile.data_dir.iterdir()] == ["datamind.toml"]


def test_the_content_is_synced_before_the_rename_and_the_folder_after_it(profile, monkeypatch):
    steps = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor):
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real_fsync(descriptor)

    def replace(source, target):
        steps.append("rename")
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    write_profile_file(profile, {"llm.model": "x"})
    assert steps == ["file", "rename", "folder"]


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path):
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(ConfigError, match="cannot be used"):
        write_profile_file(Profile("demo", tmp_path), {"llm.model": "x"})
