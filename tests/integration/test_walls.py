"""The three walls, each alone, over the whole catalogue of a built system: what may not run does not run."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Final

import pytest

from datamind.agent import DataMind
from datamind.capabilities.hooks.access import AccessHook
from datamind.core.context import RequestContext
from datamind.core.dispatch import Gate, Sides, dispatch
from datamind.core.errors import ConfigError, StoreError
from datamind.core.hooks import Deny, HookChain, NamedHook, PendingCall
from datamind.core.messages import ToolCall
from datamind.core.outcome import ToolOutcome
from datamind.core.tools import ToolRegistry, ToolSpec
from datamind.core.types import Role, ToolAccess, ToolEffect
from datamind.testing.fakes import DecisionLog
from datamind.testing.models import ScriptedModel, Turn
from tests.support.scripted import open_scripted
from tests.support.systems import write

ARGUMENTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "memory_save": {"text": "Tea is at four."},
    "memory_update": {"query": "lunch", "text": "Lunch is at two."},
    "memory_forget": {"query": "lunch"},
    "memory_recall": {"query": "lunch"},
    "memory_list": {},
    "memory_history": {"subject": "user"},
    "memory_list_namespaces": {},
    "kb_add_text": {"text": "The office closes at 17."},
    "kb_add_file": {"path": "note.md"},
    "kb_add_path": {"path": "note.md"},
    "kb_add_chunks": {"chunks": [{"text": "The gate is green."}]},
    "kb_delete": {"query": "handbook"},
    "kb_reindex": {},
    "kb_search": {"query": "office"},
    "kb_get": {"document": "handbook.md"},
    "kb_list_documents": {},
    "kb_count": {},
    "skill_upsert": {"name": "tidy", "description": "How to tidy.", "body": "Tidy."},
    "skill_delete": {"name": "report"},
    "skill_search": {"query": "report"},
    "skill_get": {"name": "report"},
    "skill_list": {},
    "graph_upsert_triples": {"triples": [{"subject": "Bo", "predicate": "knows", "object": "Cy"}]},
    "graph_import_path": {"path": "facts.ttl"},
    "graph_delete": {"subject": "Ada", "object": "Acme"},
    "graph_search_entities": {"query": "Ada"},
    "graph_neighbors": {"entity": "Ada"},
    "graph_traverse": {"start": ["Ada"]},
    "graph_path": {"start": "Ada", "goal": "Acme"},
    "graph_query": {"sparql": "ASK { ?s ?p ?o }"},
    "graph_stats": {},
    "graph_export": {"format": "nt"},
    "db_list_tables": {},
    "db_describe_table": {"table": "orders"},
    "db_sample": {"table": "orders"},
    "db_query_sql": {"sql": "SELECT * FROM orders"},
    "db_import_csv": {"path": "more.csv"},
    "db_import_path": {"path": "more.csv", "table": "others"},
    "db_import_records": {"records": [{"a": 1}]},
    "db_create_table": {"table": "made", "columns": [{"name": "a"}]},
    "db_drop_table": {"table": "orders"},
    "db_remove_import": {"table": "extra", "receipt": "<first receipt>"},
    "kb_restore": {"receipt": "<latest receipt of kb>"},
    "memory_restore": {"receipt": "<latest receipt of memory>"},
    "skill_restore": {"receipt": "<latest receipt of skills>"},
    "calculator": {"expression": "1+1"},
    "unit_convert": {"value": 1, "from_unit": "km", "to_unit": "m"},
    "get_current_time": {},
    "analyze_text": {"text": "One two."},
}
"""Arguments with which each tool really does something in ``furnished``."""

FOR_APPLICATION: Final = frozenset({"graph_export", "kb_restore", "memory_restore", "skill_restore"})
OTHER_ROLE: Final = {ToolAccess.WRITE: Role.RETRIEVE, ToolAccess.READ: Role.STORE, ToolAccess.UTILITY: Role.STORE}
OWN_ROLE: Final = {ToolAccess.WRITE: Role.STORE, ToolAccess.READ: Role.RETRIEVE, ToolAccess.UTILITY: Role.RETRIEVE}


@asynccontextmanager
async def opened(folder: Path, model: ScriptedModel | None = None) -> AsyncIterator[DataMind]:
    async with open_scripted(folder, model or ScriptedModel(), agent={"max_tool_calls": len(ARGUMENTS)}) as system:
        yield system


@pytest.fixture(scope="module")
def furniture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every tool of ``ARGUMENTS`` finds something."""
    folder = tmp_path_factory.mktemp("furniture")
    asyncio.run(furnish(folder))
    return folder


