from __future__ import annotations

import logging
import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from datamind.core.errors import ConfigError, PluginError
from datamind.core.tools import ToolSpec
from datamind.core.types import DataSurface, Role, ToolEffect
from datamind.plugins import CORE_PLUGIN, CommandSpec, PluginHost, PluginState, PromptSection, ToolHookSpec, hookimpl
from datamind.plugins.checks import one_line
from datamind.plugins.discovery import PluginPolicy, installed_entry_points
from tests.support.plugins import plugin_source, write_distribution

TARGET = "acme.hooks:make_hook"


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name, module in sys.modules.items() if str(tmp_path) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]


@pytest.fixture
def build(site):
    def build_host(**environ):
        return PluginHost(installed_entry_points([str(site)])[0], environ)

    return build_host


def states(host):
    return {record.name: record.state for record in host.records}


def record(host, name):
    (found,) = [record for record in host.records if record.name == name]
    return found


class Entry:
    """An entry point that loads an object made by the test."""

    dist = None

    def __init__(self, name, plugin):
        self.name = name
        self.plugin = plugin

    def load(self):
        return self.plugin


def host_of(environ=None, **plugins):
    entries = [Entry(name, SimpleNamespace(PLUGIN_API=(1, 0), **hooks)) for name, hooks in plugins.items()]
    return PluginHost(entries, environ or {})


def test_core_registers_itself_through_the_same_host():
    host = PluginHost([], {})
    assert states(host) == {CORE_PLUGIN: PluginState.OK}
    assert record(host, CORE_PLUGIN).label.startswith("datamind-core ")
    assert {(spec.kind.value, spec.name) for spec in host.providers()} == {
        ("kb.store", "memory"),
        ("db.dialect", "memory"),
        ("graph.store", "memory"),
        ("memory.store", "memory"),
        ("skills.source", "memory"),
        ("db.dialect", "memory"),
        ("graph.store", "memory"),
        ("embedding", "hashing"),
        ("kb.retriever", "hybrid"),
        ("kb.retriever", "lexical"),
        ("kb.retriever", "vector"),
        ("agent.loop", "native"),
    }


def test_a_good_plugin_is_recorded_and_its_providers_know_where_they_came_from(site, build):
    write_distribution(site, "acme-kb", plugin_source(provider="acme"), version="2.1")
    host = build()
    assert record(host, "acme-kb").state is PluginState.OK
    (spec,) = [spec for spec in host.providers() if spec.name == "acme"]
    assert str(spec) == "kb.store 'acme' of acme-kb 2.1"


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("import acme_no_such_library", "ModuleNotFoundError: No module named 'acme_no_such_library'"),
        ("from json import no_such_name", "ImportError: cannot import name 'no_such_name'"),
        ("def f(:", "SyntaxError: invalid syntax (plugin.py, line 1)"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise RuntimeError('two\\n lines \\x1b[31mred')", "RuntimeError: two lines [31mred"),
        (plugin_source("def datamind_register_provider():\n    return []"), "unknown hook"),
        (plugin_source("async def datamind_register_commands():\n    return []"), "is asynchronous"),
        (plugin_source("async def datamind_register_commands():\n    yield"), "is asynchronous"),
        ("PLUGIN_API = (1, 0)\ndef datamind_register_commands():\n    return []", "is not marked with @hookimpl"),
        (plugin_source("def datamind_register_tools(service):\n    return []"), "service"),
        (plugin_source("def datamind_register_tools(services=None):\n    return []"), "a default for 'services'"),
        (
            plugin_source().replace("PLUGIN_API", "@hookimpl(wrapper=True)\ndef datamind_register_commands():\n"
                                    "    return (yield)\nPLUGIN_API", 1),
            "is a wrapper",
        ),
        (
            plugin_source("def datamind_register_commands():\n    return []").replace(
                "PLUGIN_API",
                "@hookimpl(specname='datamind_register_commands')\ndef also():\n    return []\nPLUGIN_API",
                1,
            ),
            "implemented twice",
        ),
    ],
)  # fmt: skip
def test_b26_a_plugin_that_does_not_load_is_failed_and_the_others_work(site, build, caplog, source, cause):
    write_distribution(site, "acme-bad", source)
    write_distribution(site, "acme-good", plugin_source(provider="good"))
    host = build()
    bad = record(host, "acme-bad")
    assert (bad.state, bad.label) == (PluginState.FAILED, "acme-bad 1.0")
    assert cause in bad.cause
    assert "\n" not in bad.cause
    assert bad.traceback.startswith("Traceback")
    assert record(host, "acme-good").state is PluginState.OK
    assert "good" in {spec.name for spec in host.providers()}
    host.commands()
    host.commands()
    (warning,) = [entry for entry in caplog.records if entry.levelno >= logging.WARNING]
    assert "acme-bad 1.0 failed" in warning.getMessage()
    assert cause in warning.getMessage()


