"""The tests of a KB store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar, Final

from datamind.core.protocols.kb import KBCounts, KBFilter, SupportsVectors, VectorReader, VectorStore
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance
from datamind.testing.conformance.kb_checks import assert_gone, found, hits_seen, put_all, rows_seen, state, watch
from datamind.testing.crash import write_and_die
from datamind.testing.kb_data import make_document, make_query

WRITING: Final = ("put", "add", "write", "upsert", "insert", "update", "delete", "remove", "drop", "commit", "sync")
"""How names of methods begin that a read view must not have."""

_GATEWAY = make_document("notes/gateway.md", "The gateway restarts at night.", "网关在夜间重启。")
_BUDGET = make_document("budget.md", "The budget of 2024 grew.", metadata={"year": 2024, "final": True})


async def write_a_document(store: VectorStore) -> None:
    """What the child process of G8 writes before it is killed."""
    await store.put_document(*_GATEWAY)


class VectorStoreConformance(ProviderConformance):
    """Tests of VectorStore.

    Capabilities: ``durable`` (not volatile), ``handles`` (several stores may be open on one folder at once) and
    ``vectors`` (it is a SupportsVectors; run VectorsConformance too). For a SupportsBatches run BatchesConformance too.

    Troubleshooting: every test opens a store of its own in an empty folder. ``put_document`` gives the tokens to
    search; a store that cuts text into words itself fails where the words are Chinese.
    """

    protocols = (VectorReader, VectorStore)
    kind = ProviderKind.KB_STORE
    known_capabilities: ClassVar[frozenset[str]] = frozenset({"durable", "handles", "vectors"})

    async def test_it_declares_what_it_is(self, tmp_path: Path) -> None:
        """The declared capabilities are those of the store."""
        async with self.opened(tmp_path) as store:
            assert isinstance(store, VectorStore)
            assert store.volatile is ("durable" not in self.capabilities)
            assert isinstance(store, SupportsVectors) is ("vectors" in self.capabilities)

    async def test_an_empty_store_answers(self, tmp_path: Path) -> None:
        """Nothing is found, nothing raises."""
        async with self.opened(tmp_path) as store:
            assert (await store.documents()).total == 0
            assert await store.document(_GATEWAY.document_id) is None
            assert list(await store.chunks(_GATEWAY.document_id)) == []
            assert await store.counts() == KBCounts(documents=0, chunks=0)
            assert list(await store.search_words(make_query("gateway"))) == []
            assert await store.delete_documents([_GATEWAY.document_id]) == 0

    async def test_rows_come_back_as_they_were_given(self, tmp_path: Path) -> None:
        """No character, type or order is lost."""
        odd = make_document(
            'o\'dd "name" %_*.md',
            "quotes ' \" ` and \\ and %_*",
            "two\r\nlines\tand 😀 é e\u0301 \u2028",
            metadata={"s": "1", "i": 1, "f": 1.0, "b": True, "big": 2**53 + 1, "k'ey": "' OR 1=1 --"},
            language="en",
        )
        async with self.opened(tmp_path) as store:
            await store.put_document(*odd)
            found = await store.document(odd.document_id)
            assert found == odd.row
            assert [type(value) for value in found.metadata.values()] == [str, int, float, bool, int, str]
            assert tuple(await store.chunks(odd.document_id)) == odd.chunks

    async def test_g1_a_write_is_seen_by_the_next_read_of_every_reader(self, tmp_path: Path) -> None:
        """A view taken before the write sees it too."""
        async with self.opened(tmp_path) as store:
            view = store.read_view()
            await store.put_document(*_GATEWAY)
            for reader in (store, view, store.read_view()):
                assert await reader.document(_GATEWAY.document_id) == _GATEWAY.row
                assert (await reader.documents()).documents == (_GATEWAY.row,)
                assert tuple(await reader.chunks(_GATEWAY.document_id)) == _GATEWAY.chunks
                assert await reader.counts() == KBCounts(documents=1, chunks=2)
                assert await found(reader, "gateway") == [_GATEWAY.chunk_ids[0]]

    async def test_g1_a35_a_new_word_is_found_after_an_earlier_search(self, tmp_path: Path) -> None:
        """An index that was built by a search does not hide what came later."""
        async with self.opened(tmp_path) as store:
            await store.put_document(*_GATEWAY)
            assert await found(store, "budget") == []
            await store.put_document(*_BUDGET)
            assert await found(store, "budget") == _BUDGET.chunk_ids

    async def test_g1_another_handle_sees_the_write(self, tmp_path: Path) -> None:
        """Two stores on one folder: what one acknowledged the other finds."""
        self.need("handles")
        async with self.opened(tmp_path) as store, self.opened(tmp_path) as other:
            assert await found(other, "gateway") == []
            await store.put_document(*_GATEWAY)
            assert await found(other, "gateway") == [_GATEWAY.chunk_ids[0]]
            await other.delete_documents([_GATEWAY.document_id])
            assert await found(store, "gateway") == []

    async def test_g2_hits_are_best_first_and_ties_go_by_chunk_id(self, tmp_path: Path) -> None:
        """Scores fall; equal chunks are in the order of their ids."""
        same = [make_document(f"{n}.md", "alpha beta") for n in range(8)]
        best = make_document("best.md", "alpha alpha")
        async with self.opened(tmp_path) as store:
            await put_all(store, [*same, best])
            hits = await store.search_words(make_query("alpha", 20))
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
            ids = [hit.chunk.chunk_id for hit in hits]
            assert ids == [*best.chunk_ids, *sorted(one.chunk_ids[0] for one in same)]
            assert all(hit.score > 0 and hit.score_meaning for hit in hits)

    async def test_g2_the_same_query_gives_the_same_order(self, tmp_path: Path) -> None:
        """A smaller limit gives the beginning of the same list."""
        async with self.opened(tmp_path) as store:
            await put_all(store, [make_document(f"{n}.md", "alpha beta") for n in range(12)])
            whole = await found(store, "alpha beta", 12)
            assert await found(store, "alpha beta", 12) == whole
            assert await found(store, "alpha beta", 5) == whole[:5]

    async def test_g2_documents_are_ordered_by_uri(self, tmp_path: Path) -> None:
        """Pages join without a gap or an overlap, and each knows the total."""
        async with self.opened(tmp_path) as store:
            await put_all(store, [make_document(f"{name}.md", name) for name in "dbeac"])
            pages = [await store.documents(offset=offset, limit=2) for offset in (0, 2, 4, 6)]
            assert [row.title for page in pages for row in page.documents] == [f"{name}.md" for name in "abcde"]
            assert {page.total for page in pages} == {5}

    async def test_g2_b17_a_query_without_a_known_word_finds_nothing(self, tmp_path: Path) -> None:
        """A score of 0 is no hit."""
        async with self.opened(tmp_path) as store:
            await put_all(store, [_GATEWAY, _BUDGET])
            for text in ("zebra", "斑馬", "", "* %"):
                assert await found(store, text) == [], text

    async def test_g2_a37_b17_chinese_and_japanese_words_find_their_document_first(self, tmp_path: Path) -> None:
        """Two characters out of a longer run."""
        texts = {"网关": "API网关负责限流和鉴权。", "集群": "Kubernetes集群每周升级。", "预算": "2024年预算已经批准。"}
        texts |= {"週報": "週報は中国語で書く。"}
        documents = {word: make_document(f"{word}.md", text) for word, text in texts.items()}
        async with self.opened(tmp_path) as store:
            await put_all(store, list(documents.values()))
            for word, document in documents.items():
                assert (await found(store, word))[:1] == document.chunk_ids

    async def test_g3_a_filter_is_applied_before_the_limit(self, tmp_path: Path) -> None:
        """The one allowed document is found behind any number of better ones."""
        last = make_document("last.md", "alpha " + "filler " * 40)
        async with self.opened(tmp_path) as store:
            await put_all(store, [make_document(f"{n}.md", "alpha alpha alpha") for n in range(60)])
            await store.put_document(*last)
            assert await found(store, "alpha", 1, document_ids=(last.document_id,)) == last.chunk_ids
            page = await store.documents(limit=1, where=KBFilter(document_ids=(last.document_id,)))
            assert (page.documents, page.total) == ((last.row,), 1)

    async def test_g3_a36_a_source_is_a_uri_its_last_part_or_an_id(self, tmp_path: Path) -> None:
        """Nothing less than the whole last part, and nothing like a pattern."""
        source = _GATEWAY.row.source
        async with self.opened(tmp_path) as store:
            await put_all(store, [_GATEWAY, _BUDGET, make_document("notes/gateway.md.bak", "The gateway, copied.")])
            for name in (source.uri, source.source_id, "gateway.md"):
                assert await found(store, "gateway", sources=(name,)) == [_GATEWAY.chunk_ids[0]], name
            for name in ("gateway", "way.md", "%.md", "*.md", "notes", "GATEWAY.MD", "' OR 1=1 --"):
                assert await found(store, "gateway", sources=(name,)) == [], name
            both = await found(store, "budget gateway", sources=("gateway.md", "budget.md"))
            assert sorted(both) == sorted([_GATEWAY.chunk_ids[0], *_BUDGET.chunk_ids])

    async def test_g3_metadata_is_equal_in_value_and_type(self, tmp_path: Path) -> None:
        """True, 1, 1.0 and "1" are four values; a missing key is none of them."""
        values: dict[str, str | int | float | bool] = {"a": True, "b": 1, "c": 1.0, "d": "1"}
        documents = {key: make_document(f"{key}.md", "alpha", metadata={"v": value}) for key, value in values.items()}
        async with self.opened(tmp_path) as store:
            await put_all(store, [*documents.values(), make_document("none.md", "alpha")])
            for key, value in values.items():
                assert await found(store, "alpha", metadata={"v": value}) == documents[key].chunk_ids, repr(value)
                page = await store.documents(where=KBFilter(metadata={"v": value}))
                assert page.documents == (documents[key].row,), repr(value)

    async def test_g3_every_condition_must_hold(self, tmp_path: Path) -> None:
        """One that does not is enough to leave a document out."""
        async with self.opened(tmp_path) as store:
            await put_all(store, [_GATEWAY, _BUDGET])
            assert await found(store, "budget", sources=("budget.md",), metadata={"year": 2024, "final": True})
            assert not await found(store, "budget", sources=("budget.md",), metadata={"year": 2024, "final": False})
            assert not await found(store, "budget", sources=("gateway.md",), metadata={"year": 2024})
            assert not await found(store, "budget", document_ids=(_GATEWAY.document_id,), sources=("budget.md",))

    async def test_g4_b19_a_deleted_document_is_on_no_read_path(self, tmp_path: Path) -> None:
        """Gone at once from list, rows, counts and words; the others stay."""
        async with self.opened(tmp_path) as store:
            view = store.read_view()
            await put_all(store, [_GATEWAY, _BUDGET])
            await found(view, "gateway budget")
            assert await store.delete_documents([_GATEWAY.document_id]) == 1
            await assert_gone(view, _GATEWAY, "gateway 网关")
            assert (await view.documents()).documents == (_BUDGET.row,)
            assert await view.counts() == KBCounts(documents=1, chunks=1)
            assert await found(view, "budget") == _BUDGET.chunk_ids

    async def test_g4_a33_a_replaced_version_is_on_no_read_path(self, tmp_path: Path) -> None:
        """Its words find nothing, and its source id is known to no filter."""
        new = make_document("notes/gateway.md", "The proxy never restarts.")
        async with self.opened(tmp_path) as store:
            await put_all(store, [_GATEWAY, new])
            assert await found(store, "gateway night 网关") == []
            assert await found(store, "restarts", sources=(_GATEWAY.row.source.source_id,)) == []
            assert await found(store, "proxy") == new.chunk_ids
            assert await store.counts() == KBCounts(documents=1, chunks=1)

    async def test_g5_a_new_version_takes_the_place_of_the_old(self, tmp_path: Path) -> None:
        """Fewer chunks leave none behind, and another cut under the same ids is the new cut."""
        first, rest = make_document("notes/gateway.md", "The gateway restarts."), make_document("a.md", "one", "two")
        recut = [rest.chunks[0].model_copy(update={"text": "one two", "end": 8, "tokens": ("one", "two")})]
        async with self.opened(tmp_path) as store:
            await put_all(store, [_GATEWAY, first, rest])
            assert tuple(await store.chunks(first.document_id)) == first.chunks
            await store.put_document(rest.row.model_copy(update={"chunks": 1}), recut)
            assert list(await store.chunks(rest.document_id)) == recut
            assert await found(store, "two") == [recut[0].chunk_id]
            assert await store.counts() == KBCounts(documents=2, chunks=2)

    async def test_g5_readers_see_the_old_or_the_new_and_never_both_or_neither(self, tmp_path: Path) -> None:
        """While one version replaces the other, again and again; and a later read never shows an older one."""
        versions = [make_document("a.md", *(f"alpha {n} part{i}" for i in range(3 + n % 3))) for n in range(16)]
        async with self.opened(tmp_path) as store:
            await store.put_document(*versions[0])
            writer = asyncio.ensure_future(put_all(store, versions[1:]))
            view, rows, hits = store.read_view(), [0], [0]
            # Apart, so that a slow search does not keep the quick reads from looking between two steps of a write.
            await asyncio.gather(
                watch(writer, lambda: rows_seen(view, versions), rows),
                watch(writer, lambda: hits_seen(view, versions), hits),
            )
            await writer
            assert (rows, hits) == (sorted(rows), sorted(hits))
            assert [*await rows_seen(view, versions), *await hits_seen(view, versions)] == [15, 15, 15]

    async def test_g6_b18_putting_the_same_again_changes_nothing(self, tmp_path: Path) -> None:
        """Three times is once."""
        async with self.opened(tmp_path) as store:
            await put_all(store, [_GATEWAY, _BUDGET])
            before = await state(store)
            await put_all(store, [_GATEWAY] * 3)
            assert await state(store) == before
            assert await store.counts() == KBCounts(documents=2, chunks=3)

    async def test_g6_b18_the_same_content_under_two_names_is_two_documents(self, tmp_path: Path) -> None:
        """Deleting one leaves the other."""
        one, other = make_document("a.txt", "alpha"), make_document("b.txt", "alpha")
        async with self.opened(tmp_path) as store:
            await put_all(store, [one, other])
            assert sorted(await found(store, "alpha")) == sorted(one.chunk_ids + other.chunk_ids)
            await store.delete_documents([one.document_id])
            assert await found(store, "alpha") == other.chunk_ids

    async def test_g7_only_known_documents_are_counted(self, tmp_path: Path) -> None:
        """Unknown ids and repeated ones count for nothing."""
        async with self.opened(tmp_path) as store:
            await put_all(store, [_GATEWAY, _BUDGET])
            assert await store.delete_documents([]) == 0
            assert await store.delete_documents(["doc_unknown", "' OR 1=1 --"]) == 0
            assert await store.delete_documents([_GATEWAY.document_id, "doc_unknown", _GATEWAY.document_id]) == 1
            assert await store.delete_documents([_GATEWAY.document_id]) == 0

    async def test_g7_b12_deleting_all_of_many_leaves_none(self, tmp_path: Path) -> None:
        """And what is put again afterwards is there again."""
        many = [make_document(f"{n}.md", f"alpha number{n}") for n in range(148)]
        async with self.opened(tmp_path) as store:
            await put_all(store, many)
            assert await store.delete_documents([one.document_id for one in many]) == 148
            assert await found(store, "alpha", 200) == []
            assert await store.counts() == KBCounts(documents=0, chunks=0)
            await store.put_document(*many[7])
            assert await found(store, "alpha", 200) == many[7].chunk_ids

    async def test_g8_what_returned_survives_the_death_of_the_process(self, tmp_path: Path) -> None:
        """A child process writes and is killed."""
        self.need("durable")
        await write_and_die(self.target, tmp_path, f"{__name__}:{write_a_document.__name__}")
        async with self.opened(tmp_path) as store:
            assert await store.document(_GATEWAY.document_id) == _GATEWAY.row
            assert tuple(await store.chunks(_GATEWAY.document_id)) == _GATEWAY.chunks
            assert await found(store, "网关") == [_GATEWAY.chunk_ids[1]]

    async def test_g8_sync_may_be_called_at_any_time_and_aclose_twice(self, tmp_path: Path) -> None:
        """Neither raises."""
        async with self.opened(tmp_path) as store:
            await store.sync()
            await store.put_document(*_GATEWAY)
            await store.sync()
            await store.sync()
            await store.aclose()

    async def test_g8_closing_and_opening_keeps_everything(self, tmp_path: Path) -> None:
        """And deleting stays deleted."""
        self.need("durable")
        async with self.opened(tmp_path) as store:
            await put_all(store, [_GATEWAY, _BUDGET, make_document("gone.md", "gateway budget")])
            await store.delete_documents([make_document("gone.md", "").document_id])
            before = await state(store)
        async with self.opened(tmp_path) as store:
            assert await state(store) == before

    async def test_g9_a_read_view_has_no_method_that_writes(self, tmp_path: Path) -> None:
        """By the names of its public attributes."""
        async with self.opened(tmp_path) as store:
            view = store.read_view()
            assert isinstance(view, VectorReader)
            assert view is not store
            assert not [name for name in dir(view) if name.startswith(WRITING)]