async def furnish(folder: Path) -> None:
    async with opened(folder) as system:
        (system.profile.data_dir / "note.md").write_text("The office opens at 9.")
        handbook = system.profile.data_dir / "handbook.md"
        handbook.write_text("# Handbook\n\nThe office opens at 9.")
        await write(system, "memory_save", text="Lunch is at noon.", subject="user", attribute="lunch", value="noon")
        await write(system, "kb_add_file", path=str(handbook))
        (system.profile.data_dir / "facts.ttl").write_text("<urn:t:a> <urn:t:b> <urn:t:c> .")
        facts = [{"subject": "Ada", "predicate": "works_at", "object": "Acme"}]
        await write(system, "graph_upsert_triples", triples=facts)
        (system.profile.data_dir / "more.csv").write_text("a,b\n1,2\n")
        await write(system, "db_import_records", table="extra", records=[{"id": "008"}])
        await write(system, "db_import_records", table="orders", records=[{"id": "007", "n": 1}])
        await write(system, "skill_upsert", name="report", description="How to write the report.", body="Write it.")


@pytest.fixture
def furnished(furniture: Path, tmp_path: Path) -> Path:
    """A copy of the furnished folder."""
    return Path(shutil.copytree(furniture, tmp_path / "furnished"))


def state(folder: Path) -> dict[str, Any]:
    """Every row of every database but the audit records, and every other file by its hash.

    The files of the graph and of the tables, and the lease on them, change whenever they are opened; a write of them
    is seen by its intent.
    """
    found: dict[str, Any] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not {"graph", "db"} & set(path.parts)):
        name = str(path.relative_to(folder))
        if path.suffix == ".db":
            found |= {f"{name}:{table}": rows for table, rows in tables(path) if table != "audit"}
        elif not name.endswith(("-wal", "-shm", ".lock", "/lease")):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def tables(path: Path) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            yield name, sorted(connection.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)


async def call(system: DataMind, tool: str, role: Role, gate: Gate, arguments: str | None = None) -> ToolOutcome:
    text = json.dumps(ARGUMENTS[tool]) if arguments is None else arguments
    if "<first receipt>" in text:
        text = text.replace("<first receipt>", (await system.receipts.latest(surface="db", limit=100))[-1].receipt_id)
    if found := re.search("<latest receipt of ([a-z]+)>", text):
        text = text.replace(found[0], (await system.receipts.latest(surface=found[1], limit=1))[0].receipt_id)
    by_application = tool in FOR_APPLICATION
    ctx = RequestContext(system.profile.name, role, by_application=by_application, sink=len)
    return await dispatch(ToolCall(id="call_1", name=tool, arguments=text), ctx, gate)


def full_gate(system: DataMind, *hooks: NamedHook) -> Gate:
    """A gate whose registry was filled with everything."""
    sides = Sides(system.services.read, system.services.write)
    return Gate(ToolRegistry(system.catalogue), HookChain(hooks), sides, DecisionLog())


async def test_the_arguments_of_this_file_cover_the_catalogue_and_do_something(furnished: Path) -> None:
    """The control: for the right role every one of these calls runs, and the sensors see the writes."""
    async with opened(furnished) as system:
        assert {spec.name for spec in system.catalogue} == set(ARGUMENTS)
        for spec in sorted(system.catalogue, key=lambda spec: spec.effect is ToolEffect.DESTRUCTIVE):
            role = OWN_ROLE[spec.access]
            before = state(furnished)
            outcome = await call(system, spec.name, role, system.agents[role].gate)
            assert (outcome.is_error, outcome.data.get("matched")) == (False, None), (spec.name, outcome.message)
            assert (state(furnished) != before) is spec.writes, spec.name