@pytest.mark.parametrize(
    ("api", "cause"),
    [
        ("(2, 0)", "written for plugin API (2, 0); this datamind-core has plugin API (1, 0); upgrade datamind-core"),
        ("(0, 0)", "upgrade the plugin"),
        ("(1, 1)", "upgrade datamind-core"),
        (None, "declares no PLUGIN_API"),
        ("'1.0'", "is not a tuple (major, minor)"),
        ("(1,)", "is not a tuple (major, minor)"),
        ("(True, False)", "is not a tuple (major, minor)"),
    ],
)
def test_a_plugin_for_another_api_is_incompatible(site, build, api, cause):
    write_distribution(site, "acme-kb", plugin_source(provider="acme", api=api))
    host = build()
    assert record(host, "acme-kb").state is PluginState.INCOMPATIBLE
    assert cause in record(host, "acme-kb").cause
    assert "acme" not in {spec.name for spec in host.providers()}


def test_a_plugin_with_a_misspelt_hook_leaves_nothing_behind(site, build):
    misspelt = "def datamind_register_comands():\n    return []"
    write_distribution(site, "acme-half", plugin_source(misspelt, provider="half"))
    write_distribution(site, "acme-later", plugin_source(provider="later"))
    host = build()
    assert states(host) == {"core": "ok", "acme-half": "failed", "acme-later": "ok"}
    assert {"half", "later"} & {spec.name for spec in host.providers()} == {"later"}


def test_one_object_under_two_names_keeps_its_first_registration(site, build):
    points = {"acme-a": "acme.plugin", "acme-b": "acme.plugin"}
    write_distribution(site, "acme", plugin_source(provider="acme"), entry_points=points)
    host = build()
    assert states(host) == {"core": "ok", "acme-a": "ok", "acme-b": "failed"}
    assert "acme" in {spec.name for spec in host.providers()}


def boom(services):
    raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("implementation", "cause"),
    [
        (boom, "datamind_register_tools: RuntimeError: boom"),
        (lambda services: None, "returned NoneType, expected an iterable of ToolSpec"),
        (lambda services: {"a": 1}, "returned dict"),
        (lambda services: "tool", "returned str"),
        (lambda services: ["tool"], "returned 'tool' of type str among its items, expected an iterable of ToolSpec"),
        (lambda services: sys.exit(2), "SystemExit: 2"),
        (lambda services: (boom(services) for _ in [1]), "RuntimeError: boom"),
    ],
)
def test_b26_a_hook_that_raises_or_returns_something_else_fails_its_plugin_alone(implementation, cause, caplog):
    called = []
    host = host_of(
        bad={
            "datamind_register_tools": hookimpl(implementation),
            "datamind_register_commands": hookimpl(lambda: called.append("bad") or []),
        },
        good={"datamind_register_tools": hookimpl(lambda services: called.append(services) or [])},
    )
    assert host.contributions("settings", "services").tools == ()
    assert states(host) == {"core": "ok", "bad": "failed", "good": "ok"}
    assert cause in record(host, "bad").cause
    assert host.commands() == []
    assert called == ["services"], "the good plugin is called, the failed one no more"
    assert host.contributions("settings", "services").tools == ()
    assert len(caplog.records) == 1


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, GeneratorExit])
def test_an_interruption_is_not_taken_for_a_fault_of_the_plugin(interruption):
    def hook():
        raise interruption

    host = host_of(a={"datamind_register_commands": hookimpl(hook)})
    with pytest.raises(interruption):
        host.commands()
    assert states(host)["a"] is PluginState.OK


def test_a_value_that_does_not_validate_names_its_plugin():
    host = host_of(bad={"datamind_register_commands": hookimpl(lambda: [CommandSpec("Bad Name", "x", TARGET)])})
    assert host.commands() == []
    assert "Command name 'Bad Name' is not allowed" in record(host, "bad").cause


