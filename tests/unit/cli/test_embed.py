"""embed, and what ingest does about vectors."""

from __future__ import annotations

import pytest

from datamind.capabilities.embedding import hashing
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


@pytest.fixture(params=["memory", "lancedb"])
def backend(request, monkeypatch, scripted):
    monkeypatch.setenv("DATAMIND__KB__BACKEND", request.param)


def change_model(monkeypatch, **changes):
    """What the endpoint of an embedding does when another model is served there, under its own name or the old one."""
    monkeypatch.setattr(hashing, "DIM", changes.get("dim", hashing.DIM))
    monkeypatch.setattr(hashing, "_slot", hashing._slot.__wrapped__)
    monkeypatch.setattr(HashingEmbedding, "description", HashingEmbedding.description.model_copy(update=changes))


@pytest.mark.usefixtures("backend")
def test_a44_another_model_is_said_and_the_command_that_is_named_mends_it(run, run_json, note, monkeypatch):
    run("ingest", note, *HASHING)
    change_model(monkeypatch, model_id="another", dim=16)
    told = run_json("kb", "status", *HASHING)
    assert told["embedded"] == 0
    assert "`datamind embed` makes" in told["vectors"]
    assert run_json("embed", *HASHING)["embedded"] == 1
    assert run_json("kb", "status", *HASHING)["embedded"] == 1


@pytest.fixture
def on_lance(monkeypatch, scripted):
    monkeypatch.setenv("DATAMIND__KB__BACKEND", "lancedb")


@pytest.mark.usefixtures("on_lance")
def test_b32_a_model_of_another_dimension_under_its_name_goes_by_words_until_the_named_command_mends_it(
    run, run_json, note, home, monkeypatch
):
    run("ingest", note, *HASHING)
    change_model(monkeypatch, dim=16)
    told = run_json("kb", "status", *HASHING)
    assert (told["embedded"], told["chunks"]) == (0, 1)
    assert "have 256 dimensions, and it makes 16 now" in told["vectors"]
    assert "`datamind kb reindex --vectors`" in told["vectors"]
    (home / "ebb.md").write_text("The ebb lasts six hours.\n", encoding="utf-8")
    stored = run("ingest", "ebb.md", *HASHING)
    assert (stored.exit_code, "stored" in stored.stdout) == (0, True)
    assert run_json("kb", "reindex", "--vectors", *HASHING)["embedded"] == 2
    told = run_json("kb", "status", *HASHING)
    assert (told["embedded"], told["vectors"]) == (2, "")


@pytest.mark.usefixtures("on_lance")
def test_b32_vectors_of_another_dimension_are_refused_with_the_command(run, note, home, monkeypatch):
    run("ingest", note, *HASHING)
    change_model(monkeypatch, dim=16)
    (home / "ebb.md").write_text("The ebb lasts six hours.\n", encoding="utf-8")
    run("ingest", "--no-wait", "ebb.md", *HASHING)
    result = run("embed", *HASHING)
    assert result.exit_code == 1
    assert "have 256 dimensions, not 16" in result.stderr
    assert "`datamind kb reindex --vectors`" in result.stderr


def test_b32_a_store_in_memory_takes_no_kept_vector_of_another_dimension(run, run_json, note, monkeypatch):
    run("ingest", note, *HASHING)
    change_model(monkeypatch, dim=16)
    assert run_json("embed", *HASHING)["embedded"] == 1
    assert run_json("kb", "status", *HASHING)["embedded"] == 1


@pytest.mark.usefixtures("backend")
def test_b32_making_vectors_anew_goes_on_where_it_was_stopped(run, run_json, note, monkeypatch):
    run("ingest", note, *HASHING)
    change_model(monkeypatch, dim=16)
    result = run("kb", "reindex", "--vectors", "--no-wait", *HASHING)
    assert (result.exit_code, result.stdout) == (0, "1 passage without a vector: `datamind embed` makes them.\n")
    assert run_json("embed", *HASHING)["embedded"] == 1
    assert run_json("kb", "status", *HASHING)["vectors"] == ""


def test_without_a_model_no_vector_is_dropped(run, run_json, note, monkeypatch):
    run("ingest", note, *HASHING)
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "embed-local")
    result = run("kb", "reindex", "--vectors")
    assert result.exit_code == 5
    assert "no model to make vectors with" in result.stderr
    assert run_json("kb", "status", *HASHING)["embedded"] == 1
