"""What every test shares: the members of the workspace, and a user directory that is nobody's."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
VENDOR_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL")

# A shell that starts a job in the background has it ignore Ctrl-C, and every process the job starts inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A deadline per example would measure the machine, not the code.
settings.register_profile("datamind", deadline=None, print_blob=True)
if not os.environ.get("CI"):  # hypothesis chooses its own `ci` profile there: no deadline, the same examples each run
    settings.load_profile("datamind")


@dataclass(frozen=True)
class Member:
    """One distribution of the workspace."""

    name: str

    @property
    def folder(self) -> Path:
        return ROOT / self.name

    @cached_property
    def pyproject(self) -> dict[str, Any]:
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))

    @property
    def project(self) -> dict[str, Any]:
        return self.pyproject["project"]

    @property
    def package(self) -> Path:
        """The folder of the one top-level package this distribution owns."""
        (package,) = self.pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
        return self.folder / package

    @property
    def plugins(self) -> dict[str, str]:
        """Its entry points of the group `datamind`: name to module."""
        return self.project.get("entry-points", {}).get("datamind", {})

    def modules(self) -> Iterator[tuple[str, Path]]:
        """Every module as dotted name and file."""
        for path in sorted(self.package.rglob("*.py")):
            parts = path.relative_to(self.package.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@dataclass(frozen=True)
class Workspace:
    root: Path
    pyproject: dict[str, Any]
    members: tuple[Member, ...]


def _read_workspace() -> Workspace:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return Workspace(ROOT, pyproject, tuple(Member(name) for name in pyproject["tool"]["datamind"]["members"]))


WORKSPACE = _read_workspace()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `member` or `plugin_module` runs once for each."""
    if "member" in metafunc.fixturenames:
        metafunc.parametrize("member", WORKSPACE.members, ids=lambda member: member.name)
    if "plugin_module" in metafunc.fixturenames:
        metafunc.parametrize("plugin_module", [m for member in WORKSPACE.members for m in member.plugins.values()])


@pytest.fixture(scope="session")
def workspace() -> Workspace:
    return WORKSPACE


@pytest.fixture(scope="session")
def user_dirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    base = tmp_path_factory.mktemp("user")
    return (base / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, user_dirs: Iterator[Path]) -> None:
    """No test sees the settings, keys or user directories of whoever runs it, nor those of another test."""
    for name in [name for name in os.environ if name.upper().startswith("DATAMIND")] + list(VENDOR_KEYS):
        monkeypatch.delenv(name, raising=False)
    home = next(user_dirs)
    for kind in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter: pytest's own ones are for one user alone."""
    folder = Path(tempfile.mkdtemp(prefix="datamind-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
