"""The tests of the reading half of a memory store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from datamind.core.errors import InputInvalid, NotFound
from datamind.core.protocols.memory import MemoryKind, MemoryQuery, MemoryReader, MemoryScope
from datamind.plugins import ProviderKind
from datamind.testing.conformance.base import ProviderConformance
from datamind.testing.memory_data import (
    ALL_SCOPES,
    day,
    history,
    make_filter,
    make_home,
    make_memory,
    make_memory_query,
    recalled,
    texts,
)

_SESSION: Final[dict[str, Any]] = {"scope": MemoryScope.SESSION, "session": "s1"}
_ODD: Final = ('"', "*", "-", "'", "(", "NEAR", "AND", "a b", 'x"y', "\x00", "😀", "é", "e\u0301", "Ab", "ab", "^", ":")


class MemoryReaderConformance(ProviderConformance):
    """Tests of MemoryReader, against what the store wrote.

    Troubleshooting: drafts and queries bring their tokens; a store that cuts text into words itself, or folds
    tokens, fails where they are odd or Chinese.
    """

    protocols: ClassVar[tuple[type, ...]] = (MemoryReader,)
    kind = ProviderKind.MEMORY_STORE
    known_capabilities: ClassVar[frozenset[str]] = frozenset()

    async def test_an_empty_store_answers(self, tmp_path: Path) -> None:
        """Nothing is found, nothing raises."""
        async with self.opened(tmp_path) as store:
            for reader in (store, store.read_view()):
                assert await recalled(reader, "anything") == []
                assert await texts(reader, include_closed=True) == []
                assert await reader.count(make_filter()) == 0
            assert await store.forget(["mem_unknown"], "r1") == 0
            with pytest.raises(NotFound):
                await store.update("mem_unknown", make_memory("new"))

    async def test_memories_come_back_as_they_were_given(self, tmp_path: Path) -> None:
        """No character and no microsecond is lost."""
        odd = make_memory(
            " two\r\nlines\t\x00 '; DROP TABLE memories; -- \" \\ %_* 😀 é e\u0301 \u2028",
            kind=MemoryKind.DECISION,
            subject="Sübject 'x'",
            attribute="属性",
            value='"v"',
            origin="derived",
            valid_from=datetime(1815, 12, 10, 1, 2, 3, 456_789, tzinfo=UTC),
            **_SESSION,
        )
        async with self.opened(tmp_path) as store:
            earliest = datetime.now(UTC) - timedelta(seconds=5)
            await store.save(odd)
            (item,) = await store.find(make_filter(scopes=(MemoryScope.SESSION,), session="s1"))
            assert {**odd.model_dump(exclude={"tokens"}), "created_at": item.created_at} == item.model_dump(
                exclude={"valid_to", "closed_by", "close_receipt_id"}
            )
            assert (item.valid_to, item.closed_by, item.close_receipt_id) == (None, "", "")
            assert earliest <= item.created_at <= datetime.now(UTC) + timedelta(seconds=5)

    async def test_find_is_newest_first_and_pages_join(self, tmp_path: Path) -> None:
        """By valid_from down to the microsecond, ties by id, whatever the order of saving."""
        moments = (3, 1, 2, 2, 2, 1 + 1e-6 / 86_400, 5)
        drafts = [make_memory(f"memory {n}", at=at) for n, at in enumerate(moments)]
        async with self.opened(tmp_path) as store:
            for draft in drafts:
                await store.save(draft)
            expected = sorted(drafts, key=lambda d: (-(d.valid_from - day(0)) / timedelta(microseconds=1), d.memory_id))
            assert await texts(store) == [draft.text for draft in expected]
            pages = [await store.find(make_filter(), offset=offset, limit=3) for offset in (0, 3, 6, 9)]
            assert [item.text for page in pages for item in page] == [draft.text for draft in expected]
            assert await store.count(make_filter()) == len(drafts)

    async def test_a_recall_is_best_first_and_ties_are_newest_first(self, tmp_path: Path) -> None:
        """Then by id; a smaller limit gives the beginning of the same list."""
        same = [make_memory(f"alpha beta {n}", at=at, tokens=("alpha", "beta")) for n, at in enumerate((2, 7, 5, 7))]
        best = make_memory("alpha alpha", at=1)
        async with self.opened(tmp_path) as store:
            for draft in (*same, best):
                await store.save(draft)
            hits = await store.recall(make_memory_query("alpha"))
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
            assert all(hit.score > 0 and hit.score_meaning for hit in hits)
            sevens = sorted((same[1], same[3]), key=lambda draft: draft.memory_id)
            expected = [best, *sevens, same[2], same[0]]
            assert [hit.item.memory_id for hit in hits] == [draft.memory_id for draft in expected]
            assert await recalled(store, "alpha", 3) == [draft.text for draft in expected[:3]]

    async def test_a50_a_page_that_has_no_answer_is_refused(self, tmp_path: Path) -> None:
        """A limit below 1, an offset below 0, an instant without a zone."""
        async with self.opened(tmp_path) as store:
            await store.save(make_memory("alpha"))
            for page in ({"limit": 0}, {"limit": -1}, {"offset": -1}):
                with pytest.raises(InputInvalid):
                    await store.find(make_filter(), **page)
            with pytest.raises(InputInvalid):
                await store.recall(make_memory_query("alpha", 0))
            naive = make_filter(as_of=datetime(2026, 1, 1))
            with pytest.raises(InputInvalid):
                await store.count(naive)

    async def test_g1_b12_a_forgotten_memory_is_on_no_read_path(self, tmp_path: Path) -> None:
        """Not by words, filter, id, count, history or date; the others stay."""
        old, new = make_home("Oslo", at=1), make_home("Bergen", at=5)
        many = [make_memory(f"alpha number{n}", at=2) for n in range(148)]
        async with self.opened(tmp_path) as store:
            view = store.read_view()
            for draft in (old, new, *many):
                await store.save(draft)
            assert len(await recalled(view, "alpha Oslo Bergen", 500, include_closed=True)) == 150
            gone = [old.memory_id, *(draft.memory_id for draft in many)]
            assert await store.forget(gone, "r1") == 149
            for where in ({}, {"include_closed": True}, {"as_of": day(3)}, {"memory_ids": tuple(gone)}):
                left = [] if "as_of" in where or "memory_ids" in where else [new.text]
                assert await texts(view, **where) == left
                assert await recalled(view, "alpha Oslo Bergen", 500, **where) == left
                assert await view.count(make_filter(**where)) == len(left)

    async def test_g2_a41_only_the_scopes_that_were_asked_for(self, tmp_path: Path) -> None:
        """No scope asked for, nothing returned; a session is asked for by scope and name."""
        homes: dict[str, Any] = {
            "global": {"scope": MemoryScope.GLOBAL},
            "profile": {"scope": MemoryScope.PROFILE},
            "one": _SESSION,
            "two": {"scope": MemoryScope.SESSION, "session": "s2"},
        }
        async with self.opened(tmp_path) as store:
            for name, home in homes.items():
                await store.save(make_memory(f"alpha {name}", **home))
            cases: list[tuple[dict[str, Any], set[str]]] = [
                ({"scopes": ()}, set()),
                ({"scopes": (), "session": "s1"}, set()),
                ({"scopes": (MemoryScope.GLOBAL,)}, {"alpha global"}),
                ({"scopes": (MemoryScope.GLOBAL,), "session": "s1"}, {"alpha global"}),
                ({"scopes": (MemoryScope.SESSION,)}, set()),
                ({"scopes": (MemoryScope.SESSION,), "session": "s2"}, {"alpha two"}),
                ({"scopes": ALL_SCOPES, "session": "s1"}, {"alpha global", "alpha profile", "alpha one"}),
                ({"scopes": ALL_SCOPES}, {"alpha global", "alpha profile"}),
                ({"scopes": ALL_SCOPES, "session": "S1"}, {"alpha global", "alpha profile"}),
            ]
            for where, expected in cases:
                assert set(await texts(store, **where)) == expected, where
                assert set(await recalled(store, "alpha", **where)) == expected, where
                assert await store.count(make_filter(**where)) == len(expected), where

    async def test_g2_b33_the_filter_comes_before_the_limit(self, tmp_path: Path) -> None:
        """The one memory allowed is found behind any number of better ones of another session."""
        async with self.opened(tmp_path) as store:
            for n in range(60):
                await store.save(make_memory(f"alpha alpha {n}", at=9, scope=MemoryScope.SESSION, session="s2"))
            last = make_memory("alpha " + "filler " * 40, **_SESSION)
            await store.save(last)
            where = {"scopes": (MemoryScope.SESSION,), "session": "s1"}
            assert await recalled(store, "alpha", 1, **where) == [last.text]
            assert [item.text for item in await store.find(make_filter(**where), limit=1)] == [last.text]

    async def test_g2_every_condition_must_hold(self, tmp_path: Path) -> None:
        """Kinds and ids exactly, subject and attribute after casefold."""
        fact = make_memory("alpha one", subject="Straße", attribute="Color", value="red")
        decision = make_memory("alpha two", kind=MemoryKind.DECISION, subject="Straße")
        cases: list[tuple[dict[str, Any], set[str]]] = [
            ({"subject": "STRASSE"}, {fact.text, decision.text}),
            ({"subject": "strasse", "attribute": "COLOR"}, {fact.text}),
            ({"attribute": "colour"}, set()),
            ({"kinds": (MemoryKind.DECISION, MemoryKind.SKILL)}, {decision.text}),
            ({"kinds": (MemoryKind.DECISION,), "attribute": "color"}, set()),
            ({"memory_ids": (fact.memory_id, "mem_unknown")}, {fact.text}),
            ({"memory_ids": (fact.memory_id[:-1], "%", "mem_'")}, set()),
            ({"memory_ids": (fact.memory_id + "\x00",)}, set()),
            ({"memory_ids": (fact.memory_id,), "kinds": (MemoryKind.DECISION,)}, set()),
        ]
        async with self.opened(tmp_path) as store:
            await store.save(fact)
            await store.save(decision)
            for where, expected in cases:
                assert set(await texts(store, **where)) == expected, where
                assert set(await recalled(store, "alpha", **where)) == expected, where

    async def test_g2_as_of_shows_what_held_then(self, tmp_path: Path) -> None:
        """From valid_from on, until just before valid_to; closed memories only when asked for."""
        async with self.opened(tmp_path) as store:
            for at, city in ((1, "Oslo"), (5, "Bergen")):
                await store.save(make_home(city, at=at))
            just_before = day(5) - timedelta(microseconds=1)
            shown: dict[float, list[str]] = {0.9: [], 1: ["Oslo"], 4: ["Oslo"], 5: ["Bergen"], 9: ["Bergen"]}
            for moment, cities in shown.items():
                expected = [f"I live in {city}." for city in cities]
                assert await texts(store, as_of=day(moment)) == expected, moment
                assert await recalled(store, "live", as_of=day(moment)) == expected, moment
            assert await texts(store, as_of=just_before) == ["I live in Oslo."]
            assert await texts(store) == ["I live in Bergen."]
            assert await texts(store, include_closed=True) == ["I live in Bergen.", "I live in Oslo."]
            assert await recalled(store, "Oslo") == []
            assert await recalled(store, "Oslo", include_closed=True, as_of=day(9)) == ["I live in Oslo."]

    async def test_g3_a42_words_that_match_nothing_return_nothing(self, tmp_path: Path) -> None:
        """And a limit below the number of matches returns just as many."""
        async with self.opened(tmp_path) as store:
            for n in range(30):
                await store.save(make_memory(f"alpha number{n}"))
            assert len(await recalled(store, "alpha", 20)) == 20
            for text in ("zebra", "斑马", "", "* %"):
                assert await recalled(store, text) == [], text

    async def test_g4_b17_two_chinese_characters_of_a_longer_run_are_found(self, tmp_path: Path) -> None:
        """Chinese and Japanese, without spaces, the right one first."""
        lines = {"週報": "週報は中国語で書く", "网关": "API网关负责限流和鉴权", "预算": "2024年预算已经批准"}
        async with self.opened(tmp_path) as store:
            for text in lines.values():
                await store.save(make_memory(text))
            for word, text in lines.items():
                assert (await recalled(store, word))[:1] == [text]
            assert await recalled(store, "我的预算批准了吗？") == [lines["预算"]]
            assert await recalled(store, "集群") == []

    async def test_g4_a_token_matches_itself_and_nothing_else(self, tmp_path: Path) -> None:
        """Quotes, operators, NUL, emoji and letters that look alike."""
        async with self.opened(tmp_path) as store:
            for token in _ODD:
                await store.save(make_memory(f"memory {token!r}", tokens=(token, "common")))
            for token in (*_ODD, "memory", "a", "x", "AB", "😁"):
                query = MemoryQuery(tokens=(token,), where=make_filter(), limit=50)
                expected = [f"memory {token!r}"] if token in _ODD else []
                assert [hit.item.text for hit in await store.recall(query)] == expected, token

    async def test_g4_a_query_of_many_words_needs_only_one(self, tmp_path: Path) -> None:
        """The more of them a memory has, the higher it stands."""
        async with self.opened(tmp_path) as store:
            for text in ("alpha beta gamma", "alpha beta delta", "delta epsilon zeta"):
                await store.save(make_memory(text))
            question = "alpha beta gamma " + " ".join(f"unknown{n}" for n in range(5_000))
            assert await recalled(store, question) == ["alpha beta gamma", "alpha beta delta"]

    async def test_history_names_what_closed_a_memory(self, tmp_path: Path) -> None:
        """By id and by receipt."""
        old, new = make_home("Oslo", at=1), make_home("Bergen", at=5)
        async with self.opened(tmp_path) as store:
            await store.save(old)
            await store.save(new)
            item = (await history(store))[old.memory_id]
            assert (item.valid_to, item.closed_by, item.close_receipt_id) == (day(5), new.memory_id, new.receipt_id)
            assert item.receipt_id == old.receipt_id
