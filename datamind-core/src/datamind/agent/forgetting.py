"""What forgetting a source, an entity, what words name, or single writes would take away, surface by surface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from datamind.agent.undo import removal_of
from datamind.capabilities.control.sources import StoredSource
from datamind.capabilities.graph.terms import read_line
from datamind.capabilities.memory.service import visible
from datamind.core.context import RequestContext, ToolContext
from datamind.core.errors import InputInvalid, NotFound
from datamind.core.hooks import Candidates
from datamind.core.protocols.graph import TriplePattern
from datamind.core.protocols.memory import MemoryItem
from datamind.core.receipts import IngestReceipt, profile_of_receipt
from datamind.core.types import DataSurface, Role
from datamind.plugins import ProviderKind

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind

_AT_ONCE: Final = 1_000
_MOST: Final = 10_000
_LABELS: Final = 5
_WORD_CHARS: Final = 60
_MIN_WORD_CHARS: Final = 8


@dataclass(frozen=True, slots=True)
class ForgetStep:
    """One deletion.

    Attributes:
        what: What goes, for a person to read.
        count: How many documents, memories, imports, writes or entities that is.
    """

    surface: DataSurface
    tool: str
    arguments: Mapping[str, Any]
    what: str
    count: int
    session: str = ""


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What a forget will do.

    Attributes:
        steps: What goes of the surfaces.
        receipts: The writes whose stored content, answers and conversations go too when it is erased.
        stays: What is touched by it and cannot go, and why, for a person to read.
        source_ids: Of every version of the documents.
        memory_ids: Of the memories, forgotten ones too.
        words: Texts of it that were read for the plan.
        is_partial: Whether a write stays of which only a part goes.
    """

    steps: tuple[ForgetStep, ...] = ()
    receipts: tuple[IngestReceipt, ...] = ()
    stays: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()
    memory_ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    is_partial: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing of what was asked for was ever stored, or all of it is erased."""
        return not self.steps and not self.receipts

    @property
    def counts(self) -> Mapping[DataSurface, int]:
        """How much goes of each surface."""
        found: dict[DataSurface, int] = {}
        for step in self.steps:
            found[step.surface] = found.get(step.surface, 0) + step.count
        return found


@dataclass(slots=True)
class _Found:
    """What the plan is made from, as it is gathered."""

    versions: dict[tuple[str, str], StoredSource] = field(default_factory=dict)
    receipts: dict[str, IngestReceipt] = field(default_factory=dict)
    memories: dict[str, tuple[MemoryItem | None, str]] = field(default_factory=dict)
    entities: list[tuple[str, str]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    stays: list[str] = field(default_factory=list)
    is_partial: bool = False

    def take(self, receipts: Iterable[IngestReceipt]) -> None:
        # Also of writes that failed: what was to be written stands in their intents.
        self.receipts.update({one.receipt_id: one for one in receipts})


async def plan_forget(
    system: DataMind, *, source: str = "", entity: str = "", query: str = "", receipts: Sequence[str] = ()
) -> ForgetPlan:
    """See ``DataMind.plan_forget``."""
    if sum(map(bool, (source, entity, query, receipts))) != 1:
        raise InputInvalid(
            "what is to be forgotten is not said once", hint="Give a source, an entity, words or receipts."
        )
    found = _Found()
    if source:
        await _add_source(system, found, source)
    elif entity:
        await _add_entity(system, found, entity)
    elif query:
        await _add_matching(system, found, query)
    else:
        await _add_receipts(system, found, receipts)
    await _add_skill_versions(system, found)
    await _add_memories_of_receipts(system, found)
    return await _plan(system, found)


async def _add_source(system: DataMind, found: _Found, source: str) -> None:
    names = [source, f"file:{source}"]
    versions = await system.services.control.sources.named(names)
    await _add_versions(system, found, versions)
    uris = {version.source.uri for version in versions}
    for control in system.services.controls():
        found.take(await control.receipts.of_source([*names, *uris]))
    found.stays += [f"the file {uri.removeprefix('file:')} itself is yours" for uri in _files(found)]


async def _add_versions(system: DataMind, found: _Found, versions: Sequence[StoredSource]) -> None:
    ids = list({version.document_id for version in versions})
    for version in await system.services.control.sources.named(ids) if ids else ():
        found.versions[version.source.source_id, version.content_hash] = version
        for receipt_id in version.receipt_ids:
            receipt = await system.services.control.receipts.get(receipt_id)
            found.take([receipt] if receipt else [])


async def _add_entity(system: DataMind, found: _Found, entity: str) -> None:
    found.words.append(entity)
    for session in await _sessions(system):
        for item in await _memories(system, session, subject=entity):
            found.memories.setdefault(item.memory_id, (item, session))
    candidates = await _candidates(system, "graph_delete", {"entity": entity})
    for node, label in zip(candidates.ids, candidates.labels, strict=True):
        found.entities.append((node, label))
    if found.entities:
        await _add_writes_about(system, found)
    documents = await _candidates(system, "kb_delete", {"query": entity})
    if documents.ids:
        named = "; ".join(documents.labels[:_LABELS])
        found.stays.append(f"{len(documents.ids)} documents that name it stay: {named}; forget them by their source")


async def _add_writes_about(system: DataMind, found: _Found) -> None:
    """The writes that say nothing but of the entity; others stay, and a part of them goes."""
    graph = await system.services.hub.open(ProviderKind.GRAPH_STORE)
    about: dict[str, set[Any]] = {}
    for node, _ in found.entities:
        (term,) = read_line(node)
        for where in (TriplePattern(subject=term), TriplePattern(object=term)):
            page = await graph.statements(where, limit=_AT_ONCE)
            for triple, asserted in zip(page.triples, await graph.asserted_by(page.triples), strict=True):
                for one in asserted:
                    about.setdefault(one.unit.receipt_id, set()).add(triple)
    for receipt_id, triples in about.items():
        every = await graph.statements(TriplePattern(receipt_id=receipt_id), limit=len(triples) + 1)
        receipt = await system.services.control.receipts.get(receipt_id)
        if len(every.triples) <= len(triples) and receipt is not None:
            found.take([receipt])
        else:
            found.is_partial = True
            named = receipt.source.uri if receipt and receipt.source else receipt_id
            found.stays.append(f"the stored content of {named} says other things too; forget it by its source")


async def _add_matching(system: DataMind, found: _Found, query: str) -> None:
    documents = await _candidates(system, "kb_delete", {"query": query})
    versions = await system.services.control.sources.named(documents.ids) if documents.ids else ()
    await _add_versions(system, found, versions)
    for session in await _sessions(system):
        memories = await _candidates(system, "memory_forget", {"query": query}, session)
        for item in await _memories(system, session, memory_ids=memories.ids) if memories.ids else ():
            found.memories.setdefault(item.memory_id, (item, session))
    skills = system.services.read.skills_or_none
    if skills is not None and await skills.find(query) is not None:
        found.take(await system.services.control.receipts.of_id(DataSurface.SKILLS, query))
    found.stays += [f"the file {uri.removeprefix('file:')} itself is yours" for uri in _files(found)]


async def _add_receipts(system: DataMind, found: _Found, asked: Sequence[str]) -> None:
    for receipt_id in asked:
        receipt = await system.services.control_of(profile_of_receipt(receipt_id)).receipts.get(receipt_id)
        if receipt is None:
            raise NotFound(f"there is no receipt {receipt_id[:80]!r}", hint="`datamind receipts` lists receipts.")
        found.take([receipt])
        if receipt.result.surface is DataSurface.KB:
            named = await system.services.control.sources.named(receipt.result.ids)
            await _add_versions(system, found, [one for one in named if receipt_id in one.receipt_ids])


async def _add_skill_versions(system: DataMind, found: _Found) -> None:
    """A removal or a change of a skill keeps the text before it: all writes of a name go together."""
    skills = [one for one in found.receipts.values() if one.result.surface is DataSurface.SKILLS]
    for name in {name for receipt in skills for name in receipt.result.ids}:
        found.take(await system.services.control.receipts.of_id(DataSurface.SKILLS, name))


async def _add_memories_of_receipts(system: DataMind, found: _Found) -> None:
    given = {
        name: None
        for receipt in found.receipts.values()
        if receipt.result.surface is DataSurface.MEMORY
        for name in receipt.result.ids
    }
    for session in await _sessions(system) if given else ():
        for item in await _memories(system, session, memory_ids=tuple(given)):
            found.memories.setdefault(item.memory_id, (item, session))
    for name in given:
        found.memories.setdefault(name, (None, ""))
    await _add_receipts_of_memories(system, found)


async def _add_receipts_of_memories(system: DataMind, found: _Found) -> None:
    """The writes that gave the memories, unless one gave others too."""
    for item, _ in list(found.memories.values()):
        if item is None or item.receipt_id in found.receipts:
            continue
        receipt = await system.services.control_of(profile_of_receipt(item.receipt_id)).receipts.get(item.receipt_id)
        if receipt is None:
            continue
        if set(receipt.result.ids) <= found.memories.keys():
            found.take([receipt])
        else:
            found.stays.append(f"the write {receipt.receipt_id} gave other memories too, and its record stays")
    for control in system.services.controls():
        for name in found.memories:
            found.take(
                one
                for one in await control.receipts.of_id(DataSurface.MEMORY, name)
                if set(one.result.ids) <= found.memories.keys()
            )


async def _plan(system: DataMind, found: _Found) -> ForgetPlan:
    steps = [*await _document_steps(system, found), *_memory_steps(found), *await _write_steps(system, found)]
    if found.entities:
        shown = "; ".join(label for _, label in found.entities[:_LABELS])
        ids = [node for node, _ in found.entities]
        steps.append(ForgetStep(DataSurface.GRAPH, "graph_delete", {"ids": ids}, shown, len(ids)))
    texts = [item.text for item, _ in found.memories.values() if item is not None]
    return ForgetPlan(
        tuple(steps),
        tuple(found.receipts.values()),
        tuple(dict.fromkeys(found.stays)),
        tuple(dict.fromkeys(version.source.source_id for version in found.versions.values())),
        tuple(found.memories),
        tuple(dict.fromkeys(word for word in map(_word, [*found.words, *texts]) if len(word) >= _MIN_WORD_CHARS)),
        found.is_partial,
    )


async def _document_steps(system: DataMind, found: _Found) -> list[ForgetStep]:
    active = {one.document_id: one.title or one.source.uri for one in found.versions.values() if one.state == "active"}
    ids = list(active)
    steps = []
    for start in range(0, len(ids), _AT_ONCE):
        part = ids[start : start + _AT_ONCE]
        there = await _candidates(system, "kb_delete", {"document_ids": part})
        if there.ids:
            shown = "; ".join(active[name] for name in there.ids[:_LABELS] if name in active)
            steps.append(
                ForgetStep(DataSurface.KB, "kb_delete", {"document_ids": list(there.ids)}, shown, len(there.ids))
            )
    return steps


def _memory_steps(found: _Found) -> list[ForgetStep]:
    sessions: dict[str, list[MemoryItem]] = {}
    for item, session in found.memories.values():
        if item is not None:
            sessions.setdefault(session, []).append(item)
    return [
        ForgetStep(
            DataSurface.MEMORY,
            "memory_forget",
            {"memory_ids": [item.memory_id for item in items]},
            "; ".join(item.text[:_WORD_CHARS] for item in items[:_LABELS]),
            len(items),
            session,
        )
        for session, items in sessions.items()
    ]


async def _write_steps(system: DataMind, found: _Found) -> list[ForgetStep]:
    """For tables, statements and skills: what each write has left."""
    steps: dict[tuple[str, str], ForgetStep] = {}
    for receipt in reversed(list(found.receipts.values())):
        surface = receipt.result.surface
        if surface in system.services.off or not receipt.result.ids:
            continue
        if surface is DataSurface.SKILLS:
            name = receipt.result.ids[0]
            there = await _candidates(system, "skill_delete", {"name": name})
            if there.ids:
                steps["skill_delete", name] = ForgetStep(surface, "skill_delete", {"name": name}, name, 1)
        elif surface in (DataSurface.DB, DataSurface.GRAPH) and receipt.result.operation not in ("deleted", "none"):
            for step in await removal_of(system, receipt):
                arguments = dict(step.arguments)
                steps[step.tool, str(arguments)] = ForgetStep(surface, step.tool, arguments, step.what, 1)
    return list(steps.values())


async def _candidates(system: DataMind, tool: str, arguments: Mapping[str, Any], session: str = "") -> Candidates:
    """What a tool would delete; nothing when its surface is off."""
    spec = system.registry(Role.STORE).get(tool)
    if spec is None or spec.selector is None:
        return Candidates((), ())
    ctx = RequestContext(system.profile.name, Role.STORE, session=session, by_application=True)
    context = ToolContext(ctx, "forget", system.services.write)
    found: Candidates = await spec.selector.find(spec.parse(arguments), context)
    return found


async def _sessions(system: DataMind) -> Sequence[str]:
    return ("", *await system.services.control.receipts.sessions_of(DataSurface.MEMORY))


async def _memories(system: DataMind, session: str, **conditions: Any) -> list[MemoryItem]:
    """What a conversation sees that agrees, holding or not, of both stores."""
    where = visible(session, include_closed=True, **conditions)
    return [item for store in await memory_stores(system) for item in await store.find(where, limit=_MOST)]


async def memory_stores(system: DataMind) -> list[Any]:
    """The store of the profile, and that of the global memories where there are any."""
    services = system.services
    if DataSurface.MEMORY in services.off:
        return []
    shared = [services.shared_hub] if services.shared_control.if_exists() is not None else []
    return [await hub.open(ProviderKind.MEMORY_STORE) for hub in (services.hub, *shared)]


def _files(found: _Found) -> list[str]:
    uris = [version.source.uri for version in found.versions.values() if version.source.kind == "file"]
    uris += [one.source.uri for one in found.receipts.values() if one.source and one.source.kind == "file"]
    return sorted(set(uris))


def _word(text: str) -> str:
    return text.strip()[:_WORD_CHARS]
