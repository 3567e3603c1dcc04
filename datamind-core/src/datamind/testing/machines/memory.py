"""A memory store against a model made of dicts, in any order of writes, redos and reopenings. Needs hypothesis."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from datamind.core.errors import NotFound
from datamind.core.protocols.memory import MemoryDraft, MemoryItem, MemoryKind, MemoryQuery, MemoryScope, SaveOutcome
from datamind.testing.memory_data import day, make_filter, make_memory
from datamind.testing.providers import ProviderTarget

T = TypeVar("T")
Known = dict[str, Any]
"""What the model knows of one memory: a draft's fields, ``valid_to``, ``closed_by`` and ``close_receipt_id``."""

_SCOPES = st.sampled_from(
    [(MemoryScope.GLOBAL, ""), (MemoryScope.PROFILE, ""), (MemoryScope.SESSION, "s1"), (MemoryScope.SESSION, "s2")]
)
_FACTS = st.sampled_from([("", ""), ("user", "home"), ("USER", "Home"), ("user", "drink"), ("user", "")])
_WORDS = st.lists(st.sampled_from(["alpha", "beta", "网关", '"', "*"]), min_size=1, max_size=3, unique=True)
_DAYS = st.integers(0, 6)


@st.composite
def drafts(draw: st.DrawFn) -> MemoryDraft:
    """Drafts so few and alike that they meet."""
    (scope, session), (subject, attribute), words = draw(_SCOPES), draw(_FACTS), draw(_WORDS)
    return make_memory(
        " ".join(words),
        at=draw(_DAYS),
        scope=scope,
        session=session,
        kind=draw(st.sampled_from([MemoryKind.FACT, MemoryKind.PREFERENCE])),
        subject=subject,
        attribute=attribute,
        value=draw(st.sampled_from(["", "1", "2"])),
        functional=bool(subject and attribute) and draw(st.booleans()),
        origin=draw(st.sampled_from(["user", "file"])),
        tokens=tuple(words),
    )