def test_a_generator_is_a_fine_iterable():
    def hook():
        yield CommandSpec("one", "One.", TARGET)
        yield CommandSpec("two", "Two.", TARGET)

    host = host_of(a={"datamind_register_commands": hookimpl(hook)})
    assert [command.name for command in host.commands()] == ["one", "two"]


class Checks:
    async def pre(self, call, ctx):
        return None

    async def post(self, call, outcome, ctx):
        return None


def make_checks(settings, services):
    return Checks()


def refuse(settings, services):
    raise RuntimeError("no policy server")


HOOK = f"{__name__}:make_checks"


def test_hooks_get_the_arguments_they_ask_for_and_results_come_in_their_order():
    seen = {}

    def tool_hooks(settings, services):
        seen["tool_hooks"] = (settings, services)
        return [ToolHookSpec("a", 90, HOOK), ToolHookSpec("z", 10, HOOK), ToolHookSpec("y", 10, HOOK)]

    def sections(role):
        seen.setdefault("roles", []).append(role)
        return [PromptSection("B", 5, "b"), PromptSection("A", 5, "a")]

    host = host_of(
        z={"datamind_prompt_sections": hookimpl(lambda: [PromptSection("First", 1, "z")])},
        a={"datamind_register_tool_hooks": hookimpl(tool_hooks), "datamind_prompt_sections": hookimpl(sections)},
    )
    added = host.contributions("settings", "services")
    assert {(hook.name, hook.order) for hook in added.hooks} == {("a", 90), ("z", 10), ("y", 10)}
    assert [section.title for section in added.sections[Role.STORE]] == ["First", "A", "B"]
    assert seen == {"tool_hooks": ("settings", "services"), "roles": list(Role)}
    assert host.contributions("settings", "services", with_hooks=False).hooks == ()


def commands(name):
    return {"datamind_register_commands": hookimpl(lambda: [CommandSpec(name, "Help.", TARGET)])}


def tool_hooks(name, factory=HOOK):
    return {"datamind_register_tool_hooks": hookimpl(lambda: [ToolHookSpec(name, 1, factory)])}


def tools(*names):
    made = [
        ToolSpec(name, "A tool.", {"type": "object"}, print, ToolEffect.PURE, DataSurface.UTILITY) for name in names
    ]
    return {"datamind_register_tools": hookimpl(lambda services: made)}


def offered(host, taken=()):
    added = host.contributions(None, None, tool_names=taken, hook_names=taken)
    found = [tool.name for tool in added.tools] + [hook.name for hook in added.hooks]
    return found + [command.name for command in host.commands(taken)]


EACH_KIND = pytest.mark.parametrize(
    ("kind", "what"), [(commands, "Command"), (tool_hooks, "Tool hook"), (tools, "Tool")]
)


@EACH_KIND
def test_b26_a_name_claimed_by_two_plugins_fails_both_and_no_other(kind, what, caplog):
    host = host_of(a=kind("same"), b=kind("same"), c=kind("other"))
    assert offered(host) == ["other"]
    assert states(host) == {"core": "ok", "a": "failed", "b": "failed", "c": "ok"}
    for name in "ab":
        cause = record(host, name).cause
        assert cause.startswith(f"{what} 'same' is claimed by both ")
        assert "(plugin 'a') and " in cause and "(plugin 'b')" in cause
    assert len(caplog.records) == 2


@EACH_KIND
def test_b26_a_name_of_cores_own_fails_the_plugin_that_takes_it(kind, what):
    host = host_of(a=kind("kb_search"), c=kind("other"))
    assert offered(host, ["kb_search"]) == ["other"]
    cause = record(host, "a").cause
    assert cause.startswith(f"{what} 'kb_search' is claimed by both datamind-core ")
    assert "(plugin 'a')" in cause


def test_one_plugin_that_takes_a_name_twice_is_failed():
    host = host_of(a=tools("x", "x"))
    assert offered(host) == []
    assert record(host, "a").cause.startswith("Tool 'x' is claimed by ")
    assert ", twice" in record(host, "a").cause


def test_tools_come_in_the_order_of_their_plugins():
    assert offered(host_of(b=tools("x", "y"), a=tools("z"))) == ["z", "x", "y"]


