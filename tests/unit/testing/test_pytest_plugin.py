"""The plugin of pytest is light, and its fixtures work in a project of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ("pydantic", "anyio", "hypothesis", "datamind.core", "datamind.config", "datamind.plugins")

OPTIONS = ("-q", "-p", "no:cacheprovider", "--basetemp=temporary")

SUITE = """
from datamind.testing.models import ScriptedModel


def test_profile(datamind_profile, tmp_path):
    assert datamind_profile.name == "test"
    assert datamind_profile.storage_dir.is_dir()
    assert tmp_path in datamind_profile.data_dir.parents


async def test_model(datamind_model):
    datamind_model.add("hello")
    assert isinstance(datamind_model, ScriptedModel)
    assert datamind_model.remaining == 1


def test_others(datamind_decisions, datamind_clock):
    assert datamind_decisions.kinds == []
    assert datamind_clock.monotonic() == 0
"""


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_importing_it_loads_nothing_of_the_world(tmp_path):
    code = f"""
import sys, pytest
before = set(sys.modules)
import datamind.testing.pytest_plugin
new = set(sys.modules) - before
print(sorted(name for name in new if name.startswith({HEAVY!r})))
print(sorted(name for name in new if name.startswith("datamind")))
"""
    result = run("-c", code, cwd=tmp_path)
    assert result.stdout.splitlines() == ["[]", "['datamind', 'datamind.testing', 'datamind.testing.pytest_plugin']"]


def test_its_fixtures_are_there_in_any_project(tmp_path):
    (tmp_path / "test_plugin.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"
    )
    result = run("-m", "pytest", *OPTIONS, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "3 passed" in result.stdout


def test_a_failing_standard_test_shows_what_it_compared(tmp_path):
    (tmp_path / "test_suite.py").write_text(
        "from datamind.testing.conformance.embeddings import EmbeddingConformance\n"
        "from datamind.capabilities.embedding.hashing import HashingEmbedding\n\n\n"
        "class Wide(HashingEmbedding):\n"
        "    async def embed_documents(self, texts):\n"
        "        return await super().embed_documents([*texts, 'more'])\n\n\n"
        "class TestWide(EmbeddingConformance):\n"
        "    async def open_provider(self, folder, **dependencies):\n"
        "        return Wide()\n"
    )
    result = run("-m", "pytest", *OPTIONS, "-o", "asyncio_mode=strict", "-k", "test_g1_rows", cwd=tmp_path)
    assert result.returncode == 1
    assert "assert 1 == 0" in result.stdout


def test_models_and_fakes_need_neither_pytest_nor_hypothesis(tmp_path):
    code = """
import sys
sys.modules["pytest"] = sys.modules["hypothesis"] = None
import datamind.testing.models, datamind.testing.fakes, datamind.testing.gates, datamind.testing.kb_data
import datamind.testing.providers, datamind.testing.crash
"""
    result = run("-c", code, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
