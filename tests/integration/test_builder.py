"""``build_datamind``: it assembles what is there, says what is not, and refuses what was asked for and is missing."""

from __future__ import annotations

import itertools
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import datamind
from datamind.agent import DataMind, build_agent, build_datamind, build_store_agent
from datamind.capabilities.hooks.access import AccessHook
from datamind.capabilities.hooks.path_allowlist import PathAllowlistHook
from datamind.config import Settings
from datamind.core.context import RequestContext
from datamind.core.errors import ConfigError, PluginError
from datamind.core.hooks import Allow, Deny, PendingCall
from datamind.core.outcome import ToolOutcome
from datamind.core.tools import ToolOutput, ToolSpec
from datamind.core.types import DataSurface, Role, ToolEffect
from datamind.plugins import PromptSection, ToolHookSpec, hookimpl
from datamind.testing.fakes import ScriptedApprover
from datamind.testing.gates import make_tool
from datamind.testing.models import ScriptedModel, calling
from tests.support.scripted import Entry, host_of, installed, open_scripted
from tests.support.systems import contents, read, settings_in, write

SURFACE_OF = {"memory-sqlite": "memory", "skills": "skills"}
PLUGINS = ("memory-sqlite", "model-offline", "skills")
SETS = [names for size in range(len(PLUGINS) + 1) for names in itertools.combinations(PLUGINS, size)]


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    logger = logging.getLogger("datamind")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield
    for handler in set(logger.handlers) - set(before[0]):
        handler.close()
    logger.handlers[:], logger.level, logger.propagate = before


async def build(folder: Path, *entries: Any, **options: Any) -> DataMind:
    settings = settings_in(folder, **options.pop("sections", {}))
    return await build_datamind(settings, host=host_of(*entries), **options)


@pytest.mark.parametrize("names", SETS, ids=" ".join)
@pytest.mark.parametrize("kb", [{"backend": "memory"}, {}], ids=["kb", "no kb"])
async def test_any_set_of_plugins_builds_and_says_what_is_off(
    tmp_path: Path, names: tuple[str, ...], kb: dict[str, str]
) -> None:
    plugins = installed(*names) if names else []
    system = await build(tmp_path, *plugins, sections={"kb": kb})
    try:
        on = {SURFACE_OF[name] for name in names if name in SURFACE_OF} | ({"kb"} if kb else set())
        assert {status.surface for status in await system.surfaces() if status.available} == on
        said = {notice.code: notice.message for notice in system.notices}
        assert set(said) == {f"surface_off.{surface}" for surface in {"memory", "kb", "skills", "db", "graph"} - on}
        assert all("pip install datamind-" in message for message in said.values())
        assert {spec.surface.value for spec in system.catalogue} - {"utility"} == on
        assert ("calculator" in system.registry(Role.RETRIEVE)) is ("skills" in names)
        await one_round(system, "model-offline" in names, on)
    finally:
        await system.aclose()


async def one_round(system: DataMind, has_model: bool, on: set[str]) -> None:
    if not has_model:
        with pytest.raises(PluginError, match="pip install datamind-model-offline"):
            await system.query("What is there?")
        return
    result = await system.query("What is there?")
    assert {notice.code for notice in system.notices} <= {notice.code for notice in result.notices}
    assert result.extractive
    if "memory" in on:
        assert (await system.ingest("Remember: lunch is at noon.")).status == "stored"


async def test_a_store_without_its_plugin_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="pip install datamind-memory-sqlite"):
        await build(tmp_path, sections={"memory": {"backend": "sqlite"}})


async def test_enable_leaves_the_other_surfaces_out(tmp_path: Path) -> None:
    system = await build(tmp_path, *installed(), enable=["kb"])
    try:
        assert {spec.surface for spec in system.catalogue} == {DataSurface.KB, DataSurface.UTILITY}
        assert "it was not enabled" in {notice.code: notice.message for notice in system.notices}["surface_off.memory"]
    finally:
        await system.aclose()
    with pytest.raises(ConfigError, match=r"kbb.*Known: db, graph, kb, memory, skills"):
        await build(tmp_path, enable=["kbb"])


async def test_a_broken_plugin_that_nothing_names_costs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Entry):
        def load(self) -> Any:
            raise ImportError("no engine here")

    system = await build(tmp_path, *installed("memory-sqlite"), Broken("acme"))
    try:
        assert (await write(system, "memory_save", text="It works.")).receipts
        assert "acme" in caplog.text
    finally:
        await system.aclose()


# Hooks


