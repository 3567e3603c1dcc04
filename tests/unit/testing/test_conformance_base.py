"""A standard test cannot be dropped unseen, and every guarantee has one."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

from datamind.core import hooks, protocols
from datamind.testing import conformance
from datamind.testing.conformance.base import Conformance, guarantees_of, guarantees_tested
from datamind.testing.conformance.kb_store import VectorStoreConformance


def test_a_silent_override_is_an_error():
    with pytest.raises(TypeError, match="test_g3_a_filter_is_applied_before_the_limit"):

        class Suite(VectorStoreConformance):
            async def test_g3_a_filter_is_applied_before_the_limit(self, tmp_path):
                pass


def test_a_test_set_to_none_is_an_error():
    with pytest.raises(TypeError, match="test_g9"):

        class Suite(VectorStoreConformance):
            test_g9_a_read_view_has_no_method_that_writes = None


def test_a_mixin_that_hides_a_test_is_an_error():
    class Mixin:
        async def test_g9_a_read_view_has_no_method_that_writes(self, tmp_path):
            pass

    with pytest.raises(TypeError, match="test_g9"):

        class Suite(Mixin, VectorStoreConformance):
            pass


def test_an_override_needs_a_reason_and_not_just_an_entry():
    name = "test_g9_a_read_view_has_no_method_that_writes"
    with pytest.raises(TypeError, match="test_g9"):
        type("Suite", (VectorStoreConformance,), {name: None, "overridden": {name: " "}})
    type("Suite", (VectorStoreConformance,), {name: None, "overridden": {name: "the view is tested by the engine"}})


def test_a_capability_nobody_knows_is_an_error():
    with pytest.raises(TypeError, match="telepathy"):

        class Suite(VectorStoreConformance):
            capabilities = frozenset({"telepathy"})


def test_a_missing_capability_skips():
    class Suite(VectorStoreConformance):
        capabilities = frozenset({"durable"})

    Suite().need("durable")
    with pytest.raises(pytest.skip.Exception, match="vectors"):
        Suite().need("vectors")


def suites() -> list[type[Conformance]]:
    """Every class of the kit that tests a Protocol."""
    modules = [
        import_module(f"{conformance.__name__}.{info.name}") for info in pkgutil.iter_modules(conformance.__path__)
    ]
    classes = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    found = [c for c in classes if issubclass(c, Conformance) and c.__dict__.get("protocols")]
    return sorted(found, key=lambda suite: suite.__name__)


def known_protocols() -> list[type]:
    named = [getattr(protocols, name) for name in protocols.__all__]
    return [value for value in [*named, hooks.ToolHook] if getattr(value, "_is_protocol", False)]


@pytest.mark.parametrize("protocol", known_protocols(), ids=lambda protocol: protocol.__name__)
def test_every_guarantee_of_a_protocol_has_a_test_of_its_number(protocol):
    mine = [suite for suite in suites() if protocol in suite.protocols]
    assert mine, f"no conformance class tests {protocol.__name__}"
    tested = frozenset().union(*(guarantees_tested(suite) for suite in mine))
    assert guarantees_of(protocol), f"{protocol.__name__} has no numbered guarantee"
    assert guarantees_of(protocol) <= tested


@pytest.mark.parametrize("suite", suites(), ids=lambda suite: suite.__name__)
def test_no_test_claims_a_guarantee_that_does_not_exist(suite):
    promised = frozenset().union(*(guarantees_of(protocol) for protocol in suite.protocols))
    assert guarantees_tested(suite) <= promised


def test_guarantees_are_read_from_the_docstring():
    assert guarantees_of(protocols.VectorStore) == {5, 6, 7, 8, 9}
    assert guarantees_of(hooks.ToolHook) == {1, 2, 3}