async def test_first_wall_the_registry_of_a_role_does_not_hold_the_other_half(furnished: Path) -> None:
    async with opened(furnished) as system:
        before = state(furnished)
        for spec in system.catalogue:
            role = OTHER_ROLE[spec.access]
            assert spec.name not in system.registry(role)
            assert spec.name not in {tool.name for tool in system.registry(role).definitions()}
            outcome = await call(system, spec.name, role, system.agents[role].gate)
            assert (outcome.denied, outcome.code, outcome.receipts) == (True, "access_denied.unknown_tool", ())
        assert set(system.registry(Role.STORE)) | set(system.registry(Role.RETRIEVE)) == set(ARGUMENTS)
        assert state(furnished) == before


async def test_what_is_for_the_application_is_nothing_a_model_can_name(furnished: Path) -> None:
    async with opened(furnished) as system:
        assert {spec.name for spec in system.catalogue if spec.for_application} == FOR_APPLICATION
        for name, spec in {spec.name: spec for spec in system.catalogue if spec.for_application}.items():
            role = OWN_ROLE[spec.access]
            assert name not in {tool.name for tool in system.registry(role).definitions()}
            ctx = RequestContext(system.profile.name, role, sink=len)
            asked = ToolCall(id="call_1", name=name, arguments=json.dumps(ARGUMENTS[name]))
            outcome = await dispatch(asked, ctx, system.agents[role].gate)
            assert (outcome.denied, outcome.code) == (True, "access_denied.unknown_tool")


async def test_second_wall_dispatch_alone(furnished: Path) -> None:
    async with opened(furnished) as system:
        before = state(furnished)
        gate = full_gate(system)
        for spec in system.catalogue:
            outcome = await call(system, spec.name, OTHER_ROLE[spec.access], gate)
            assert (outcome.denied, outcome.code, outcome.receipts) == (True, "access_denied.role", ()), spec.name
        assert state(furnished) == before