class _Hook:
    def __init__(self, decision: Any) -> None:
        self._decision = decision
        self.saw: list[str] = []

    async def pre(self, call: PendingCall, ctx: RequestContext) -> Any:
        self.saw.append(call.spec.name)
        return self._decision

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        return None


denying = _Hook(Deny("closed on Sundays"))
allowing = _Hook(Allow())


def make_denying(settings: Settings, services: Any) -> _Hook:
    return denying


def make_allowing(settings: Settings, services: Any) -> _Hook:
    return allowing


def hooks(**factories: str) -> Entry:
    @hookimpl
    def register(settings: Any, services: Any) -> list[ToolHookSpec]:
        return [ToolHookSpec(name, 50, f"{__name__}:{factory}") for name, factory in factories.items()]

    return Entry("policy", datamind_register_tool_hooks=register)


async def test_a_required_hook_that_is_absent_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'sundays' is absent \(present: access, path_allowlist\)"):
        await build(tmp_path, sections={"hooks": {"required": ["sundays"]}})
    with pytest.raises(ConfigError, match="'path_allowlist' is absent"):
        await build(tmp_path, sections={"hooks": {"required": ["path_allowlist"], "path_allowlist": False}})
    with pytest.raises(ConfigError, match="'sundays' is absent"):
        off = {"required": ["sundays"], "enabled": False}
        await build(tmp_path, hooks(sundays="make_denying"), sections={"hooks": off})
    system = await build(tmp_path, hooks(sundays="make_denying"), sections={"hooks": {"required": ["sundays"]}})
    await system.aclose()


async def test_a_required_hook_whose_plugin_breaks_stops_the_build(tmp_path: Path) -> None:
    @hookimpl
    def register(settings: Any, services: Any) -> list[ToolHookSpec]:
        raise RuntimeError("no policy server")

    broken = Entry("policy", datamind_register_tool_hooks=register)
    with pytest.raises(ConfigError, match="'sundays' is absent"):
        await build(tmp_path, broken, sections={"hooks": {"required": ["sundays"]}})


async def test_a_plugin_cannot_stand_in_for_a_built_in_hook(tmp_path: Path) -> None:
    section = {"required": ["path_allowlist"], "path_allowlist": False}
    with pytest.raises(ConfigError, match=r"'path_allowlist' is absent .* is claimed by both datamind-core"):
        await build(tmp_path, hooks(path_allowlist="make_allowing"), sections={"hooks": section})
    system = await build(tmp_path, hooks(access="make_allowing"), sections={"hooks": {"required": ["access"]}})
    assert [type(named.hook) for named in system.agents[Role.STORE].gate.hooks.hooks] == [AccessHook, PathAllowlistHook]
    await system.aclose()


async def test_b26_a_hook_that_cannot_be_made_stops_a_build_only_where_it_is_required(tmp_path: Path) -> None:
    missing = hooks(sundays="not_there")
    system = await build(tmp_path, missing, tools(make_tool("look")))
    assert "look" in system.registry(Role.RETRIEVE)
    await system.aclose()
    with pytest.raises(ConfigError, match=r"'sundays' is absent .* plugin 'policy' of .* failed: .*not_there"):
        await build(tmp_path, missing, sections={"hooks": {"required": ["sundays"]}})


async def test_a_hook_of_a_plugin_sees_and_stops_every_call(tmp_path: Path) -> None:
    denying.saw.clear()
    system = await build(tmp_path, *installed("memory-sqlite"), hooks(sundays="make_denying"))
    try:
        saved = await write(system, "memory_save", text="Never.")
        listed = await read(system, "memory_list")
        assert [(outcome.denied, outcome.message) for outcome in (saved, listed)] == [(True, "closed on Sundays")] * 2
        assert denying.saw == ["memory_save", "memory_list"]
    finally:
        await system.aclose()
    assert audit_kinds(tmp_path) == ["denied", "denied"]


def audit_kinds(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "storage" / "default" / "control.db") as connection:
        return [row[0] for row in connection.execute("SELECT json_extract(body, '$.kind') FROM audit ORDER BY seq")]


async def test_the_approver_decides_what_a_hook_asks(tmp_path: Path) -> None:
    for answers, status in (([], "approval_required"), ([True], "")):
        approver = ScriptedApprover(answers)
        system = await build(tmp_path / str(len(answers)), *installed("memory-sqlite"), approver=approver)
        try:
            for text in ("The lamp is red.", "The lamp is blue."):
                await write(system, "memory_save", text=text)
            outcome = await write(system, "memory_forget", query="lamp")
            assert outcome.code == status
            assert len(approver.requests[0].candidates) == 2
            assert len(contents(await read(system, "memory_list"))) == (0 if answers else 2)
        finally:
            await system.aclose()
        kinds = audit_kinds(tmp_path / str(len(answers)))[4:]
        assert kinds == (["asked", "approved", "intent", "outcome"] if answers else ["asked", "denied"])


