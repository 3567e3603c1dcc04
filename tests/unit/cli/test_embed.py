"""embed, and what ingest does about vectors."""

from __future__ import annotations

import pytest

from datamind.capabilities.embedding.hashing import HashingEmbedding
from datamind.core.errors import ModelRefused

pytestmark = pytest.mark.usefixtures("scripted")

HASHING = ("--set", "embedding.provider=hashing")


@pytest.fixture
def note(home):
    (home / "tides.md").write_text("# Tides\n\nAll about tides.\n", encoding="utf-8")
    return "tides.md"


def test_ingest_waits_for_the_vectors(run, run_json, note):
    assert run("ingest", note, *HASHING).exit_code == 0
    assert run_json("embed", *HASHING) == {"embedded": 0, "remaining": 0, "refused": 0, "notice": None}


def test_no_wait_leaves_them_to_a_later_command(run, run_json, note):
    assert run("ingest", "--no-wait", note, *HASHING).exit_code == 0
    assert run_json("embed", *HASHING)["embedded"] == 1


def test_embed_says_what_it_did(run, note):
    run("ingest", "--no-wait", note, *HASHING)
    result = run("embed", *HASHING)
    assert (result.exit_code, result.stdout) == (0, "1 embedded\n")


def test_an_embedding_that_fails_leaves_the_file_stored_and_names_the_command(run, note, monkeypatch):
    async def refuse(self, texts):
        raise ModelRefused("the key is not valid")

    monkeypatch.setattr(HashingEmbedding, "embed_documents", refuse)
    result = run("ingest", note, *HASHING)
    assert result.exit_code == 0
    assert "stored" in result.stdout
    assert "the key is not valid" in result.stderr
    assert "1 wait: `datamind embed` goes on" in result.stdout
    assert run("embed", *HASHING).exit_code == 1


def test_when_the_time_is_up_embed_says_how_many_wait(run, note):
    run("ingest", "--no-wait", note, *HASHING)
    result = run("embed", "--timeout", "0", *HASHING)
    assert (result.exit_code, result.stdout) == (1, "0 embedded · 1 wait: `datamind embed` goes on\n")