@pytest.mark.parametrize(
    ("factory", "cause"),
    [
        (f"{__name__}:not_there", "not_there"),
        ("no_such_module_at_all:make", "no_such_module_at_all"),
        (f"{__name__}:refuse", "RuntimeError: no policy server"),
        (f"{__name__}:states", "states"),
    ],
)
def test_b26_a_hook_that_cannot_be_made_takes_all_of_its_plugin_along(factory, cause, caplog):
    host = host_of(a={**tools("x"), **tool_hooks("sundays", factory), **commands("hello")}, c=tools("y"))
    assert offered(host) == ["y"]
    assert cause in record(host, "a").cause
    assert len(caplog.records) == 1


def test_b26_a_section_that_raises_takes_all_of_its_plugin_along():
    def sections(role):
        raise RuntimeError("no text")

    host = host_of(a={**tools("x"), "datamind_prompt_sections": hookimpl(sections)}, c=tools("y"))
    assert offered(host) == ["y"]
    assert record(host, "a").cause == "datamind_prompt_sections: RuntimeError: no text"


def test_two_distributions_with_one_plugin_name_are_duplicates_and_neither_loads(site, build, caplog):
    for name in ("acme-one", "acme-two"):
        source = plugin_source(provider=name)
        write_distribution(site, name, source, entry_points={"acme": f"{name.replace('-', '_')}.plugin"})
    host = build()
    found = [record for record in host.records if record.name == "acme"]
    assert [record.state for record in found] == [PluginState.DUPLICATE] * 2
    assert {record.distribution for record in found} == {"acme-one", "acme-two"}
    assert all("acme-one 1.0 and acme-two 1.0" in record.cause for record in found)
    assert len(caplog.records) == 1
    assert "acme_one.plugin" not in sys.modules
    assert "acme_two.plugin" not in sys.modules


def test_blocking_a_name_settles_a_duplicate(site, build, caplog):
    for name in ("acme-one", "acme-two"):
        write_distribution(site, name, "", entry_points={"acme": "nowhere"})
    host = build(DATAMIND_PLUGINS_BLOCK="acme")
    assert [record.state for record in host.records if record.name == "acme"] == [PluginState.BLOCKED] * 2
    assert not caplog.records


def test_the_name_of_core_cannot_be_taken(site, build):
    write_distribution(site, "acme-kb", plugin_source(provider="acme"), entry_points={"core": "acme_kb.plugin"})
    host = build()
    ours, theirs = host.records
    assert (ours.distribution, ours.state) == ("datamind-core", PluginState.OK)
    assert (theirs.distribution, theirs.state) == ("acme-kb", PluginState.DUPLICATE)
    assert "memory" in {spec.name for spec in host.providers()}


def test_only_listed_plugins_load_and_core_always_does(site, build, caplog):
    for name in ("acme-a", "acme-b", "acme-c"):
        write_distribution(site, name, plugin_source(provider=name))
    host = build(DATAMIND_PLUGINS="acme-a, acme-b", DATAMIND_PLUGINS_BLOCK="acme-b core")
    assert states(host) == {"core": "ok", "acme-a": "ok", "acme-b": "blocked", "acme-c": "blocked"}
    assert record(host, "acme-b").cause == "named in DATAMIND_PLUGINS_BLOCK"
    assert record(host, "acme-c").cause == "not named in DATAMIND_PLUGINS"
    assert not {"acme_b.plugin", "acme_c.plugin"} & set(sys.modules), "a blocked plugin is not even imported"
    assert not caplog.records


def test_a_list_with_an_unknown_name_warns_and_suggests(site, build, caplog):
    write_distribution(site, "memory-acme", plugin_source())
    build(DATAMIND_PLUGINS="memory-acne")
    (warning,) = caplog.records
    assert "DATAMIND_PLUGINS names 'memory-acne'" in warning.getMessage()
    assert "Did you mean 'memory-acme'?" in warning.getMessage()


@pytest.mark.parametrize("value", ["", "  ", ","])
def test_b28_an_empty_variable_counts_as_unset(value):
    policy = PluginPolicy.from_environ({"DATAMIND_PLUGINS": value, "DATAMIND_PLUGINS_STRICT": value.strip(",")})
    assert policy == PluginPolicy()


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({}, "failed: ModuleNotFoundError"),
        ({"DATAMIND_PLUGINS": "acme-bat"}, "names 'acme-bat'"),
    ],
)
def test_strict_mode_stops_at_the_first_fault(site, build, environ, message):
    write_distribution(site, "acme-bad", "import acme_no_such_library")
    with pytest.raises(PluginError, match=message) as raised:
        build(DATAMIND_PLUGINS_STRICT="1", **environ)
    assert raised.value.code == "plugin_error.strict"


