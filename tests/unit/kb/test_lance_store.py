"""The store in Lance tables: what the kit does not ask of every store."""

from __future__ import annotations

import asyncio
import math
import shutil
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from datamind.core.protocols.kb import SupportsOptimize, SupportsRebuild, SupportsStatus
from datamind.testing.conformance.kb_checks import found, state
from datamind.testing.kb_data import make_document, make_query, make_vectors
from datamind.testing.providers import ProviderTarget

FACTORY, OPTIONS = "datamind_kb_lancedb.store:open_store", "datamind_kb_lancedb.options:LanceOptions"
ONE, TWO = make_document("one.md", "alpha east", "alpha north"), make_document("two.md", "beta")


@asynccontextmanager
async def opened(folder: Path, **options):
    store = await ProviderTarget("kb.store", FACTORY, OPTIONS, options).open(folder)
    try:
        yield store
    finally:
        await store.aclose()


async def batches(*documents):
    for document in documents:
        yield [document]


def kb_of(folder: Path) -> Path:
    return folder / "storage" / "test" / "kb"


def table_of(folder: Path, kind: str) -> Path:
    (found_path,) = (kb_of(folder) / "lance").glob(f"{kind}_*.lance")
    return found_path


async def test_b25_many_small_upserts_do_not_grow_without_end(tmp_path):
    async with opened(tmp_path, keep_versions_s=0.2) as store:
        sizes = []
        for number in range(300):
            await store.put_document(*make_document(f"{number % 10}.md", f"alpha {number}"))
            if number in (149, 299):
                await asyncio.sleep(0.4)
                await store.optimize()
                status = await store.status()
                sizes.append(status.size_bytes)
        assert sizes[1] < 1.5 * sizes[0]
        assert status.versions < 80
        assert status.unindexed_chunks == 0
        assert (await store.counts()).chunks == 10
        assert await found(store, "299") == make_document("9.md", "alpha 299").chunk_ids


async def test_small_writes_are_merged_in_the_background(tmp_path):
    async with opened(tmp_path, keep_versions_s=0.05) as store:
        for number in range(70):
            await store.put_document(*make_document(f"{number}.md", f"alpha {number}"))
    async with opened(tmp_path) as store:
        assert (await store.status()).unindexed_chunks < 64
        assert len(await found(store, "alpha", 100)) == 70


async def test_optimizing_shows_no_reader_a_difference(tmp_path):
    async with opened(tmp_path) as store:
        assert isinstance(store, SupportsOptimize)
        for document in (ONE, TWO):
            await store.put_document(*document)
        before = (await state(store))[:3]
        await store.optimize()
        assert (await state(store))[:3] == before
        assert await found(store, "beta") == TWO.chunk_ids


async def test_a5_a_rebuild_replaces_everything_at_once_and_keeps_vectors(tmp_path):
    async with opened(tmp_path) as store, opened(tmp_path) as other:
        assert isinstance(store, SupportsRebuild)
        assert store.is_lost
        await store.put_documents([ONE, TWO])
        assert not store.is_lost
        await store.put_vectors("m", ONE.chunk_ids, make_vectors((1.0, 0.0), (0.0, 1.0)))
        assert await other.rebuild(batches(ONE, make_document("three.md", "gamma"))) == 2
        assert await found(store, "beta") == []
        assert len(await found(store, "gamma")) == 1
        assert await store.count_embedded("m") == 2
        await store.put_document(*TWO)
        assert await found(other, "beta") == TWO.chunk_ids
    assert table_of(tmp_path, "chunks").is_dir()


async def test_a5_a_rebuild_that_breaks_off_changes_nothing(tmp_path):
    async def breaking():
        yield [TWO]
        raise OSError("gone")

    async with opened(tmp_path) as store:
        await store.put_document(*ONE)
        before = await state(store)
        with pytest.raises(OSError, match="gone"):
            await store.rebuild(breaking())
        assert await state(store) == before
    assert table_of(tmp_path, "chunks").is_dir()


