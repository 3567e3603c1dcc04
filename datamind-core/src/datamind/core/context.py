"""One request: whose it is, what it may touch and how it is traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from datamind.core.kept import KeptFile
from datamind.core.types import Role, new_id


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Bound for every request; identity comes from here, never from a model's arguments.

    Attributes:
        session: Conversation and session-scope memories; empty outside a session.
        granted_paths: Files and folders the *user* named for this request, absolute.
        memory_scope: Scope of what is remembered where nothing says another; the profile when empty.
        idempotency_key: The caller's key for the whole request, or empty.
        user_text: The user's own words in this request, the only text with origin ``user``.
        by_application: The arguments of calls were written by the application, not by a model.
        progress: Called after each unit of a long write with ``(done, label)``; must not block.
        sink: Takes a result that has an exact form (a file, the rows of a query) as bytes, piece by piece; called in
            a worker thread.
        ordinals: Numbers the writes of this request, so that a caller's key names each of them.
    """

    profile: str
    role: Role
    session: str = ""
    memory_scope: str = ""
    trace_id: str = field(default_factory=lambda: new_id("trace"))
    granted_paths: tuple[Path, ...] = ()
    idempotency_key: str = ""
    user_text: str = ""
    by_application: bool = False
    progress: Callable[[int, str], None] | None = None
    sink: Callable[[bytes], object] | None = None
    ordinals: Iterator[int] = field(default_factory=count, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class WriteUnit:
    """What one intent holds: enough to redo the write after a crash, with the same ids.

    Attributes:
        unit_id: Stable across redos; ids of everything written derive from it.
        receipt_id: The receipt this unit will have; stored beside the rows it makes.
        file: The content where it was planned as a file; after a crash it is ``content`` all the same.
    """

    unit_id: str
    receipt_id: str
    content: bytes | None
    file: KeptFile | None = None


@dataclass(frozen=True, slots=True)
class AskedCall:
    """What a write with a selector was asked, before anything was looked for.

    Attributes:
        args: Validated arguments.
        ordinal: Its number among the writes of the request, whether it finds something or not.
    """

    args: Any
    ordinal: int


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a handler gets beside its arguments.

    Attributes:
        side: The side of the services that the tool's effect allows: read, write, or None for a pure tool.
        unit: Set for a write, None otherwise.
        asked: Set for a write with a selector: the arguments it is given name what was found, these what was asked.
    """

    request: RequestContext
    call_id: str
    side: Any
    unit: WriteUnit | None = None
    asked: AskedCall | None = None


_current: ContextVar[RequestContext | None] = ContextVar("datamind_request", default=None)


def current_request() -> RequestContext | None:
    """The request this task works for, or None outside one."""
    return _current.get()


@contextmanager
def bind_request(ctx: RequestContext) -> Iterator[RequestContext]:
    """Bind ``ctx`` for logs and child tasks until the block ends."""
    token = _current.set(ctx)
    try:
        yield ctx
    finally:
        _current.reset(token)
