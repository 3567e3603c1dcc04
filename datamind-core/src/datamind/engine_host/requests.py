"""Requests, checked and encoded before anything is sent."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from datamind.core.errors import InputInvalid, LimitExceeded
from datamind.engine_host.frames import MAX_FILES, FrameError, FrameTooLarge, encode
from datamind.engine_host.messages import Payload
from datamind.engine_host.spec import EngineSpec


class Request(NamedTuple):
    """A request, ready to be sent as often as needed."""

    id: int
    operation: str
    buffers: Sequence[Payload]
    fds: Sequence[int]


def make_request(
    spec: EngineSpec,
    request_id: int,
    operation: str,
    args: Mapping[str, Any],
    *,
    payloads: Sequence[Payload] = (),
    fds: Sequence[int] = (),
    stream: bool = False,
) -> Request:
    """Encode a request; payloads are not copied.

    Raises:
        InputInvalid: What cannot be sent.
        LimitExceeded: Too much of it.
    """
    where = f"engine {spec.name!r}: {operation!r} cannot be sent"
    if len(fds) > MAX_FILES:
        raise InputInvalid(f"{where}: {len(fds)} descriptors are more than {MAX_FILES}")
    header = {"id": request_id, "operation": operation, "args": dict(args), "stream": stream}
    try:
        for descriptor in fds:
            os.fstat(descriptor)
        return Request(request_id, operation, encode(header, payloads, max_bytes=spec.max_frame_bytes), fds)
    except FrameTooLarge as error:
        raise LimitExceeded(f"{where}: {error}", code="limit_exceeded.size") from None
    except (FrameError, OSError) as error:
        raise InputInvalid(f"{where}: {error}") from None
