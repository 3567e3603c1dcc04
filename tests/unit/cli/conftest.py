"""The command in this process, over real stores in a folder of its own; only the model is scripted."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from datamind_cli.main import cli
from tests.support.cli import install_scripted_model

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def scripted_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    install_scripted_model(site)
    return site


@pytest.fixture
def light_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the engines of tables, of the graph and of vectors, as where they are not installed."""
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "db-duckdb,graph-rdflib,embed-local")


@pytest.fixture
def scripted(scripted_site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model, and a KB store that is installed."""
    monkeypatch.syspath_prepend(str(scripted_site))
    monkeypatch.setenv("DATAMIND__LLM__PROTOCOL", "scripted")
    monkeypatch.setenv("DATAMIND__KB__BACKEND", "memory")


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    logger = logging.getLogger("datamind")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.level, logger.propagate = before


@pytest.fixture
def run() -> Run:
    """Run one command line; the result has stdout, stderr and the exit code."""

    def run_cli(*arguments: str, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(cli, arguments, input=stdin)

    return run_cli


@pytest.fixture
def run_json(run: Run) -> Callable[..., Any]:
    """Run one command line with --json, which must succeed, and read what it prints."""

    def read(*arguments: str) -> Any:
        result = run(*arguments, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return read