async def test_third_wall_the_access_hook_alone(furnished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datamind.core.dispatch.assert_access", lambda spec, role: None)
    async with opened(furnished) as system:
        before = state(furnished)
        gate = full_gate(system, NamedHook("access", 0, AccessHook()))
        for spec in system.catalogue:
            outcome = await call(system, spec.name, OTHER_ROLE[spec.access], gate)
            assert (outcome.denied, outcome.code, outcome.receipts) == (True, "access_denied.role", ()), spec.name
        assert state(furnished) == before


async def test_the_access_hook_decides_on_the_effect_of_every_tool(furnished: Path) -> None:
    async with opened(furnished) as system:
        for spec in system.catalogue:
            for role in Role:
                ctx = RequestContext(system.profile.name, role)
                decision = await AccessHook().pre(PendingCall("c", spec, ARGUMENTS[spec.name]), ctx)
                assert isinstance(decision, Deny) is (spec.access not in role.access), (spec.name, role)


async def test_no_setting_takes_the_access_hook_away(tmp_path: Path) -> None:
    async with open_scripted(tmp_path, ScriptedModel(), hooks={"enabled": False, "path_allowlist": False}) as system:
        for role in Role:
            assert [hook.name for hook in system.agents[role].gate.hooks.hooks] == ["access"]


def misspelt(name: str) -> list[str]:
    homoglyph = name.translate({ord("e"): "\u0435", ord("a"): "\u0430", ord("o"): "\u043e", ord("i"): "\u0456"})
    wide = chr(ord(name[0]) + 0xFEE0) + name[1:]
    return [
        name.upper(),
        name.title(),
        f"{name} ",
        f" {name}",
        f"{name}\u200b",
        f"\u202e{name}",
        homoglyph,
        wide,
        name[:-1],
    ]


async def test_names_match_exactly(furnished: Path) -> None:
    async with opened(furnished) as system:
        before = state(furnished)
        for spec in system.catalogue:
            role = OWN_ROLE[spec.access]
            for name in misspelt(spec.name):
                ctx = RequestContext(system.profile.name, role)
                made = ToolCall(id="c", name=name, arguments=json.dumps(ARGUMENTS[spec.name]))
                outcome = await dispatch(made, ctx, system.agents[role].gate)
                assert outcome.code == "access_denied.unknown_tool", name
        assert state(furnished) == before


HOSTILE_KEYS: Final = (
    "approved",
    "_role",
    "role",
    "profile",
    "session",
    "confirm_destructive",
    "receipt_id",
    "__proto__",
)


async def test_a10_a21_no_tool_takes_a_key_it_does_not_know(furnished: Path) -> None:
    async with opened(furnished) as system:
        before = state(furnished)
        for spec in system.catalogue:
            role = OWN_ROLE[spec.access]
            for key in HOSTILE_KEYS:
                arguments = json.dumps({**ARGUMENTS[spec.name], key: "store"})
                outcome = await call(system, spec.name, role, system.agents[role].gate, arguments)
                assert outcome.code.startswith("arguments_invalid"), (spec.name, key, outcome.code)
        assert state(furnished) == before


def hostile_texts(arguments: Mapping[str, Any]) -> list[str]:
    whole = json.dumps(arguments)
    first = json.dumps(next(iter(arguments), "x"))
    inside = whole[1:-1]
    joined = f", {inside}" if inside else ""
    return [
        whole[:-1],
        f"[{whole}]",
        f"{whole}{whole}",
        f"\ufeff{whole}",
        f"{{{first}: 1, {first}: 1{joined}}}",
        f"{{{first}: NaN}}",
        f"{{{first}: {'[' * 10_000}",
        f'{{{first}: "\\ud800"}}',
        f'{{{first}: "{"x" * (1 << 20)}"}}' if whole != "{}" else '{"x": 1}',
        f'{{{first}: {{"$ne": null}}}}',
        "null",
    ]


async def test_hostile_arguments_run_nothing_on_any_tool(furnished: Path) -> None:
    async with opened(furnished) as system:
        before = state(furnished)
        for spec in system.catalogue:
            role = OWN_ROLE[spec.access]
            for text in hostile_texts(ARGUMENTS[spec.name]):
                outcome = await call(system, spec.name, role, system.agents[role].gate, text)
                if spec.name == "kb_add_text" and len(text) > 1 << 20:
                    continue  # it takes a text of this size, and would have to
                assert outcome.is_error and outcome.code.startswith("arguments_invalid"), (spec.name, text[:60])
                assert len(outcome.to_text()) < 2_000
        changed = {key for key, value in state(furnished).items() if before.get(key) != value}
        assert not [key for key in changed if "memory" in key or "skills" in key]


async def test_a_hostile_model_calls_the_other_half_and_nothing_happens(furniture: Path, tmp_path: Path) -> None:
    """Through the loop: every tool of the catalogue, for both roles."""
    calls = [ToolCall(id="", name=name, arguments=json.dumps(arguments)) for name, arguments in ARGUMENTS.items()]
    for role in Role:
        theirs = [made for made in calls if made.name]
        model = ScriptedModel()
        shutil.copytree(furniture, tmp_path / role)
        async with opened(tmp_path / role, model) as system:
            theirs = [made for made in calls if made.name not in system.registry(role)]
            model.add(Turn(calls=theirs), "Done.")
            before = state(tmp_path / role)
            events = [event async for event in system.stream("Do it all.", role=role)]
            result = events[-1].result  # type: ignore[union-attr]
            assert [trace.code for trace in result.tool_trace] == ["access_denied.unknown_tool"] * len(theirs)
            assert (result.surfaces_used, result.receipts) == ((), ())
            after = state(tmp_path / role)
            assert {key for key in after if after[key] != before.get(key)} <= {"storage/default/control.db:answers"}


async def test_a_write_that_keeps_no_receipts_does_not_get_into_a_registry(tmp_path: Path) -> None:
    from datamind.capabilities.kb.tools import kb_tools
    from datamind.capabilities.memory.tools import memory_tools
    from datamind.capabilities.skills.tools import skill_tools

    unwrapped = [spec for spec in (*kb_tools(), *memory_tools(), *skill_tools()) if spec.writes]
    assert len(unwrapped) >= 8
    for spec in unwrapped:
        with pytest.raises(ConfigError, match=spec.name):
            ToolRegistry([spec])


# The sides


async def test_a_pure_tool_is_given_no_side_and_a_reading_one_the_read_side(furnished: Path) -> None:
    given: dict[str, Any] = {}

    def watched(spec: ToolSpec) -> ToolSpec:
        async def handler(args: Any, ctx: Any) -> Any:
            given[spec.name] = ctx.side
            return await spec.handler(args, ctx)

        return spec if spec.writes else ToolSpec(**{**vars(spec), "handler": handler})

    async with opened(furnished) as system:
        services = system.services
        tools = ToolRegistry.select([watched(spec) for spec in system.catalogue], Role.RETRIEVE)
        gate = Gate(tools, HookChain(), Sides(services.read, services.write), DecisionLog())
        for spec in tools.values():
            assert not (await call(system, spec.name, Role.RETRIEVE, gate)).is_error
            assert given[spec.name] is (None if spec.effect is ToolEffect.PURE else services.read), spec.name


_WRITES: Final = re.compile(
    r"(put|save|store|forget|delete|remove|update|write|add|insert|end|begin|finish|reindex|rebuild|upsert|sync|append"
    r"|record|execute|commit|close|aclose|drop|migrate|set|import|load)(_|$)"
)


def public_methods(side: object, path: str = "side", depth: int = 0) -> Iterator[str]:
    """Every public method that can be reached over public attributes, as a dotted path."""
    if depth > 4:
        return
    for name in dir(side):
        if name.startswith("_"):
            continue
        value = getattr(side, name)
        if callable(value):
            yield f"{path}.{name}"
        elif type(value).__module__.startswith("datamind"):
            yield from public_methods(value, f"{path}.{name}", depth + 1)


async def test_no_public_path_leads_from_the_read_side_to_a_write(furnished: Path) -> None:
    async with opened(furnished) as system:
        found = list(public_methods(system.services.read))
        assert "side.memory.recall" in found and "side.kb.search" in found and "side.skills.search" in found
        assert [path for path in found if _WRITES.match(path.rpartition(".")[2])] == []
        assert [path for path in public_methods(system.services.write) if _WRITES.match(path.rpartition(".")[2])]


async def test_the_views_behind_the_read_side_have_no_write_methods(furnished: Path) -> None:
    async with opened(furnished) as system:
        read = system.services.read
        views = [
            (await read.memory._stores.own()).read_view(),
            await read.kb._reader(),
            await read.skills._reader(),
        ]
        for view in views:
            assert [name for name in dir(view) if not name.startswith("_") and _WRITES.match(name)] == [], view


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM memories",
        "UPDATE memories SET text = 'x'",
        "INSERT INTO memories SELECT * FROM memories",
        "DROP TABLE memories",
        "CREATE TABLE t (x)",
        "PRAGMA user_version = 99",
        "PRAGMA query_only = OFF",
    ],
)
async def test_the_engine_keeps_the_memory_read_connection_from_writing(furnished: Path, statement: str) -> None:
    async with opened(furnished) as system:
        view = (await system.services.read.memory._stores.own()).read_view()
        before = state(furnished)

        def attempt(connection: sqlite3.Connection) -> None:
            connection.execute(statement)
            connection.execute("DELETE FROM memories")

        with pytest.raises((StoreError, sqlite3.Error)):
            await view._connection.run(attempt, absent=None)  # type: ignore[attr-defined]
        assert state(furnished) == before
