"""What a KB filter means, for every store that applies one in Python."""

from __future__ import annotations

from datamind.core.protocols.kb import DocumentRow, KBFilter
from datamind.core.source import SourceRef


def matches(document: DocumentRow, where: KBFilter) -> bool:
    """Whether a document may answer: every given condition holds."""
    if where.document_ids and document.document_id not in where.document_ids:
        return False
    if where.sources and not any(is_source(document.source, name) for name in where.sources):
        return False
    return all(_is_same(document.metadata.get(key), value) for key, value in where.metadata.items())


def is_source(source: SourceRef, name: str) -> bool:
    """Whether ``name`` is the uri, the source id or the last part of the uri."""
    return name in (source.uri, source.source_id, last_part(source.uri))


def last_part(uri: str) -> str:
    """``f1.md`` of ``file:notes/f1.md``, of ``file:f1.md`` and of ``chunk:notes/f1.md#7``."""
    if uri.startswith("chunk:"):
        uri = uri.partition("#")[0]
    _, slash, last = uri.rpartition("/")
    return last if slash else uri.partition(":")[2] or uri


def _is_same(found: object, wanted: object) -> bool:
    # 1, 1.0, True and "1" are four values: `==` alone would join three of them.
    return type(found) is type(wanted) and found == wanted
