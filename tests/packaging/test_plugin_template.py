"""The example plugin, as an author outside this repository has it: from wheels, in an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "plugin-template"


def run(*command: str | Path, cwd: Path | None = None) -> str:
    result = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_example_plugin_is_built_installed_and_passes_its_own_tests(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    for member in ("datamind-core", "datamind-cli", "datamind-model-offline"):
        run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", dist, cwd=ROOT / member)
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", dist, cwd=EXAMPLE)
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    wheels = {path.name.partition("-")[0]: path for path in dist.glob("*.whl")}
    core = f"datamind-core[testing] @ {wheels.pop('datamind_core').as_uri()}"
    run(python, "-m", "pip", "install", "-q", "-c", ROOT / "requirements" / "constraints.txt", core, *wheels.values())
    empty = tmp_path / "work"
    empty.mkdir()
    assert "passed" in run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLE / "tests", cwd=empty)
    assert run(python, "-m", "datamind_cli", "letters", "Abba", cwd=empty).split() == ["a", "2", "b", "2"]
    assert "embed-letters" in run(python, "-m", "datamind_cli", "plugins", cwd=empty)
