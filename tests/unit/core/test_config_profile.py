"""Profiles: the name rule, the two folders, and what the file system refuses."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from datamind.config import Profile, Settings, list_profiles
from datamind.core.errors import ConfigError


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.upper().startswith("DATAMIND")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


BAD_NAMES = ["../../etc", "/abs", "", "..", ".", "a/b", "a\\b", "Demo", "-x", "con", "a" * 65, "ä", "a\n", "a b"]


@pytest.mark.parametrize("name", [*BAD_NAMES, "_shared"])
def test_a17_a_profile_name_outside_the_rule_is_rejected(tmp_path, name):
    with pytest.raises(ConfigError, match=r"data\.profile.*(is not allowed; use 1 to 64|needs a value)"):
        Settings(data={"profile": name})
    if name != "_shared":
        with pytest.raises(ConfigError, match=r"profile name .* is not allowed; use 1 to 64"):
            Profile(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_two_folders_move_in_lockstep(tmp_path):
    profile = Profile.of(Settings(data={"profile": "demo-1", "base_dir": tmp_path}))
    assert profile.data_dir == tmp_path / "data/profiles/demo-1"
    assert profile.storage_dir == tmp_path / "storage/demo-1"
    assert profile.settings_file == tmp_path / "data/profiles/demo-1/datamind.toml"
    shared = Profile.shared(Settings(data={"profile": "demo-1", "base_dir": tmp_path}))
    assert shared.storage_dir == tmp_path / "storage/_shared"


def test_base_dir_becomes_absolute_and_follows_links(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Profile("x", Path("link/../link")).base_dir == tmp_path / "real"
    settings = Settings(data={"base_dir": "link"})
    monkeypatch.chdir("/")
    assert settings.data.base_dir == tmp_path / "real"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Settings(data={"base_dir": "~/real"}).data.base_dir == tmp_path / "real"


@pytest.mark.parametrize("folder", ["lib/site-packages/datamind", "lib/dist-packages"])
def test_a70_data_never_goes_among_installed_packages(tmp_path, monkeypatch, folder):
    inside = tmp_path / folder
    inside.mkdir(parents=True)
    (tmp_path / "innocent").symlink_to(inside)
    for base_dir in (inside, tmp_path / "innocent"):
        with pytest.raises(ConfigError, match=r"lies among installed packages; set data\.base_dir"):
            Settings(data={"base_dir": base_dir})
        with pytest.raises(ConfigError, match="lies among installed packages"):
            Profile("x", base_dir)
    monkeypatch.chdir(inside)
    with pytest.raises(ConfigError, match="lies among installed packages"):
        Settings()


def test_a_working_directory_that_is_gone_is_one_clear_line(tmp_path):
    code = (
        "import os, tempfile\n"
        "from datamind.config import Settings\n"
        "from datamind.core.errors import ConfigError\n"
        "gone = tempfile.mkdtemp(); os.chdir(gone); os.rmdir(gone)\n"
        "try: Settings()\n"
        "except ConfigError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "data.base_dir" in done.stdout
    assert "cannot be resolved" in done.stdout


def test_ensure_creates_storage_for_its_owner_alone(tmp_path):
    before = os.umask(0o022)
    try:
        profile = Profile("demo", tmp_path / "new")
        profile.ensure()
        profile.ensure()
    finally:
        os.umask(before)
    assert stat.S_IMODE(profile.storage_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE(profile.storage_dir.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(profile.data_dir.stat().st_mode) == 0o755


def test_the_shared_profile_has_storage_alone(tmp_path):
    shared = Profile("_shared", tmp_path)
    shared.ensure()
    assert shared.storage_dir.is_dir()
    assert not shared.data_dir.exists()


def test_a_file_in_the_way_is_one_clear_line(tmp_path):
    (tmp_path / "storage").write_text("in the way")
    with pytest.raises(ConfigError, match=r"folder '.*storage' cannot be used \(.+\); set data.base_dir") as caught:
        Profile("demo", tmp_path).ensure()
    assert "\n" not in str(caught.value)


def test_a_base_dir_that_is_a_file_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    settings = Settings(data={"base_dir": tmp_path / "file"})
    with pytest.raises(ConfigError, match="cannot be used"):
        Profile.of(settings).ensure()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that not even root can write to")
def test_a_read_only_folder_is_one_clear_line():
    with pytest.raises(ConfigError, match=r"cannot be used \(.+\); set data.base_dir to a folder you can write to"):
        Profile("demo", Path("/proc/self")).ensure()


def test_a_storage_folder_that_cannot_be_written_to_is_one_clear_line(open_folder):
    Profile("demo", open_folder).ensure()
    (open_folder / "storage").chmod(0o755)
    (open_folder / "storage/demo").chmod(0o555)
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from datamind.config import Profile\n"
        "from datamind.core.errors import ConfigError\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "try: Profile('demo', Path(sys.argv[1])).ensure()\n"
        "except ConfigError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(open_folder)], capture_output=True, text=True)
    assert "cannot be used (it is not writable)" in done.stdout, done.stderr


def test_list_profiles_finds_both_kinds_of_folder(tmp_path):
    Profile("beta", tmp_path).ensure()
    (tmp_path / "storage" / "alpha").mkdir()
    (tmp_path / "storage" / "_shared").mkdir()
    (tmp_path / "data" / "profiles" / "Not A Profile").mkdir()
    (tmp_path / "data" / "profiles" / "file").write_text("")
    assert list_profiles(tmp_path) == [Profile("alpha", tmp_path), Profile("beta", tmp_path)]
    assert list_profiles(tmp_path / "nothing") == []