async def test_a69_the_record_of_decisions_can_be_switched_off_and_that_of_writes_cannot(tmp_path: Path) -> None:
    system = await build(tmp_path, *installed("memory-sqlite"), sections={"hooks": {"audit_log": False}})
    try:
        await write(system, "no_such_tool")
        await write(system, "memory_save", text="It works.")
    finally:
        await system.aclose()
    assert audit_kinds(tmp_path) == ["intent", "outcome"]


async def test_a69_switching_off_the_path_hook_does_not_open_the_file_system(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("canary")
    for section, code in (
        ({}, "approval_required"),
        ({"path_allowlist": False}, "path_denied"),
        ({"enabled": False}, "path_denied"),
    ):
        system = await build(tmp_path / "base", sections={"hooks": section})
        try:
            outcome = await write(system, "kb_add_file", path=str(secret))
            assert (outcome.is_error, outcome.code.partition(".")[0]) == (True, code)
        finally:
            await system.aclose()
    allowed = {"path_allowlist_extra": [str(tmp_path)]}
    system = await build(tmp_path / "base", sections={"hooks": allowed})
    try:
        assert (await write(system, "kb_add_file", path=str(secret))).receipts[0].status == "stored"
    finally:
        await system.aclose()


# Other settings that act


@pytest.mark.parametrize("ingest", [{"kb_max_bytes": 10}, {"max_bytes": 10}])
async def test_a69_the_size_of_a_file_is_bounded_by_both_settings(tmp_path: Path, ingest: dict[str, int]) -> None:
    system = await build(tmp_path, sections={"ingest": ingest})
    try:
        file = system.profile.data_dir / "a.md"
        file.write_text("x" * 11)
        outcome = await write(system, "kb_add_file", path="a.md")
        assert (outcome.is_error, outcome.code.partition(".")[0]) == (True, "limit_exceeded")
    finally:
        await system.aclose()


async def test_a69_the_chunk_size_acts(tmp_path: Path) -> None:
    counts = []
    for size in (80, 4000):
        retrieval = {"chunk_size": size, "chunk_overlap": 0}
        system = await build(tmp_path / str(size), sections={"retrieval": retrieval})
        try:
            await write(system, "kb_add_text", text="The office opens at nine. " * 40)
            counts.append((await read(system, "kb_count")).data["chunks"])
        finally:
            await system.aclose()
    assert counts[0] > counts[1] == 1


@pytest.mark.parametrize(
    ("section", "loaded"),
    [
        ({}, True),
        ({"block": ["memory-sqlite"]}, False),
        ({"allow": ["skills"]}, False),
        ({"allow": ["memory-sqlite"]}, True),
    ],
)
async def test_a69_the_plugins_section_acts(tmp_path: Path, section: dict[str, Any], loaded: bool) -> None:
    system = await build_datamind(settings_in(tmp_path, plugins=section))
    try:
        assert (DataSurface.MEMORY in system.services.on) is loaded
    finally:
        await system.aclose()


async def test_a69_strict_plugins_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="no-such-plugin"):
        await build_datamind(settings_in(tmp_path, plugins={"block": ["no-such-plugin"], "strict": True}))


async def test_a69_the_profile_decides_where_everything_lies(tmp_path: Path) -> None:
    system = await build(tmp_path, *installed("memory-sqlite"), sections={"profile": "team"})
    try:
        await write(system, "memory_save", text="It works.")
        assert system.profile.data_dir == tmp_path / "data" / "profiles" / "team"
        assert (tmp_path / "storage" / "team" / "memory.db").exists()
        assert not (tmp_path / "storage" / "default").exists()
    finally:
        await system.aclose()


async def test_a70_data_goes_under_the_working_directory_and_not_beside_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = Path(datamind.__file__).parent
    before = {path for path in code.rglob("*") if "__pycache__" not in path.parts}
    system = await build_datamind(Settings(kb={"backend": "memory"}))
    try:
        await write(system, "kb_add_text", text="It works.")
        assert system.profile.base_dir == tmp_path
    finally:
        await system.aclose()
    assert (tmp_path / "storage" / "default" / "control.db").exists()
    assert {path for path in code.rglob("*") if "__pycache__" not in path.parts} == before


# Tools and prompts of plugins


def tools(*specs: ToolSpec, name: str = "acme") -> Entry:
    @hookimpl
    def register(services: Any) -> list[ToolSpec]:
        return list(specs)

    return Entry(name, datamind_register_tools=register)


