from __future__ import annotations

import asyncio
import logging
import sys
import types
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from datamind.core.errors import ConfigError, PluginError, StoreError
from datamind.core.hooks import Allow
from datamind.plugins import (
    NO_OPTIONS,
    PluginRecord,
    ProviderContext,
    ProviderKind,
    ProviderOptions,
    ProviderSpec,
    ToolHookSpec,
    load_attribute,
    make_options,
    make_tool_hook,
    open_provider,
)

ORIGIN = PluginRecord("acme", "acme-kb", "2.1")


class Inner(ProviderOptions):
    depth: int = 1


class AcmeOptions(ProviderOptions):
    refine_factor: int = Field(10, ge=1)
    api_key: SecretStr = SecretStr("")
    read_dsn: int = 0
    inner: Inner = Inner()


class LaxOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Hook:
    def __init__(self, settings, services):
        self.given = (settings, services)

    async def pre(self, call, ctx):
        return Allow()

    async def post(self, call, outcome, ctx): ...


@pytest.fixture
def acme(monkeypatch):
    """An importable module whose attributes the test sets."""
    module = types.ModuleType("acme_lazy")
    module.Options = AcmeOptions
    monkeypatch.setitem(sys.modules, "acme_lazy", module)
    return module


def spec(options="acme_lazy:Options"):
    return ProviderSpec(ProviderKind.KB_STORE, "acme", "acme_lazy:open_store", options, "Acme.", ORIGIN)


def context(**fields):
    async def open_dependency(kind):
        return f"opened {kind}"

    log = logging.getLogger("acme")
    values = {
        "settings": {},
        "profile": "demo",
        "storage_dir": Path(),
        "data_dir": Path(),
        "logger": log,
        "lease": None,
    }
    return ProviderContext(**{**values, "open": open_dependency, **fields})


def test_an_attribute_is_found():
    assert load_attribute("os.path:join", ORIGIN) is __import__("os").path.join


@pytest.mark.parametrize(
    ("target", "cause"),
    [
        ("acme_absent.store:open_store", "No module named 'acme_absent'"),
        ("acme_lazy:nothing", "AttributeError: module 'acme_lazy' has no attribute 'nothing'"),
        ("acme_lazy.sub:x", "'acme_lazy' is not a package"),
    ],
)
def test_an_attribute_that_does_not_load_names_the_distribution(acme, target, cause):
    with pytest.raises(PluginError) as raised:
        load_attribute(target, ORIGIN)
    assert str(raised.value).startswith(f"acme-kb 2.1: {target!r} cannot be loaded: ")
    assert cause in str(raised.value)
    assert raised.value.code == "plugin_error.broken"


@pytest.mark.parametrize("statement", ["raise SystemExit(2)", "def f(:", "1 / 0"])
def test_a_module_that_raises_when_imported_is_a_plugin_error(tmp_path, monkeypatch, statement):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "acme_raises.py").write_text(statement)
    with pytest.raises(PluginError, match=r"acme-kb 2\.1: 'acme_raises:x' cannot be loaded"):
        load_attribute("acme_raises:x", ORIGIN)


async def test_a_factory_is_awaited_with_its_context_and_checked_options(acme):
    async def open_store(ctx, options):
        return await ctx.open(ProviderKind.EMBEDDING), options.refine_factor, ctx.profile

    acme.open_store = open_store
    assert await open_provider(spec(), context(), {"refine_factor": "3"}) == ("opened embedding", 3, "demo")


async def test_a_provider_without_options_takes_none(acme):
    async def open_store(ctx, options):
        return options

    acme.open_store = open_store
    assert (await open_provider(spec(NO_OPTIONS), context(), {})).model_dump() == {}
    with pytest.raises(ConfigError, match=r"kb\.options\.x is not an option of kb\.store 'acme'.* It has none\.$"):
        await open_provider(spec(NO_OPTIONS), context(), {"x": 1})


