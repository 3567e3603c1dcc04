"""The retrievers of core."""

from __future__ import annotations

from datamind.testing.conformance.kb_search import RetrieverConformance


class TestLexical(RetrieverConformance):
    factory = "datamind.capabilities.kb.retrieval:open_lexical"


class TestVector(RetrieverConformance):
    factory = "datamind.capabilities.kb.retrieval:open_vector"


class TestHybrid(RetrieverConformance):
    factory = "datamind.capabilities.kb.retrieval:open_hybrid"