async def _write_handler(args: Any, ctx: Any) -> ToolOutput:
    return ToolOutput()


@pytest.mark.parametrize("receipted", [False, True])
async def test_a_write_of_a_plugin_is_wrapped_whatever_it_says_of_itself(tmp_path: Path, receipted: bool) -> None:
    bare = ToolSpec(
        *("acme_put", "Put.", {"type": "object"}, _write_handler, ToolEffect.WRITE, DataSurface.KB), receipted=receipted
    )
    system = await build(tmp_path, tools(bare))
    try:
        outcome = await write(system, "acme_put")
        (receipt,) = outcome.receipts
        assert (receipt.status, outcome.code) == ("failed", "tool_failed"), "it gave no write result"
        assert outcome.is_error
    finally:
        await system.aclose()


async def test_b26_a_plugin_that_takes_the_name_of_a_tool_is_left_out_and_the_rest_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    taking = tools(make_tool("kb_search"), make_tool("stray"), name="taking")
    system = await build(tmp_path, taking, tools(make_tool("look")))
    tool_names = set(system.registry(Role.RETRIEVE))
    assert {"kb_search", "look"} <= tool_names
    assert "stray" not in tool_names
    assert (await read(system, "kb_search", query="x")).code == ""
    await system.aclose()
    (warning,) = [line.getMessage() for line in caplog.records if "taking" in line.getMessage()]
    assert "Tool 'kb_search' is claimed by both datamind-core" in warning


async def test_b42_sections_of_plugins_stand_in_the_prompt_in_a_stable_order(tmp_path: Path) -> None:
    @hookimpl
    def register(role: Role, services: Any) -> list[PromptSection]:
        return [PromptSection("Zebra", 5, f"For {role}."), PromptSection("Ant", 5, "{surfaces} stays.")]

    prompts = []
    for _ in range(2):
        system = await build(tmp_path, Entry("acme", datamind_prompt_sections=register), *installed())
        prompts.append({role: parts.system.encode() for role, parts in system.agents.items()})
        await system.aclose()
    assert prompts[0] == prompts[1]
    text = prompts[0][Role.STORE].decode()
    assert text.index("## Ant") < text.index("## Zebra")
    assert "For store." in text and "{surfaces} stays." in text
    assert str(tmp_path) not in text


# Alone


async def test_each_agent_can_be_built_alone(tmp_path: Path) -> None:
    store = await build_store_agent(settings_in(tmp_path))
    try:
        stored = await store.ingest("Remember: lunch is at noon.")
        assert stored.status == "stored"
    finally:
        await store.aclose()
    reader = await build_agent(settings_in(tmp_path))
    try:
        assert "noon" in (await reader.query("When is lunch?")).answer
    finally:
        await reader.aclose()


async def test_a_failed_build_leaves_nothing_open(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ConfigError):
            await build(tmp_path, *installed("memory-sqlite"), sections={"hooks": {"required": ["none"]}})
    system = await build(tmp_path, *installed("memory-sqlite"))
    try:
        assert (await write(system, "memory_save", text="It works.")).receipts[0].status == "stored"
    finally:
        await system.aclose()


# Secrets


async def test_b27_secrets_of_settings_are_in_no_log_error_trace_or_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    canary = "dm-canary-9d41f7-secret"

    async def leaks(args: Any, ctx: Any) -> ToolOutput:
        logging.getLogger("datamind.acme").error("could not log in with %s", canary)
        raise RuntimeError(f"401 for {canary}")

    spec = ToolSpec("acme_get", "Get.", {"type": "object"}, leaks, ToolEffect.READ, DataSurface.KB)
    model = ScriptedModel([calling("acme_get"), "It failed."])
    file = tmp_path / "log.txt"
    logging.getLogger("datamind").handlers[:] = []
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        async with open_scripted(
            tmp_path, model, tools(spec), llm={"api_key": canary}, logging={"file": str(file), "level": "debug"}
        ) as system:
            result = await system.query("Well?")
            shown = repr(system.settings) + str(system.settings.origins()) + repr(result) + result.model_dump_json()
    finally:
        root.handlers = handlers
    logged = file.read_text()
    assert "could not log in with [redacted]" in logged and "RuntimeError" in logged
    stored = b"".join(path.read_bytes() for path in (tmp_path / "storage").rglob("*") if path.is_file())
    streams = "".join(capsys.readouterr())
    sent = "".join(request.model_dump_json() for request in model.requests)
    for where in (logged, streams, sent, shown, stored.decode("latin-1")):
        assert canary not in where