def test_each_mistake_in_options_is_one_line_with_the_nearest_key(acme):
    wrong = {"refine_facto": 3, "colour": "red", "refine_factor": 0, "inner": {"depth": "deep", "dept": 1}}
    with pytest.raises(ConfigError) as raised:
        make_options(spec(), wrong)
    assert not isinstance(raised.value, PluginError)
    assert sorted(str(raised.value).splitlines()) == [
        "kb.options.colour is not an option of kb.store 'acme' of acme-kb 2.1. "
        "It has: api_key, inner, read_dsn, refine_factor.",
        "kb.options.inner.dept is not an option of kb.store 'acme' of acme-kb 2.1.",
        "kb.options.inner.depth='deep': Input should be a valid integer, unable to parse string as an integer.",
        "kb.options.refine_facto is not an option of kb.store 'acme' of acme-kb 2.1. Did you mean 'refine_factor'?",
        "kb.options.refine_factor=0: Input should be greater than or equal to 1.",
    ]


def test_b27_a_mistake_in_a_secret_option_does_not_print_it(acme):
    with pytest.raises(ConfigError) as raised:
        make_options(spec(), {"api_key": 731846, "read_dsn": "mysql://u:hunter2@h", "inner": {"depth": ["hunter2"]}})
    assert len(str(raised.value).splitlines()) == 3
    assert "731846" not in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is raised.value.__context__ is None, "pydantic's own message holds every value"


@pytest.mark.parametrize("model", [LaxOptions, BaseModel, dict, "text"])
def test_a_model_that_lets_unknown_keys_pass_is_a_fault_of_the_plugin(acme, model):
    acme.Options = model
    with pytest.raises(PluginError, match=r"acme-kb 2\.1: 'acme_lazy:Options' is not a pydantic model"):
        make_options(spec(), {})


async def test_options_are_checked_before_the_engine_is_imported():
    broken = ProviderSpec(ProviderKind.KB_STORE, "acme", "acme_absent:open_store", NO_OPTIONS, "Acme.", ORIGIN)
    with pytest.raises(ConfigError, match=r"kb\.options\.x"):
        await open_provider(broken, context(), {"x": 1})
    with pytest.raises(PluginError, match="acme_absent"):
        await open_provider(broken, context(), {})


async def test_an_engine_that_does_not_open_names_the_distribution_and_the_cause(acme):
    async def open_store(ctx, options):
        raise OSError("disk on fire")

    acme.open_store = open_store
    with pytest.raises(PluginError) as raised:
        await open_provider(spec(), context(), {})
    assert str(raised.value) == "kb.store 'acme' of acme-kb 2.1 did not open: OSError: disk on fire."
    assert isinstance(raised.value.__cause__, OSError)


@pytest.mark.parametrize("error", [StoreError("locked"), asyncio.CancelledError(), KeyboardInterrupt()])
async def test_errors_of_ours_and_interruptions_pass_unchanged(acme, error):
    async def open_store(ctx, options):
        raise error

    acme.open_store = open_store
    with pytest.raises(type(error)) as raised:
        await open_provider(spec(), context(), {})
    assert raised.value is error


async def test_a_factory_that_is_not_async_is_a_fault_of_the_plugin(acme):
    acme.open_store = lambda ctx, options: "store"
    with pytest.raises(PluginError, match="is not an async function"):
        await open_provider(spec(), context(), {})


def test_a_tool_hook_is_built_with_settings_and_services(acme):
    acme.make_hook = Hook
    assert make_tool_hook(ToolHookSpec("acme", 5, "acme_lazy:make_hook"), "settings", "services").given == (
        "settings",
        "services",
    )


@pytest.mark.parametrize(
    ("factory", "cause"),
    [
        (lambda settings, services: object(), "returned object, which is no ToolHook"),
        (lambda settings, services: 1 / 0, "ZeroDivisionError"),
        (lambda: None, "TypeError"),
    ],
)
def test_a_tool_hook_that_cannot_be_built_stops_the_build(acme, factory, cause):
    acme.make_hook = factory
    with pytest.raises(PluginError, match=cause) as raised:
        make_tool_hook(ToolHookSpec("acme", 5, "acme_lazy:make_hook", ORIGIN), None, None)
    assert "Tool hook 'acme' of acme-kb 2.1 cannot be built" in str(raised.value)