class MemoryMachine(RuleBasedStateMachine):
    """Runs as ``TestX = X.TestCase`` of a subclass that sets ``target``.

    Attributes:
        target: The store to open.
        durable: Whether it keeps what it holds when it is closed.
    """

    target: ClassVar[ProviderTarget]
    durable: ClassVar[bool] = True

    saved: Bundle[MemoryDraft] = Bundle("saved")

    def __init__(self) -> None:
        super().__init__()
        self._folder = TemporaryDirectory()
        self._runner = asyncio.Runner()
        self._store = self._run(self.target.open(Path(self._folder.name)))
        self._known: dict[str, Known] = {}
        self._forgotten: dict[str, str] = {}
        self._outcomes: dict[str, SaveOutcome] = {}

    def teardown(self) -> None:
        """Close what was opened."""
        self._run(self._store.aclose())
        self._runner.close()
        self._folder.cleanup()

    @rule(target=saved, draft=drafts())
    def save(self, draft: MemoryDraft) -> MemoryDraft:
        """A draft nobody has seen."""
        assert self._run(self._store.save(draft)) == self._model_save(draft)
        return draft

    @rule(target=saved, old=saved, draft=drafts())
    def update(self, old: MemoryDraft, draft: MemoryDraft) -> MemoryDraft:
        """Of a memory that holds, or not any more."""
        holds = self._known.get(old.memory_id, {"valid_to": day(0)})["valid_to"] is None
        if holds:
            assert self._run(self._store.update(old.memory_id, draft)) == self._model_update(old.memory_id, draft)
        else:
            with pytest.raises(NotFound):
                self._run(self._store.update(old.memory_id, draft))
        return draft

    @rule(draft=saved)
    def redo(self, draft: MemoryDraft) -> None:
        """A draft that was saved before, or whose update was refused."""
        expected = self._outcomes.get(draft.memory_id) or self._model_save(draft)
        assert self._run(self._store.save(draft)) == expected

    @rule(chosen=st.lists(consumes(saved), min_size=1, max_size=3), receipt=st.sampled_from(["r1", "r2"]))
    def forget(self, chosen: list[MemoryDraft], receipt: str) -> None:
        """Several at once, twice."""
        ids = [draft.memory_id for draft in chosen]
        for memory_id in ids:
            if self._known.pop(memory_id, None) is not None:
                self._forgotten[memory_id] = receipt
        count = sum(self._forgotten.get(memory_id) == receipt for memory_id in set(ids))
        assert self._run(self._store.forget([*ids, *ids], receipt)) == count
        assert self._run(self._store.forget(ids, receipt)) == count

    @precondition(lambda self: self.durable)
    @rule()
    def reopen(self) -> None:
        """Everything is still there."""
        self._run(self._store.aclose())
        self._store = self._run(self.target.open(Path(self._folder.name)))

    @rule(scope=_SCOPES, words=_WORDS, moment=st.none() | _DAYS, closed=st.booleans(), fact=_FACTS)
    def read(
        self,
        scope: tuple[MemoryScope, str],
        words: list[str],
        moment: int | None,
        closed: bool,
        fact: tuple[str, str],
    ) -> None:
        """By filter and by words: the same set, each in its order."""
        where = make_filter(
            scopes=(scope[0], MemoryScope.GLOBAL),
            session=scope[1],
            subject=fact[0],
            attribute=fact[1],
            as_of=None if moment is None else day(moment),
            include_closed=closed,
        )
        expected = [known for known in self._known.values() if _is_shown(known, where)]
        expected.sort(key=lambda known: (day(0) - known["valid_from"], known["memory_id"]))
        view = self._store.read_view()
        ids = [known["memory_id"] for known in expected]
        assert [item.memory_id for item in self._run(view.find(where))] == ids
        assert self._run(view.count(where)) == len(ids)
        hits = self._run(view.recall(MemoryQuery(tokens=tuple(words), where=where, limit=100)))
        matching = {known["memory_id"] for known in expected if set(words) & set(known["tokens"])}
        assert {hit.item.memory_id for hit in hits} == matching
        order = [(-hit.score, day(0) - hit.item.valid_from, hit.item.memory_id) for hit in hits]
        assert order == sorted(order)

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        """Every field of every memory that is not forgotten, and one functional value at a time."""
        items: list[MemoryItem] = []
        for session in ("s1", "s2"):
            where = make_filter(scopes=tuple(MemoryScope), session=session, include_closed=True)
            items += self._run(self._store.find(where, limit=1000))
        assert {item.memory_id: _without_clock(item) for item in items} == {
            memory_id: {name: value for name, value in known.items() if name != "tokens"}
            for memory_id, known in self._known.items()
        }
        _assert_functional_values_do_not_overlap({item.memory_id: item for item in items}.values())

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(call)

    def _model_save(self, draft: MemoryDraft) -> SaveOutcome:
        start = draft.valid_from
        fact = [known for known in self._known.values() if draft.functional and _fact(known) == _fact(dict(draft))]
        equal = self._model_equal(draft, at=start if draft.functional else None)
        if equal is not None and equal["valid_from"] > start:
            return self._model_settle(draft, equal, [])
        closing = [(known, start) for known in fact if _held(known, start) and known is not equal]
        if equal is None:
            later = [
                known
                for known in fact
                if known["functional"] and known["valid_from"] > start and known["valid_to"] != known["valid_from"]
            ]
            following = min(later, key=lambda known: (known["valid_from"], known["memory_id"]), default=None)
            self._model_add(draft, following)
        return self._model_settle(draft, equal, closing)

    def _model_update(self, memory_id: str, draft: MemoryDraft) -> SaveOutcome:
        target, start = self._known[memory_id], draft.valid_from
        equal = self._model_equal(draft, at=None)
        if equal is target:
            return self._model_settle(draft, equal, [])
        closing = [(target, max(start, target["valid_from"]))]
        for known in self._known.values():
            end = max(start, known["valid_from"])
            if draft.functional and _fact(known) == _fact(dict(draft)) and _held(known, end):
                closing.append((known, end))
        if equal is None:
            self._model_add(draft, None)
        unique = {known["memory_id"]: (known, end) for known, end in closing if known is not equal}
        return self._model_settle(draft, equal, list(unique.values()))

    def _model_equal(self, draft: MemoryDraft, *, at: Any) -> Known | None:
        wanted = _content(dict(draft))
        found = [
            known
            for known in self._known.values()
            if _content(known) == wanted and (known["valid_to"] is None or (at is not None and _held(known, at)))
        ]
        order = sorted(found, key=lambda k: (k["valid_to"] is not None, k["valid_from"], k["memory_id"]))
        return order[0] if order else None

    def _model_add(self, draft: MemoryDraft, following: Known | None) -> None:
        self._known[draft.memory_id] = dict(draft) | {
            "valid_to": following["valid_from"] if following else None,
            "closed_by": following["memory_id"] if following else "",
            "close_receipt_id": draft.receipt_id if following else "",
        }

    def _model_settle(self, draft: MemoryDraft, equal: Known | None, closing: list[tuple[Known, Any]]) -> SaveOutcome:
        memory_id = equal["memory_id"] if equal else draft.memory_id
        closing.sort(key=lambda pair: (pair[0]["valid_from"], pair[0]["memory_id"]))
        for known, end in closing:
            known.update(valid_to=end, closed_by=memory_id, close_receipt_id=draft.receipt_id)
        status = "superseded" if closing else "unchanged" if equal else "added"
        ids = tuple(known["memory_id"] for known, _ in closing)
        self._outcomes[draft.memory_id] = SaveOutcome(status=status, memory_id=memory_id, closed_ids=ids)
        return self._outcomes[draft.memory_id]


def _fact(known: Known) -> tuple[str, ...]:
    return known["scope"], known["session"], known["subject"].casefold(), known["attribute"].casefold()


def _content(known: Known) -> tuple[str, ...]:
    return (*_fact(known), known["kind"], known["text"], known["value"])


def _held(known: Known, at: Any) -> bool:
    return known["valid_from"] <= at and (known["valid_to"] is None or at < known["valid_to"])


def _is_shown(known: Known, where: Any) -> bool:
    in_scope = known["scope"] in where.scopes and known["session"] in ("", where.session)
    subject = where.subject.casefold() in ("", known["subject"].casefold())
    attribute = where.attribute.casefold() in ("", known["attribute"].casefold())
    if where.include_closed:
        return in_scope and subject and attribute
    holds = known["valid_to"] is None if where.as_of is None else _held(known, where.as_of)
    return in_scope and subject and attribute and holds


def _without_clock(item: MemoryItem) -> Known:
    return {name: value for name, value in dict(item).items() if name != "created_at"}


def _assert_functional_values_do_not_overlap(items: Iterable[MemoryItem]) -> None:
    held = [item for item in items if item.functional and item.valid_to != item.valid_from]
    for item in held:
        for other in held:
            if other is not item and _fact(dict(other)) == _fact(dict(item)) and other.valid_from >= item.valid_from:
                assert item.valid_to is not None and item.valid_to <= other.valid_from
