"""Every Protocol of the design exists, says its guarantees by number, and each of them has a conformance test."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import pytest

from datamind.core import hooks, protocols
from datamind.testing import conformance

NAMES = (
    *("TextModelClient", "ToolCallingModelClient", "EmbeddingProvider", "VectorStore", "LexicalIndex", "Retriever"),
    *("Reranker", "GraphStore", "DatabaseDialect", "MemoryStore", "SkillSource", "FileLoader", "AgentLoopProtocol"),
    *("ToolHook", "Approver"),
)


def protocol(name: str) -> type:
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.iter_modules(protocols.__path__, "datamind.core.protocols.")
    ]
    return next(found for module in (*modules, hooks) if inspect.isclass(found := getattr(module, name, None)))


def guarantees(kind: type) -> set[str]:
    texts = [member.__doc__ or "" for base in kind.__mro__[:-1] for member in (base, *vars(base).values())]
    return set(re.findall(r"\bG\d+\b", " ".join(texts)))


@pytest.mark.parametrize("name", NAMES)
def test_a_protocol_has_numbered_guarantees(name: str) -> None:
    kind = protocol(name)
    assert getattr(kind, "_is_protocol", False)
    assert "G1" in guarantees(kind)
    assert isinstance(object(), kind) is False, "it can be asked for at run time"


@pytest.mark.parametrize("name", NAMES)
def test_a_protocol_has_a_class_in_the_kit(name: str) -> None:
    sources = " ".join(
        inspect.getsource(importlib.import_module(module.name))
        for module in pkgutil.iter_modules(conformance.__path__, "datamind.testing.conformance.")
    )
    assert re.search(rf"\b{name}\b", sources), "no conformance class speaks of it"
