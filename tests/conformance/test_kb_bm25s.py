"""The word index bm25s passes every test of the kit, and stands beside the store in Lance tables."""

from __future__ import annotations

from pathlib import Path

from datamind.plugins import ProviderKind
from datamind.testing.conformance.kb_search import LexicalIndexConformance
from datamind.testing.kb_data import make_document, make_query
from datamind.testing.providers import ProviderTarget, make_provider_context
from datamind_kb_lancedb.lexical import open_index

LANCE = ProviderTarget("kb.store", "datamind_kb_lancedb.store:open_store", "datamind_kb_lancedb.options:LanceOptions")


class TestBm25sIndex(LexicalIndexConformance):
    async def open_index(self, store, folder: Path):
        return await open_index(make_provider_context(folder, opens={ProviderKind.KB_STORE: store}), None)


async def test_it_follows_the_lance_store_and_reopens_its_snapshot(tmp_path: Path) -> None:
    store = await LANCE.open(tmp_path)
    context = make_provider_context(tmp_path, opens={ProviderKind.KB_STORE: store})
    try:
        index = await open_index(context, None)
        documents = [make_document(f"{n}.md", f"alpha word{n}", f"网关 {n}") for n in range(5)]
        await store.put_documents(documents)
        for text in ("alpha", "网关", "word3 网关"):
            query = make_query(text, 20)
            hits = await index.search(query)
            assert {hit.chunk.chunk_id for hit in hits} == {
                hit.chunk.chunk_id for hit in await store.search_words(query)
            }
        (snapshot,) = (tmp_path / "storage" / "test" / "kb" / "bm25s").iterdir()
        before = snapshot.stat().st_ino
        await store.optimize()
        again = await open_index(context, None)
        assert len(await again.search(make_query("alpha", 20))) == 5
        assert snapshot.stat().st_ino == before
        await store.delete_documents([documents[0].document_id])
        assert len(await again.search(make_query("alpha", 20))) == 4
        assert not snapshot.exists()
    finally:
        await store.aclose()