def test_strict_mode_keeps_the_cause_and_lets_a_blocked_plugin_be(site, build):
    write_distribution(site, "acme-bad", "import acme_no_such_library")
    with pytest.raises(PluginError) as raised:
        build(DATAMIND_PLUGINS_STRICT="1")
    assert isinstance(raised.value.__cause__, ModuleNotFoundError)
    host = build(DATAMIND_PLUGINS_STRICT="1", DATAMIND_PLUGINS_BLOCK="acme-bad")
    assert states(host) == {"core": "ok", "acme-bad": "blocked"}


def test_strict_mode_raises_when_a_hook_does():
    host = host_of({"DATAMIND_PLUGINS_STRICT": "true"}, bad={"datamind_register_tools": hookimpl(boom)})
    with pytest.raises(PluginError, match="datamind_register_tools: RuntimeError: boom"):
        host.contributions(None, None)


def test_a_strict_switch_that_is_neither_on_nor_off_is_an_error():
    with pytest.raises(ConfigError, match="DATAMIND_PLUGINS_STRICT='maybe' is not 0 or 1"):
        PluginHost([], {"DATAMIND_PLUGINS_STRICT": "maybe"})


def test_the_first_distribution_of_a_name_hides_a_later_one(tmp_path):
    for site, version in (("first", "2.0"), ("second", "1.0")):
        write_distribution(tmp_path / site, "Acme_KB" if site == "first" else "acme-kb", "", version=version)
    entries, unreadable = installed_entry_points([str(tmp_path / "first"), str(tmp_path / "second")])
    assert [entry.dist.version for entry in entries] == ["2.0"]
    assert not unreadable


def test_b26_a_distribution_with_a_malformed_file_does_not_hide_the_others(tmp_path):
    write_distribution(tmp_path, "acme-bad", "", entry_points={})
    (tmp_path / "acme_bad-1.0.dist-info" / "entry_points.txt").write_text("[datamind]\nno equals sign\n")
    write_distribution(tmp_path, "acme-other", "", entry_points={})
    (tmp_path / "acme_other-1.0.dist-info" / "entry_points.txt").write_text("[console_scripts]\nno equals sign\n")
    write_distribution(tmp_path, "acme-good", "")
    entries, (bad,) = installed_entry_points([str(tmp_path)])
    assert [entry.name for entry in entries] == ["acme-good"]
    assert (bad.name, bad.state) == ("acme-bad", PluginState.FAILED)
    assert "entry_points.txt is unreadable" in bad.cause


def test_an_unreadable_distribution_is_a_row_and_can_be_blocked(tmp_path, monkeypatch, caplog):
    write_distribution(tmp_path, "acme-bad", "", entry_points={})
    (tmp_path / "acme_bad-1.0.dist-info" / "entry_points.txt").write_text("[datamind]\nno equals sign\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert states(PluginHost(environ={})) == {"core": "ok", "acme-bad": "failed"}
    assert len(caplog.records) == 1
    strict = {"DATAMIND_PLUGINS_STRICT": "1", "DATAMIND_PLUGINS_BLOCK": "acme-bad"}
    assert states(PluginHost(environ=strict)) == {"core": "ok", "acme-bad": "blocked"}


def test_a_distribution_without_metadata_still_has_its_row(tmp_path):
    write_distribution(tmp_path, "acme-kb", "")
    (tmp_path / "acme_kb-1.0.dist-info" / "METADATA").write_bytes(b"\xff\xfe")
    host = PluginHost(installed_entry_points([str(tmp_path)])[0], {})
    assert record(host, "acme-kb").label == "unknown distribution"


def test_an_entry_point_that_names_no_module_is_a_failure_of_its_plugin():
    host = PluginHost([EntryPoint("odd", "not a module", "datamind")], {})
    assert record(host, "odd").state is PluginState.FAILED


def test_a_cause_is_one_short_line():
    assert one_line(ValueError("a\n\tb\x00c.")) == "ValueError: a b c"
    assert len(one_line(ValueError("x" * 1000))) == 300
