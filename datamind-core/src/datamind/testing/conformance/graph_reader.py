"""The tests of the reading half of a graph store."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from datamind.capabilities.graph.terms import XSD, make_iri, make_literal, make_node
from datamind.core.protocols.graph import (
    ALIAS_PREDICATES,
    LABEL_PREDICATES,
    Assertion,
    GraphReader,
    Term,
    Triple,
    TriplePattern,
)
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance
from datamind.testing.graph_data import (
    CHINESE,
    FOUNDED,
    HEIGHT,
    PEOPLE,
    WORKS,
    all_statements,
    assertion_of,
    found,
    make_triple,
    make_unit,
    put,
    receipts_of,
)

_LABEL, _ALIAS = make_iri(LABEL_PREDICATES[0]), make_iri(ALIAS_PREDICATES[0])


class GraphReaderConformance(ProviderConformance):
    """Tests of GraphReader, against what the store wrote.

    Troubleshooting: literals are given in the form of their value (``1``, not ``01``), so a store may keep numbers by
    value. Orders that the Protocol leaves open are sorted before they are compared.
    """

    protocols: ClassVar[tuple[type, ...]] = (GraphReader,)
    kind = ProviderKind.GRAPH_STORE
    known_capabilities: ClassVar[frozenset[str]] = frozenset()

    async def test_an_empty_graph_answers(self, tmp_path: Path) -> None:
        """Nothing is found, nothing raises."""
        async with self.opened(tmp_path) as store:
            for reader in (store, store.read_view()):
                assert await all_statements(reader) == []
                assert list(await reader.asserted_by([WORKS])) == [()]
                assert list(await reader.asserted_by([])) == []
                assert (await reader.edges([WORKS.subject], direction="both")).triples == ()
                assert list(await reader.search_entities("Ada", 10)) == []
                assert list(await reader.search_entities("  ", 10)) == []
                assert list(await reader.search_predicates("knows", 10)) == []
                assert list(await reader.units()) == list(await reader.units(source="x.ttl")) == []
                stats = await reader.stats()
                assert (stats.statements, stats.entities, stats.receipts, dict(stats.predicates)) == (0, 0, 0, {})
            assert await store.drop_receipts(["rcpt_none.test"], "rcpt_d1.test") == 0
            assert await store.remove([TriplePattern(subject=WORKS.subject)], "rcpt_d2.test") == 0

    async def test_g1_a_write_is_seen_by_the_next_read_of_every_reader(self, tmp_path: Path) -> None:
        """A view taken before the write sees it too."""
        async with self.opened(tmp_path) as store:
            view = store.read_view()
            receipt = await put(store, "people", *PEOPLE)
            for reader in (store, view, store.read_view()):
                assert await all_statements(reader) == sorted(PEOPLE)
                assert await receipts_of(reader, WORKS) == [receipt]
                assert await found(reader, "Acme") == ["Acme"]
            await store.drop_receipts([receipt], "rcpt_d.test")
            assert await all_statements(view) == []
            assert await found(view, "Acme") == []

    async def test_g2_a46_two_relations_of_one_pair_are_two_statements(self, tmp_path: Path) -> None:
        """Each with its own source, in every way of reading."""
        async with self.opened(tmp_path) as store:
            await put(store, "first", WORKS)
            await put(store, "second", FOUNDED, at=2)
            assert await all_statements(store) == sorted([WORKS, FOUNDED])
            assert sorted((await store.edges([WORKS.object], direction="in")).triples) == sorted([WORKS, FOUNDED])
            assert await receipts_of(store, WORKS) == ["rcpt_first.test"]
            assert await receipts_of(store, FOUNDED) == ["rcpt_second.test"]

    async def test_g3_a_statement_stands_once_and_names_everyone_who_asserts_it(self, tmp_path: Path) -> None:
        """Oldest first, with span and confidence of each."""
        late, early = make_unit("late", at=9), make_unit("early", at=2)
        async with self.opened(tmp_path) as store:
            await store.upsert(late, [Assertion(WORKS, 3, 20, 0.5)])
            await store.upsert(early, [Assertion(WORKS), Assertion(HEIGHT, 0, 4)])
            assert await all_statements(store) == sorted([WORKS, HEIGHT])
            assert (await store.stats()).statements == 2
            first, second = (await store.asserted_by([WORKS]))[0]
            assert (first.unit, first.start, first.end, first.confidence) == (early, None, None, 1.0)
            assert (second.unit, second.start, second.end, second.confidence) == (late, 3, 20, 0.5)
            by = await assertion_of(store, HEIGHT)
            assert (by.start, by.end, by.confidence) == (0, 4, 1.0)
            assert list(await store.units()) == [early, late]

    async def test_g3_writes_are_found_by_receipt_and_by_source(self, tmp_path: Path) -> None:
        """By uri, source id and file name."""
        async with self.opened(tmp_path) as store:
            unit = make_unit("a", uri="file:notes/a.ttl")
            await store.upsert(unit, [Assertion(WORKS)])
            await put(store, "b", FOUNDED)
            for source in ("file:notes/a.ttl", "a.ttl", unit.source.source_id):
                assert list(await store.units(source=source)) == [unit]
            assert list(await store.units(receipt_ids=[unit.receipt_id, "rcpt_none.test"])) == [unit]
            assert await all_statements(store, TriplePattern(receipt_id=unit.receipt_id)) == [WORKS]
            assert await all_statements(store, TriplePattern(receipt_id="rcpt_none.test")) == []

    async def test_g4_literals_keep_value_datatype_and_language(self, tmp_path: Path) -> None:
        """What looks alike and is not the same stays apart."""
        literals = [
            make_literal("1"),
            make_literal(1),
            make_literal(1.5),
            make_literal(True),
            make_literal("true"),
            make_literal("chat", language="en"),
            make_literal("chat", language="FR-be"),
            make_literal("2026-05-01", datatype=f"{XSD}date"),
            make_literal("x", datatype="urn:my:type"),
            make_literal(""),
            make_literal(" quotes \" ' ` \\ \n\r\t \x01\x7f 😀 é e\u0301 \u2028 <a> }} ; DROP ALL #"),
        ]
        triples = [make_triple("thing", "is", literal) for literal in literals]
        async with self.opened(tmp_path) as store:
            await put(store, "literals", *triples)
            assert await all_statements(store) == sorted(triples)
            for triple in triples:
                assert await all_statements(store, TriplePattern(object=triple.object)) == [triple]
                assert await receipts_of(store, triple) == ["rcpt_literals.test"]

    async def test_g4_names_of_any_kind_are_nodes(self, tmp_path: Path) -> None:
        """Minted from whatever a person may write."""
        names = ['a "b" <c> {d}', "100 %", "x/y#z", "a%20b", "a b", "A b", "é", "😀", "'; DROP ALL; --", "urn"]
        triples = [make_triple(name, "p", name) for name in names]
        async with self.opened(tmp_path) as store:
            await put(store, "names", *triples)
            assert await all_statements(store) == sorted(triples)
            terms = [triple.subject for triple in triples]
            assert [entity.name for entity in await store.entities(terms)] == names

    async def test_patterns_agree_with_every_given_term(self, tmp_path: Path) -> None:
        """Each alone, and together; pages leave nothing out."""
        async with self.opened(tmp_path) as store:
            await put(store, "people", *PEOPLE)
            assert await all_statements(store, TriplePattern(subject=WORKS.subject)) == sorted([WORKS, FOUNDED, HEIGHT])
            assert await all_statements(store, TriplePattern(predicate=WORKS.predicate)) == [WORKS]
            assert await all_statements(store, TriplePattern(object=WORKS.object)) == sorted([WORKS, FOUNDED])
            both = TriplePattern(subject=WORKS.subject, predicate=WORKS.predicate, object=HEIGHT.object)
            assert await all_statements(store, both) == []
            pages = [await store.statements(TriplePattern(), offset=n, limit=1) for n in range(5)]
            assert sorted(triple for page in pages for triple in page.triples) == sorted(PEOPLE)
            assert [page.more for page in pages] == [True, True, True, False, False]

    async def test_g5_entities_are_found_by_rank(self, tmp_path: Path) -> None:
        """Exact, alias, beginning, words, nearly so; whatever the case."""
        async with self.opened(tmp_path) as store:
            triples = [make_triple(name, "p", "other") for name in ("acme", "Acme Holding", "The Acme", "Acne", "Zeta")]
            alias = Triple(make_node("Zeta"), _ALIAS, make_literal("ACME"))
            await put(store, "names", *triples, alias)
            hits = await store.search_entities("Acme", 10)
            assert [(hit.entity.name, hit.match) for hit in hits] == [
                ("acme", "exact"),
                ("Zeta", "alias"),
                ("Acme Holding", "prefix"),
                ("The Acme", "words"),
                ("Acne", "similar"),
            ]
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            assert scores[0] == 1.0
            assert scores[-1] > 0
            assert await found(store, "Acme", 2) == ["acme", "Zeta"]

    async def test_g5_in_any_script_and_with_a_typing_error(self, tmp_path: Path) -> None:
        """Two characters of a Chinese name; letters swapped, left out and doubled."""
        names = ("星河科技有限公司", "Müller GmbH", "Ada Lovelace", "東京タワー")
        async with self.opened(tmp_path) as store:
            await put(store, "names", *(make_triple(name, "p", "other") for name in names))
            for text in ("星河科技有限公司", "星河", "科技", "星河科技有线公司"):
                assert await found(store, text) == [names[0]]
            assert await found(store, "muller gmbh") == await found(store, "MÜLLER") == [names[1]]
            for text in ("Ada Lovelase", "Ada Lvoelace", "ada lovlace", "Adda Lovelace", "lovelace", "Lovelase"):
                assert await found(store, text) == [names[2]]
            assert await found(store, "タワー") == [names[3]]
            assert await found(store, "Quetzalcoatl") == []

    async def test_g5_labels_name_an_entity_and_one_without_statements_is_not_found(self, tmp_path: Path) -> None:
        """The label before the alias before the IRI; gone with the last statement."""
        node = make_iri("http://example.org/Q42")
        named = [
            Triple(node, _ALIAS, make_literal("The Firm")),
            Triple(node, _LABEL, make_literal("Zenith", language="en")),
            Triple(node, _LABEL, make_literal("Aurora", language="fr")),
        ]
        async with self.opened(tmp_path) as store:
            await put(store, "facts", Triple(node, make_node("p"), make_node("other")))
            (entity,) = await store.entities([node])
            assert (entity.name, entity.aliases) == ("Q42", ())
            await put(store, "labels", *named)
            (entity,) = await store.entities([node])
            assert (entity.term, entity.name, entity.aliases) == (node, "Aurora", ("Zenith", "The Firm", "Q42"))
            for text in ("aurora", "zenith", "the firm", "q42"):
                assert await found(store, text) == ["Aurora"]
            await store.drop_receipts(["rcpt_labels.test"], "rcpt_d1.test")
            assert await found(store, "zenith") == []
            assert await found(store, "q42") == ["Q42"]
            await store.drop_receipts(["rcpt_facts.test"], "rcpt_d2.test")
            assert await found(store, "q42") == []

    async def test_g5_predicates_are_found_by_name_label_and_typing_error(self, tmp_path: Path) -> None:
        """In any script; one that no statement has is not found, and a node is no predicate."""
        leads, name = make_iri("http://example.org/leads"), make_iri("http://example.org/P7")
        async with self.opened(tmp_path) as store:
            await put(store, "minted", CHINESE, make_triple("leads", "follows", "Ada"))
            await put(store, "imported", Triple(WORKS.subject, leads, WORKS.object))
            await put(store, "coded", Triple(WORKS.subject, name, WORKS.object))
            await put(store, "labels", Triple(name, _LABEL, make_literal("领导", language="zh")))

            async def named(text: str) -> list[tuple[str, str]]:
                return [(hit.entity.term.value, hit.match) for hit in await store.search_predicates(text, 10)]

            assert await named("Leads") == [(leads.value, "exact")]
            assert await named("laeds") == [(leads.value, "similar")]
            assert await named("领导") == [(name.value, "exact")]
            assert await named("p7") == [(name.value, "alias")]
            assert await named("就职于") == [(CHINESE.predicate.value, "exact")]
            assert await named("Ada") == await named(" ") == []
            assert len(await store.search_predicates("leads", 0)) == 0
            await store.drop_receipts(["rcpt_imported.test"], "rcpt_d1.test")
            assert await named("leads") == []

    async def test_g6_edges_are_bounded_and_say_what_they_cut(self, tmp_path: Path) -> None:
        """In each direction; literals end an edge and begin none."""
        spokes = [make_triple("hub", "to", f"spoke {n}") for n in range(7)]
        back = [make_triple(f"spoke {n}", "from", "hub") for n in range(3)]
        hub = make_node("hub")
        async with self.opened(tmp_path) as store:
            await put(store, "wheel", *spokes, *back, make_triple("hub", "size", make_literal(7)))
            whole = await store.edges([hub], direction="both", limit=8)
            assert (len(whole.triples), whole.cut) == (11, ())
            some = await store.edges([hub], direction="both", limit=5)
            assert (len(some.triples), some.cut) == (8, (hub,))
            assert some == await store.edges([hub], direction="both", limit=5)
            only_in = await store.edges([hub], direction="in", limit=5)
            assert (sorted(only_in.triples), only_in.cut) == (sorted(back), ())
            chosen = await store.edges(
                [hub], direction="both", predicates=[make_node("from", namespace="urn:datamind:p:")]
            )
            assert sorted(chosen.triples) == sorted(back)
            pair = await store.edges([hub, make_node("spoke 0"), make_node("nobody")], direction="both", limit=50)
            assert len(pair.triples) == len(set(pair.triples)) == 11
            assert (await store.edges([make_literal(7)], direction="out")).triples == ()

    async def test_counts(self, tmp_path: Path) -> None:
        """Nodes are counted, values and predicates are not."""
        async with self.opened(tmp_path) as store:
            await put(store, "people", *PEOPLE)
            await put(store, "again", WORKS)
            stats = await store.stats()
            assert (stats.statements, stats.entities, stats.receipts) == (4, 4, 2)
            assert stats.predicates == {triple.predicate.value: 1 for triple in PEOPLE}
            await put(store, "more", make_triple("张三", "works_at", "Acme"))
            assert next(iter((await store.stats()).predicates.items())) == (WORKS.predicate.value, 2)
            assert isinstance(CHINESE.subject, Term)
