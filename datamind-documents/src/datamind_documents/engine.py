"""The engine in the child: bytes of one document to text, and every library's exception to one line."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from datamind.core.errors import DataMindError, LimitExceeded, NotFound, SourceUnreadable
from datamind.engine_host import EngineReply, EngineRequest
from datamind_documents.formats import READERS
from datamind_documents.reading import Bounds, ReadDocument, broken


def make_engine(options: Mapping[str, Any]) -> DocumentEngine:
    """The engine that EngineHost starts."""
    return DocumentEngine(options["max_unpacked_bytes"])


class DocumentEngine:
    """Reads one document at a time."""

    def __init__(self, max_unpacked_bytes: int) -> None:
        self._max_unpacked_bytes = max_unpacked_bytes
        self.operations = {"read": self.read}

    def read(self, request: EngineRequest) -> EngineReply:
        """Title, pages and encoding; the text as the one payload, UTF-8."""
        media_type = request.args["media_type"]
        bounds = Bounds(request.args["max_characters"], self._max_unpacked_bytes)
        document = _read(bytes(request.payloads[0]), media_type, bounds)
        value = {"title": document.title, "pages": list(document.pages), "encoding": document.encoding}
        return EngineReply(value, (document.text.encode("utf-8"),))


def _read(content: bytes, media_type: str, bounds: Bounds) -> ReadDocument:
    reader = import_module(f"datamind_documents.readers.{READERS[media_type]}")
    try:
        document: ReadDocument = reader.read(content, bounds)
    except NotFound as error:  # a part that every document of the format has
        raise SourceUnreadable(
            f"the zip archive is no {media_type} file: {error}.", code="source_unreadable.other_format"
        ) from None
    except (DataMindError, MemoryError):
        raise
    except RecursionError:
        raise LimitExceeded(f"the {media_type} file is nested too deeply", code="limit_exceeded.nesting") from None
    except Exception as error:
        raise broken(media_type, error) from error
    if not document.text.strip():
        raise SourceUnreadable(
            f"there is no text in the {media_type} file.",
            code="source_unreadable.no_text",
            hint="If it is a scan, run text recognition on it first.",
        )
    if len(document.text) > bounds.max_characters:
        raise LimitExceeded(f"{len(document.text)} characters are more than the limit of {bounds.max_characters}")
    return document
