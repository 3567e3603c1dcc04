"""The word index ``bm25s``: a snapshot on disk of all words, made anew when they have changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import bm25s
import numpy as np
from anyio import to_process
from anyio.to_thread import run_sync

from datamind.core.errors import ConfigError
from datamind.core.protocols.kb import ChunkHit, KBQuery, SupportsWordIndex
from datamind.core.types import new_id
from datamind.plugins import ProviderKind

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext

_FOLDER: Final = "bm25s"
_IN_PROCESS: Final = 5_000
"""Chunks above which the index is made in a process of its own: it holds the interpreter for some seconds."""
_ATTEMPTS: Final = 5
Words = Sequence[tuple[str, Sequence[str]]]


async def open_index(ctx: ProviderContext, options: Any) -> SnapshotIndex:
    """The index beside the KB store; its snapshots are in ``<storage_dir>/kb/bm25s``.

    Raises:
        ConfigError: The store does not give its words out.
    """
    store = await ctx.open(ProviderKind.KB_STORE)
    if not isinstance(store, SupportsWordIndex):
        raise ConfigError(
            f"kb.lexical='bm25s' cannot stand beside kb.backend={ctx.settings.kb.backend!r}.",
            hint="Leave kb.lexical at 'store'.",
        )
    return SnapshotIndex(store, ctx.storage_dir / "kb" / _FOLDER)


class _Snapshot:
    """The words of one revision, mapped into memory."""

    def __init__(self, revision: str, folder: Path) -> None:
        self.revision = revision
        self._ids: list[str] = json.loads((folder / "ids.json").read_text(encoding="utf-8"))
        self._places = {name: place for place, name in enumerate(self._ids)}
        # An index over nothing is an error there.
        self._scorer = bm25s.BM25.load(folder, mmap=True, verbosity=0) if self._ids else None

    def search(self, tokens: Sequence[str], limit: int, allowed: frozenset[str] | None) -> list[tuple[str, float]]:
        """Best first, ties by id; only what has one of the words."""
        if self._scorer is None or limit < 1:
            return []
        known = [token for token in tokens if token in self._scorer.vocab_dict]
        if not known:
            return []
        scores = self._scorer.get_scores(known)
        if allowed is not None:
            masked = np.zeros_like(scores)
            let_through = [self._places[name] for name in allowed if name in self._places]
            masked[let_through] = scores[let_through]
            scores = masked
        places = np.flatnonzero(scores > 0)
        if len(places) > limit:
            last = np.partition(scores[places], -limit)[-limit]
            places = places[scores[places] >= last]
        found = sorted((-float(scores[place]), self._ids[place]) for place in places)
        return [(name, -score) for score, name in found[:limit]]


class SnapshotIndex:
    """Words beside a store. The first search after a write makes a new snapshot, which takes about 0.1 s per 1,000."""

    def __init__(self, store: SupportsWordIndex, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._snapshot: _Snapshot | None = None
        self._lock = anyio.Lock()

    async def search(self, query: KBQuery) -> Sequence[ChunkHit]:
        """Best first, ties by chunk id; sees every write that was acknowledged before."""
        where = query.where
        for _ in range(_ATTEMPTS):
            snapshot = await self._current()
            is_filtered = where.document_ids or where.sources or where.metadata
            allowed = frozenset(await self._store.matching_chunks(where)) if is_filtered else None
            found = await run_sync(snapshot.search, query.tokens, query.limit, allowed)
            rows = await self._store.rows_of([name for name, _ in found])
            if len(rows) == len(found):
                break
            # A document was replaced between the two looks at the store.
        return [_hit(rows[name], score) for name, score in found if name in rows]

    async def aclose(self) -> None:
        """Let go of the snapshot."""
        self._snapshot = None

    async def _current(self) -> _Snapshot:
        async with self._lock:
            revision = await self._store.words_revision()
            while self._snapshot is None or self._snapshot.revision != revision:
                folder = self._folder / revision
                if not folder.is_dir():
                    await self._make(folder)
                    if await self._store.words_revision() != revision:
                        # Written to meanwhile: the words may be those of either.
                        await run_sync(partial(shutil.rmtree, folder, ignore_errors=True))
                        revision = await self._store.words_revision()
                        continue
                self._snapshot = await run_sync(_Snapshot, revision, folder)
                await run_sync(_drop_others, self._folder, revision)
            return self._snapshot

    async def _make(self, folder: Path) -> None:
        words = await self._store.words()
        if len(words) < _IN_PROCESS:
            await run_sync(make_snapshot, words, folder)
        else:
            await to_process.run_sync(make_snapshot, words, folder)


def make_snapshot(words: Words, folder: Path) -> None:
    """Write the snapshot of some words aside and put it in place in one step."""
    aside = folder.with_name(f".{new_id('new')}")
    aside.mkdir(parents=True)
    (aside / "ids.json").write_text(json.dumps([name for name, _ in words]), encoding="utf-8")
    if words:
        scorer = bm25s.BM25(k1=1.2, b=0.75)
        scorer.index([list(tokens) for _, tokens in words], show_progress=False)
        scorer.save(aside, show_progress=False)
    try:
        aside.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(aside, ignore_errors=True)


def _drop_others(folder: Path, revision: str) -> None:
    # What another process has mapped stays readable to it until it lets go.
    for path in folder.iterdir():
        if path.name != revision and not path.name.startswith("."):
            shutil.rmtree(path, ignore_errors=True)


def _hit(row: Any, score: float) -> ChunkHit:
    chunk, document = row
    return ChunkHit(chunk=chunk, document=document, score=score, score_meaning="bm25 (bm25s)")
