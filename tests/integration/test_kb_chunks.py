"""Chunks that a user has cut already: one commit, one receipt, what is no chunk told by line and code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from datamind.capabilities.embedding.hashing import HashingEmbedding
from datamind.capabilities.kb.chunks import read_chunks
from datamind.core.errors import ModelOverloaded
from tests.support.systems import contents, open_system, read, status, write

BACKENDS = ("memory", "lancedb")
FERRY = {"id": "ferry", "text": "The last boat to Skarv leaves at 21:40.", "title": "Timetable", "source": "skarv.pdf"}
FARE = {"id": "fare", "text": "A crossing costs 184 crowns.", "source": "skarv.pdf", "metadata": {"year": 2026}}
BAKER = {"text": "The baker in Orrby opens at six."}


def lines_of(*rows: Any) -> bytes:
    return b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows) + b"\n"


def file_of(folder: Path, *rows: Any) -> Path:
    path = folder / "granted" / "cut.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lines_of(*rows))
    return path


def options(folder: Path, backend: str = "memory", **sections: Any) -> dict[str, Any]:
    return {"kb": {"backend": backend}, "hooks": {"path_allowlist_extra": [folder / "granted"]}, **sections}


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_file_of_chunks_is_one_receipt_and_each_chunk_is_found_as_it_was_cut(tmp_path, backend):
    long = {"id": "long", "text": "One sentence of many words about herons. " * 200}
    path = file_of(tmp_path, FERRY, FARE, BAKER, long)
    async with open_system(tmp_path, **options(tmp_path, backend)) as system:
        stored = await write(system, "kb_add_chunks", path=str(path))
        (receipt,) = stored.receipts
        assert (receipt.status, receipt.result.operation, receipt.result.items_written) == ("stored", "added", 4)
        assert receipt.source.uri.endswith("granted/cut.jsonl")
        assert receipt.read_back == "4 of 4 chunks found"
        (found,) = (await read(system, "kb_search", query="boat to Skarv", top_k=1)).evidence
        assert (found.content, found.source.uri) == (FERRY["text"], "chunk:skarv.pdf#ferry")
        assert (found.receipt_ids, found.note) == ((receipt.receipt_id,), "Timetable")
        assert contents(await read(system, "kb_search", query="timetable")) == [FERRY["text"]]
        assert contents(await read(system, "kb_search", query="herons")) == [long["text"]]


@pytest.mark.parametrize("backend", BACKENDS)
async def test_chunks_are_filtered_by_source_and_by_their_own_metadata(tmp_path, backend):
    async with open_system(tmp_path, **options(tmp_path, backend)) as system:
        stored = await write(system, "kb_add_chunks", chunks=[FERRY, FARE, BAKER])
        assert status(stored) == "stored"
        for filters, expected in (
            ({"source": "skarv.pdf"}, {FERRY["text"], FARE["text"]}),
            ({"metadata": {"year": 2026}}, {FARE["text"]}),
            ({"metadata": {"year": 2026.0}}, set()),
        ):
            found = await read(system, "kb_search", query="boat crossing baker", filters=filters)
            assert set(contents(found)) == expected


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a5_lines_that_are_no_chunk_are_skipped_and_told_by_line_and_code_alone(tmp_path, backend):
    path = file_of(
        tmp_path,
        FERRY,
        b'{"id": "x", "text": "secret \xff"}',
        b"secret, not json",
        b"",
        ["secret"],
        {**FARE, "id": "ferry"},
        {"id": "m", "text": "secret", "metadata": {"tags": ["a"]}},
        b'{"id": "n", "text": "secret", "metadata": {"n": NaN}}',
        {"id": "e", "text": "  "},
        {"id": "k", "text": "secret", "body": ""},
        {"id": "s", "text": "secret \ud800"},
        b"[" * 5_000,
        BAKER,
    )
    async with open_system(tmp_path, **options(tmp_path, backend)) as system:
        stored = await write(system, "kb_add_chunks", path=str(path))
        (receipt,) = stored.receipts
        assert (receipt.status, receipt.result.items_written) == ("partial", 2)
        detected = receipt.result.detected
        assert [(row.line, row.code) for row in detected.rejected] == [
            (2, "invalid_encoding"),
            (3, "invalid_json"),
            (5, "not_an_object"),
            (6, "repeated_id"),
            (7, "invalid_metadata"),
            (8, "invalid_metadata"),
            (9, "no_text"),
            (10, "unknown_key"),
            (11, "invalid_encoding"),
            (12, "invalid_json"),
        ]
        assert detected.rejected_total == 10
        assert "secret" not in receipt.model_dump_json()
        assert contents(await read(system, "kb_search", query="secret")) == []
        assert contents(await read(system, "kb_search", query="boat")) == [FERRY["text"]]


async def test_a5_nothing_is_stored_of_a_file_without_one_good_line(tmp_path):
    path = file_of(tmp_path, b"nothing", {"text": ""})
    async with open_system(tmp_path, **options(tmp_path)) as system:
        stored = await write(system, "kb_add_chunks", path=str(path))
        (receipt,) = stored.receipts
        assert receipt.result.error.code == "input_invalid.no_chunks"
        assert "line 1: invalid_json; line 2: no_text" in receipt.result.error.message
        assert (await read(system, "kb_count")).data["documents"] == 0


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a5_chunks_are_stored_and_indexed_anew_while_the_embedder_is_down(tmp_path, monkeypatch, backend):
    async def down(self, *texts):
        raise ModelOverloaded("no route to the gateway", retryable=False)

    monkeypatch.setattr(HashingEmbedding, "embed_documents", down)
    monkeypatch.setattr(HashingEmbedding, "embed_query", down)
    chosen = options(tmp_path, backend, embedding={"provider": "hashing"})
    async with open_system(tmp_path, **chosen) as system:
        assert status(await write(system, "kb_add_chunks", chunks=[FERRY, FARE])) == "stored"
        assert (await system.drain()).remaining == 2
        assert status(await write(system, "kb_reindex")) == "stored"
        found = await read(system, "kb_search", query="last boat")
        assert contents(found) == [FERRY["text"]]
        assert "words only" in found.evidence[0].score_meaning


@pytest.mark.parametrize("backend", BACKENDS)
async def test_the_same_again_is_unchanged_and_another_text_under_the_same_id_replaces(tmp_path, backend):
    later = {**FERRY, "text": "The last boat to Skarv leaves at 22:10."}
    async with open_system(tmp_path, **options(tmp_path, backend)) as system:
        for rows, expected in (
            ([FERRY, FARE], ("stored", "added", 2)),
            ([FERRY, FARE], ("unchanged", "none", 0)),
            ([later, FARE, BAKER], ("stored", "replaced", 2)),
            ([FERRY], ("stored", "replaced", 1)),
        ):
            (receipt,) = (await write(system, "kb_add_chunks", chunks=rows)).receipts
            result = receipt.result
            assert (result.status, result.operation, result.items_written) == expected
        assert contents(await read(system, "kb_search", query="boat to Skarv")) == [FERRY["text"]]
        assert (await read(system, "kb_count")).data["documents"] == 3
        await write(system, "kb_delete", document_ids=list(receipt.result.ids))
        assert status(await write(system, "kb_add_chunks", chunks=[FERRY])) == "stored"
        assert contents(await read(system, "kb_search", query="boat to Skarv")) == [FERRY["text"]]


@pytest.mark.parametrize("backend", BACKENDS)
async def test_the_cut_is_kept_when_the_index_is_built_again_and_after_a_restart(tmp_path, backend):
    halves = [{"id": f"{n}", "text": f"Part {n}: " + "herons and storks. " * 120} for n in range(3)]
    chosen = options(tmp_path, backend, retrieval={"chunk_size": 300})
    async with open_system(tmp_path, **chosen) as system:
        await write(system, "kb_add_chunks", chunks=halves)
        before = (await read(system, "kb_search", query="herons")).evidence
        await write(system, "kb_reindex")
        assert (await read(system, "kb_search", query="herons")).evidence == before
    async with open_system(tmp_path, **chosen) as system:
        assert {item.content for item in (await read(system, "kb_search", query="herons")).evidence} == {
            row["text"] for row in halves
        }


async def test_nothing_is_found_of_chunks_that_could_not_be_registered(tmp_path, monkeypatch):
    async with open_system(tmp_path, **options(tmp_path, "lancedb")) as system:
        await write(system, "kb_add_chunks", chunks=[FERRY])

        async def full(*_args):
            raise OSError("disk full")

        monkeypatch.setattr(type(system.services.control.sources), "put_all", full)
        later = {**FERRY, "text": "The last boat to Skarv leaves at 22:10."}
        assert (await write(system, "kb_add_chunks", chunks=[later, BAKER])).receipts[0].status == "failed"
        assert contents(await read(system, "kb_search", query="boat baker")) == [FERRY["text"]]


async def test_chunks_come_from_a_file_or_from_the_call_and_a_file_must_be_granted(tmp_path):
    outside = tmp_path / "other.jsonl"
    outside.write_bytes(lines_of(FERRY))
    async with open_system(tmp_path, **options(tmp_path)) as system:
        for given in ({}, {"path": "x.jsonl", "chunks": [FERRY]}):
            assert (await write(system, "kb_add_chunks", **given)).is_error
        asked = await write(system, "kb_add_chunks", path=str(outside))
        assert asked.is_error
        assert "outside the granted folders" in asked.message


def test_names_that_need_escaping_stay_apart():
    rows = [
        {"id": "a#b", "text": "x", "source": "s"},
        {"id": "b", "text": "x", "source": "s#a"},
        {"id": "b", "text": "x", "source": "s%23a"},
        {"id": "b\n", "text": "x", "source": "s"},
        {"id": 7, "text": "x"},
        {"id": "7", "text": "x"},
    ]
    lines = read_chunks(lines_of(*rows), name="given", profile="default", is_file=False)
    uris = [new.source.uri for new, _ in lines.chunks]
    assert uris == ["chunk:s#a%23b", "chunk:s%23a#b", "chunk:s%2523a#b", "chunk:s#b\\n", "chunk:given#7"]
    assert [(row.line, row.code) for row in lines.rejected] == [(6, "repeated_id")]
