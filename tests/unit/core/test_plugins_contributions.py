from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamind.core.errors import PluginError
from datamind.plugins import (
    NO_OPTIONS,
    CommandSpec,
    PluginRecord,
    PromptSection,
    ProviderKind,
    ProviderSpec,
    ToolHookSpec,
)
from datamind.plugins.known import COMMAND_REQUIREMENTS, NOT_RELEASED, PROVIDER_REQUIREMENTS, advice, distribution_of

TARGET = "acme_kb.store:open_store"


def provider(kind=ProviderKind.KB_STORE, name="acme", factory=TARGET, options=NO_OPTIONS, summary="Acme."):
    return ProviderSpec(kind, name, factory, options, summary)


@pytest.mark.parametrize("name", ["a", "7z", "openai_chat_completions", "kb-lancedb"])
def test_names_of_the_rule_are_taken(name):
    assert provider(name=name).name == name


@pytest.mark.parametrize("name", ["", "A", "_a", "-a", "a b", "a.b", "é", "a\n", None, 3])
def test_other_names_are_refused(name):
    for make in (
        lambda: provider(name=name),
        lambda: ToolHookSpec(name, 1, TARGET),
        lambda: CommandSpec(name, "Help.", TARGET),
    ):
        with pytest.raises(PluginError, match="is not allowed"):
            make()


@pytest.mark.parametrize(
    "target", ["", "acme", "acme:", ":x", "acme:x.y", "acme.:x", "a b:c", "acme:x\n", "aé:x", open]
)
def test_what_is_no_place_of_an_object_is_refused(target):
    for make in (
        lambda: provider(factory=target),
        lambda: provider(options=target),
        lambda: ToolHookSpec("x", 1, target),
        lambda: CommandSpec("x", "Help.", target),
    ):
        with pytest.raises(PluginError, match=r"package\.module:attribute"):
            make()


@given(st.text(max_size=30))
def test_a_target_is_taken_or_refused_but_never_both(target):
    module, _, attribute = target.partition(":")
    fits = target.isascii() and all(part.isidentifier() for part in [*module.split("."), attribute])
    try:
        provider(factory=target)
    except PluginError:
        assert not fits
    else:
        assert fits


def test_a_kind_may_be_given_as_text_and_must_exist():
    assert provider(kind="kb.store").kind is ProviderKind.KB_STORE
    with pytest.raises(PluginError, match=r"'kb\.shop' is not one of model\.client"):
        provider(kind="kb.shop")


@pytest.mark.parametrize("summary", ["", "  ", "two\nlines", None])
def test_a_summary_is_one_line(summary):
    with pytest.raises(PluginError, match="summary"):
        provider(summary=summary)
    with pytest.raises(PluginError, match="help"):
        CommandSpec("x", summary, TARGET)


@pytest.mark.parametrize("order", ["1", 1.0, True, None])
def test_an_order_is_an_integer(order):
    with pytest.raises(PluginError, match="is not an integer"):
        ToolHookSpec("x", order, TARGET)
    with pytest.raises(PluginError, match="is not an integer"):
        PromptSection("X", order, "text")


@pytest.mark.parametrize(("title", "text"), [("", "x"), ("a\nb", "x"), ("A", ""), ("A", " \n"), ("A", None)])
def test_a_prompt_section_has_a_title_of_one_line_and_a_text(title, text):
    with pytest.raises(PluginError, match="Prompt section"):
        PromptSection(title, 1, text)


def test_where_a_spec_came_from_is_no_part_of_what_it_is():
    record = PluginRecord("acme", "acme-kb", "2.1")
    stamped = ProviderSpec(ProviderKind.KB_STORE, "acme", TARGET, NO_OPTIONS, "Acme.", record)
    assert stamped == provider()
    assert str(stamped) == "kb.store 'acme' of acme-kb 2.1"


def test_every_kind_says_what_selects_it_and_where_its_options_stand():
    assert {kind for kind in ProviderKind if not kind.setting} == {ProviderKind.INGEST_LOADER}
    assert ProviderKind.MODEL_CLIENT.setting == "llm.protocol"
    assert ProviderKind.MODEL_CLIENT.options_key == "llm.options"
    assert ProviderKind.INGEST_LOADER.options_key == "ingest.options"


def test_known_providers_could_be_registered_and_installed():
    for (kind, name), requirement in PROVIDER_REQUIREMENTS.items():
        assert provider(kind=kind, name=name).kind is kind
        told = ("It comes with ",) if distribution_of(requirement) in NOT_RELEASED else ("Run: pip install ",)
        assert advice(requirement).startswith(told)
    assert advice("datamind-kb-acme[quick]") == "Run: pip install 'datamind-kb-acme[quick]'"


def test_known_distributions_are_those_that_provide_something():
    providers = {distribution_of(requirement) for requirement in PROVIDER_REQUIREMENTS.values()}
    assert providers | set(COMMAND_REQUIREMENTS.values()) == {
        "datamind-model-anthropic",
        "datamind-model-openai",
        "datamind-model-offline",
        "datamind-embed-local",
        "datamind-kb-lancedb",
        "datamind-documents",
        "datamind-db-duckdb",
        "datamind-db-sqlalchemy",
        "datamind-graph-rdflib",
        "datamind-memory-sqlite",
        "datamind-skills",
        "datamind-loop-sdk",
        "datamind-mcp",
        "datamind-http",
    }
