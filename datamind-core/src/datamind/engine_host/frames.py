"""The frames between a process and its engine: a JSON header, then byte payloads.

::

    "DM" | payloads: u16 | header bytes: u32 | bytes of each payload: u64 ... | header | payload ...

Nothing is unpickled on either side: an engine reads hostile input and may be under its control, so whoever
receives a frame checks every size before it makes room, and the header before it is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple, NoReturn

from datamind.engine_host.messages import Payload

MAX_HEADER_BYTES: Final = 256 * 1024  # JSON of this size parses in about 3 ms, which an event loop can spare
MAX_PART_BYTES: Final = 1024 * 1024
MAX_PAYLOADS: Final = 64
MAX_FILES: Final = 16
MAX_DEPTH: Final = 64

_MAGIC: Final = b"DM"
_PREFIX: Final = Struct("!2sHI")
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_AS_SQUARE: Final = bytes.maketrans(b"{}", b"[]")


class FrameError(Exception):
    """Bytes that are no frame, or a value that fits in none."""


class FrameTooLarge(FrameError):
    """A frame over its limit."""


class Frame(NamedTuple):
    """One message."""

    header: dict[str, Any]
    payloads: tuple[memoryview, ...] = ()


def encode(header: Mapping[str, Any], payloads: Sequence[Payload] = (), *, max_bytes: int) -> list[Payload]:
    """The buffers of a frame, in order; payloads are not copied.

    Args:
        header: Strict JSON.
        payloads: Contiguous buffers.
        max_bytes: Of header and payloads together.

    Raises:
        FrameTooLarge: More than ``max_bytes``, 256 KiB of header or 64 payloads.
        FrameError: The header is not strict JSON.
    """
    text = _to_json(header)
    views = [_bytes_of(payload) for payload in payloads]
    sizes = [len(view) for view in views]
    _check_sizes(len(text), sizes, max_bytes)
    head = _PREFIX.pack(_MAGIC, len(sizes), len(text)) + _sizes(len(sizes)).pack(*sizes) + text
    return [head, *(view for view in views if view)]


def decoding(max_bytes: int) -> Generator[int, bytearray, Frame]:
    """Read one frame: yields how many bytes it wants next, is sent exactly those, returns the frame.

    Raises:
        FrameTooLarge: It announces more than the limits of ``encode``.
        FrameError: It is none.
    """
    magic, count, header_bytes = _PREFIX.unpack((yield _PREFIX.size))
    if magic != _MAGIC:
        raise FrameError("it does not start as a frame does")
    _check_sizes(header_bytes, [0] * count, max_bytes)
    sizes = _sizes(count).unpack((yield 8 * count))
    _check_sizes(header_bytes, sizes, max_bytes)
    header = _from_json((yield header_bytes))
    payloads = []
    for size in sizes:
        payloads.append(memoryview((yield size)).toreadonly())
    return Frame(header, tuple(payloads))


def _bytes_of(payload: Payload) -> memoryview:
    try:
        return memoryview(payload).cast("B")
    except TypeError as error:
        raise FrameError(f"a payload is not contiguous bytes ({error})") from None


def _sizes(count: int) -> Struct:
    return Struct(f"!{count}Q")


def _check_sizes(header_bytes: int, sizes: Sequence[int], max_bytes: int) -> None:
    if header_bytes > MAX_HEADER_BYTES:
        raise FrameTooLarge(f"{header_bytes} bytes of JSON are more than {MAX_HEADER_BYTES}")
    if len(sizes) > MAX_PAYLOADS:
        raise FrameTooLarge(f"{len(sizes)} payloads are more than {MAX_PAYLOADS}")
    if (total := header_bytes + sum(sizes)) > max_bytes:
        raise FrameTooLarge(f"{total} bytes are more than {max_bytes}")


def _to_json(header: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:  # UnicodeEncodeError is a ValueError
        raise FrameError(f"a value is not strict JSON ({error})") from None


def _from_json(data: bytearray) -> dict[str, Any]:
    _check_depth(data)
    try:
        header = json.loads(data.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise FrameError("its header is not strict JSON") from None
    if not isinstance(header, dict):
        raise FrameError("its header is no JSON object")
    return header


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _check_depth(data: bytearray) -> None:
    # Before parsing, for the parser recurses. Peeling innermost pairs runs in C; a table is gone after three rounds.
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    brackets = _STRING.sub(b"", data).translate(_AS_SQUARE, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return
    raise FrameError(f"its header nests deeper than {MAX_DEPTH}, or is not JSON")
