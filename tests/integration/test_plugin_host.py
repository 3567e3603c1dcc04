"""Distributions as pip leaves them behind, found by a fresh process through its real metadata."""

from __future__ import annotations

import pytest

from tests.support.plugins import json_with_site, plugin_source, run_with_site, write_distribution

REPORT = """
import asyncio, json, logging, sys
log = []
class Keep(logging.Handler):
    def emit(self, record):
        log.append(record.getMessage())
logging.getLogger("datamind.plugins").addHandler(Keep())
from datamind.plugins import PluginHost, ProviderKind, ProviderRegistry
host = PluginHost()
registry = ProviderRegistry(host)
host.commands(), host.commands()
def message(kind, name):
    try:
        return str(registry.select(ProviderKind(kind), name))
    except Exception as error:
        return f"{type(error).__name__} {error}"
print(json.dumps({
    "plugins": [[r.name, r.label, r.state, r.cause, r.traceback] for r in host.records],
    "warnings": log,
    "commands": [c.name for c in host.commands()],
    "selected": {name: message("kb.store", name) for name in ("good", "import", "memory")},
    "modules": sorted(sys.modules),
}))
"""
COMMANDS = "def datamind_register_commands():\n    "

PLUGINS = {
    "it-good": plugin_source(COMMANDS + "return [CommandSpec('hello', 'Say it.', 'it_good:hello')]", provider="good"),
    "it-import": "import it_absent_library",
    "it-syntax": "def f(:",
    "it-exit": "raise SystemExit(0)",
    "it-api": plugin_source(api="(2, 0)"),
    "it-noapi": plugin_source(api=None),
    "it-misspelt": plugin_source("def datamind_register_provider():\n    return []", provider="misspelt"),
    "it-raises": plugin_source(COMMANDS + "raise RuntimeError('boom')"),
    "it-type": plugin_source(COMMANDS + "return ['hello']"),
}
STATES = {
    "it-good": "ok",
    "it-import": "failed",
    "it-syntax": "failed",
    "it-exit": "failed",
    "it-api": "incompatible",
    "it-noapi": "incompatible",
    "it-misspelt": "failed",
    "it-raises": "failed",
    "it-type": "failed",
    "it-twin": "duplicate",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    for name, source in PLUGINS.items():
        write_distribution(site, name, source, modules={"heavy": ""})
    for name in ("it-one", "it-two"):
        module = f"{name.replace('-', '_')}.plugin"
        write_distribution(site, name, plugin_source(provider=name), entry_points={"it-twin": module})
    (site / "unrelated-1.0.dist-info").mkdir()
    (site / "unrelated-1.0.dist-info" / "entry_points.txt").write_text("[console_scripts]\nnot a pair\n")
    return site


@pytest.fixture(scope="module")
def report(site):
    return json_with_site(site, REPORT)


def rows(report):
    return {name: (label, state, cause, trace) for name, label, state, cause, trace in report["plugins"]}


def test_b26_every_broken_plugin_has_its_state_and_the_good_ones_work(report):
    found = rows(report)
    assert {name: row[1] for name, row in found.items() if name.startswith("it-")} == STATES
    assert found["core"][1] == "ok"
    assert report["commands"] == ["hello"]
    assert report["selected"]["good"] == "kb.store 'good' of it-good 1.0"
    assert report["selected"]["memory"].startswith("kb.store 'memory' of datamind-core ")


def test_b26_a_failure_has_its_cause_on_one_line_and_its_traceback(report):
    for name, (label, state, cause, trace) in rows(report).items():
        if name.startswith("it-") and state == "failed":
            assert label == f"{name} 1.0"
            assert cause
            assert "\n" not in cause
            assert trace.startswith("Traceback"), name
    assert "it_absent_library" in rows(report)["it-import"][3]


def test_b26_a_broken_plugin_warns_once(report):
    ours = [line for line in report["warnings"] if "'it-" in line]
    assert len(ours) == len([state for state in STATES.values() if state != "ok"])
    assert len(set(ours)) == len(ours)


def test_a_broken_and_selected_plugin_is_named_with_its_version_and_cause(report):
    assert report["selected"]["import"] == (
        "PluginError kb.backend='import' cannot be used: plugin 'it-import' of it-import 1.0 failed: "
        "ModuleNotFoundError: No module named 'it_absent_library'. `datamind plugins` shows the details."
    )


def test_listing_and_selecting_import_only_the_plugin_modules(report):
    loaded = set(report["modules"])
    assert "it_good.plugin" in loaded
    assert not loaded & {
        "it_good.heavy",
        "it_one.plugin",
        "it_two.plugin",
        "pydantic",
        "numpy",
        "sqlglot",
        "cryptography",
    }


def test_only_listed_plugins_load(site):
    found = rows(json_with_site(site, REPORT, DATAMIND_PLUGINS="it-good,it-import", DATAMIND_PLUGINS_BLOCK="it-import"))
    assert {name: row[1] for name, row in found.items() if row[1] != "blocked"} == {"core": "ok", "it-good": "ok"}
    assert found["it-import"][2] == "named in DATAMIND_PLUGINS_BLOCK"
    assert found["it-exit"][2] == "not named in DATAMIND_PLUGINS"


def test_strict_mode_stops_the_process_with_the_cause(site):
    strict = {"DATAMIND_PLUGINS_STRICT": "1"}
    result = run_with_site(site, "-c", REPORT, DATAMIND_PLUGINS="it-good,it-import", **strict)
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert "PluginError: plugin 'it-import' of it-import 1.0 failed: ModuleNotFoundError" in last
    assert json_with_site(site, REPORT, DATAMIND_PLUGINS="it-good", **strict)["commands"] == ["hello"]


def test_b26_two_distributions_that_provide_one_name_are_failed_and_stop_nothing_else(tmp_path):
    for name in ("it-left", "it-right"):
        write_distribution(tmp_path, name, plugin_source(provider="both"))
    report = json_with_site(tmp_path, REPORT.replace('"good"', '"both"'), DATAMIND_PLUGINS="it-left it-right")
    clash = "kb.store 'both' is claimed by both it-left 1.0 (plugin 'it-left') and it-right 1.0 (plugin 'it-right')."
    found = {name: cause for name, _, state, cause, _ in report["plugins"] if state == "failed"}
    assert set(found) == {"it-left", "it-right"}
    assert all(cause.startswith(clash) for cause in found.values())
    assert clash in report["selected"]["both"]
    assert report["selected"]["memory"].startswith("kb.store 'memory' of datamind-core ")


def test_declaring_a_plugin_imports_the_standard_library_core_errors_and_pluggy_only(tmp_path):
    source = """
import json, sys
before = set(sys.modules)
import datamind.plugins
without_marker = set(sys.modules) - before
from datamind.plugins import PLUGIN_API, NO_OPTIONS, ProviderKind, ProviderSpec, hookimpl
loaded = sorted(name for name in set(sys.modules) - before if name.split(".")[0] not in sys.stdlib_module_names)
print(json.dumps([loaded, "pluggy" in without_marker, "importlib.metadata" in sys.modules, "asyncio" in sys.modules]))
"""
    loaded, pluggy_at_once, metadata, asyncio = json_with_site(tmp_path, source)
    assert {name.split(".")[0] for name in loaded} == {"datamind", "pluggy"}
    assert {name for name in loaded if name.startswith("datamind.") and not name.startswith("datamind.plugins")} == {
        "datamind.core",
        "datamind.core.errors",
    }
    assert not pluggy_at_once
    assert not metadata
    assert not asyncio