@pytest.mark.parametrize("harm", ["manifests", "data", "pointer"])
async def test_a_damaged_table_is_set_aside_and_the_store_says_that_it_is_lost(tmp_path, harm):
    async with opened(tmp_path) as store:
        await store.put_document(*ONE)
    if harm == "pointer":
        (kb_of(tmp_path) / "current.json").write_bytes(b"\0\0")
    else:
        for path in (table_of(tmp_path, "chunks") / {"manifests": "_versions"}.get(harm, harm)).iterdir():
            path.write_bytes(b"\0" * 16)
    async with opened(tmp_path) as store:
        assert store.is_lost
        assert list(await store.search_words(make_query("alpha"))) == []
        assert await store.rebuild(batches(ONE)) == 1
        assert await found(store, "east") == ONE.chunk_ids[:1]
    if harm != "pointer":
        assert list((kb_of(tmp_path) / "damaged").iterdir())


async def test_damaged_vectors_are_set_aside_and_wait_to_be_made_again(tmp_path):
    async with opened(tmp_path) as store:
        await store.put_document(*ONE)
        await store.put_vectors("m", ONE.chunk_ids, make_vectors((1.0, 0.0), (0.0, 1.0)))
    for path in (table_of(tmp_path, "vectors") / "data").iterdir():
        path.write_bytes(b"x")
    async with opened(tmp_path) as store:
        assert await found(store, "east") == ONE.chunk_ids[:1]
        assert [row.chunk_id for row in await store.chunks_without_vector("m", 5)] == ONE.chunk_ids


async def test_a44_b32_another_model_has_vectors_of_its_own_and_a_wrong_dimension_names_the_command(tmp_path):
    async with opened(tmp_path) as store:
        assert isinstance(store.read_view(), SupportsStatus)
        await store.put_document(*ONE)
        await store.put_vectors("old", ONE.chunk_ids, make_vectors((1.0, 0.0), (0.0, 1.0)))
        await store.put_vectors("new", ONE.chunk_ids[:1], make_vectors((1.0, 0.0, 0.0)))
        rows = [(row.model_id, row.dimension, row.vectors) for row in (await store.status()).vectors]
        assert sorted(rows) == [("new", 3, 1), ("old", 2, 2)]
        with pytest.raises(Exception, match="3 dimensions, not 2"):
            await store.put_vectors("new", ONE.chunk_ids, make_vectors((1.0, 0.0), (0.0, 1.0)))


WRITER = """
import asyncio, sys
from pathlib import Path
from tests.unit.kb.test_lance_store import FACTORY, ONE, OPTIONS, ProviderTarget, TWO

async def main():
    store = await ProviderTarget("kb.store", FACTORY, OPTIONS).open(Path(sys.argv[1]))
    await store.put_document(*ONE)
    await store.sync()
    print("first", flush=True)
    await store.put_document(*TWO)
    await store.sync()
    print("second", flush=True)
    await store.aclose()

asyncio.run(main())
"""


def test_every_file_of_a_write_and_its_folder_are_synced_before_the_write_is_acknowledged(tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    log = tmp_path / "log"
    root = Path(__file__).parents[3]
    command = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,write", "-o", str(log), sys.executable]
    subprocess.run([*command, "-c", WRITER, str(tmp_path)], cwd=root, check=True, timeout=120, capture_output=True)
    text = log.read_text(errors="replace")
    after_first = text.partition('"first')[2].partition('"second')[0]
    synced = [line.partition("<")[2].partition(">")[0] for line in after_first.splitlines() if "fsync(" in line]
    for part in ("/data/", "/_versions/"):
        assert any(part in path for path in synced), part
    for folder in ("data", "_versions"):
        assert any(path.endswith(f"/{folder}") for path in synced), folder


async def test_c31_more_than_a_thousand_vectors_are_all_found_after_a_restart(tmp_path):
    document = make_document("many.md", *(f"row {number}" for number in range(1_200)))
    angles = [number / 200 for number in range(1_200)]
    vectors = [make_vectors((math.cos(angle), math.sin(angle))) for angle in angles]
    async with opened(tmp_path) as store:
        await store.put_document(*document)
        await store.put_vectors("model", document.chunk_ids, b"".join(vectors))
        await store.sync()
    async with opened(tmp_path) as store:
        assert await store.count_embedded("model") == 1_200
        assert await store.unembedded("model", document.chunk_ids) == set()
        every = await store.search_vectors("model", vectors[0], 1_200)
        assert {hit.chunk.chunk_id for hit in every} == set(document.chunk_ids)
        for number in range(0, 1_200, 100):
            (nearest,) = await store.search_vectors("model", vectors[number], 1)
            assert nearest.chunk.chunk_id == document.chunk_ids[number]
