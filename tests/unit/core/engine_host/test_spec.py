"""What a child is started with."""

from __future__ import annotations

import subprocess
import sys

import pytest

from datamind.core.errors import ConfigError
from datamind.engine_host import EngineSpec
from datamind.engine_host.spec import child_command, child_environment


def test_g1_named_variables_alone_are_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    for name in ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "DATAMIND__LLM__API_KEY", "HOME", "PATH", "PYTHONPATH"):
        monkeypatch.setenv(name, "value-of-the-parent")
    environment = child_environment(EngineSpec("e", "m:f", environment={"MALLOC_ARENA_MAX": "2"}))
    assert environment["TZ"] == "Asia/Tokyo"
    assert environment["MALLOC_ARENA_MAX"] == "2"
    assert "value-of-the-parent" not in environment.values()


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "openai_api_key", "SSH_KEY", "GH_TOKEN", "APP_SECRET", "PGPASSWORD", "DB_DSN"),
        *("DATAMIND__DB__DIALECT", "datamind__db__dialect"),
    ],
)
def test_g1_a_variable_that_looks_like_a_secret_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' is not passed to a child"):
        EngineSpec("e", "m:f", environment={name: "x"})


def test_options_are_not_shown() -> None:
    assert "canary" not in repr(EngineSpec("e", "m:f", options={"dsn": "canary"}))


def test_paths_of_the_command_do_not_depend_on_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", "lib", "/abs"])
    assert all(path.startswith("/") for path in child_command(5)[-3:])


def test_a_start_loads_no_framework(tmp_path) -> None:
    code = "import datamind.engine_host.child, sys; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    loaded = set(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split())
    assert "datamind.engine_host.child" in loaded
    heavy = {
        "asyncio",
        "anyio",
        "pydantic",
        "dataclasses",
        "inspect",
        "threading",
        "subprocess",
        "logging",
        "traceback",
    }
    assert not loaded & heavy
