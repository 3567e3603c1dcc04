"""Frames: what is sent arrives, and nothing that breaks a limit is read any further."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamind.engine_host.frames import MAX_DEPTH, MAX_HEADER_BYTES, Frame, FrameError, FrameTooLarge, decoding, encode

ROOM = 1_000_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


def read(data: bytes, *, max_bytes: int = ROOM) -> tuple[Frame, int]:
    """The frame, and how many bytes it took."""
    steps = decoding(max_bytes)
    taken, wanted = 0, next(steps)
    try:
        while True:
            piece = data[taken : taken + wanted]
            assert len(piece) == wanted, "it waits for more"
            taken += wanted
            wanted = steps.send(bytearray(piece))
    except StopIteration as done:
        return done.value, taken


def raw(header: bytes, sizes: Sequence[int] = (), *, magic: bytes = b"DM", header_bytes: int | None = None) -> bytes:
    length = len(header) if header_bytes is None else header_bytes
    return struct.pack("!2sHI", magic, len(sizes), length) + struct.pack(f"!{len(sizes)}Q", *sizes) + header


@settings(max_examples=50)
@given(header=st.dictionaries(st.text(), JSON, max_size=5), payloads=st.lists(st.binary(max_size=100), max_size=5))
def test_what_is_sent_arrives(header: dict[str, Any], payloads: list[bytes]) -> None:
    data = b"".join(encode(header, payloads, max_bytes=ROOM))
    frame, taken = read(data + b"the next frame")
    assert frame.header == header
    assert [bytes(payload) for payload in frame.payloads] == payloads
    assert taken == len(data)


def test_payloads_are_not_copied_and_arrive_read_only() -> None:
    payload = bytearray(b"abc")
    assert encode({}, [payload], max_bytes=ROOM)[1].obj is payload
    frame, _ = read(b"".join(encode({}, [payload], max_bytes=ROOM)))
    with pytest.raises(TypeError):
        frame.payloads[0][0] = 0


def test_a_view_of_other_items_is_sent_as_its_bytes() -> None:
    numbers = memoryview(struct.pack("<3i", 1, 2, 3)).cast("i")
    frame, _ = read(b"".join(encode({}, [numbers], max_bytes=ROOM)))
    assert struct.unpack("<3i", frame.payloads[0]) == (1, 2, 3)
    with pytest.raises(FrameError, match="contiguous"):
        encode({}, [memoryview(b"abcdef")[::2]], max_bytes=ROOM)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"x", {1, 2}, "\ud800", 10**5000], ids=str.__class__)
def test_only_strict_json_is_sent(value: Any) -> None:
    with pytest.raises(FrameError):
        encode({"value": value}, max_bytes=ROOM)


def test_a_circle_is_not_sent() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(FrameError):
        encode({"value": circle}, max_bytes=ROOM)


@pytest.mark.parametrize(
    ("header", "payloads"),
    [
        ({"x": "y" * MAX_HEADER_BYTES}, []),
        ({}, [b"x" * 999_999]),
        ({}, [b"x" * 500_000, b"y" * 500_000]),
        ({}, [b""] * 65),
    ],
)
def test_what_is_over_a_limit_is_not_sent(header: dict[str, Any], payloads: list[bytes]) -> None:
    with pytest.raises(FrameTooLarge):
        encode(header, payloads, max_bytes=ROOM)


@pytest.mark.parametrize(
    ("announced", "asked"),
    [
        (raw(b"", header_bytes=MAX_HEADER_BYTES + 1), 8),
        (raw(b"", header_bytes=2**32 - 1), 8),
        (struct.pack("!2sHI", b"DM", 65, 2), 8),
        (struct.pack("!2sHI", b"DM", 65_535, 2), 8),
        (raw(b"{}", [ROOM - 1]), 16),
        (raw(b"{}", [2**64 - 1]), 16),
        (raw(b"{}", [2**63, 2**63]), 24),
    ],
)
def test_what_is_announced_over_a_limit_is_read_no_further(announced: bytes, asked: int) -> None:
    with pytest.raises(FrameTooLarge):
        read(announced[:asked])


@pytest.mark.parametrize(
    "data",
    [
        raw(b"{}", magic=b"dm"),
        b"Traceback (most recent call last)",
        raw(b""),
        raw(b"[]"),
        raw(b'"text"'),
        raw(b'{"a": NaN}'),
        raw(b'{"a": -Infinity}'),
        raw(b'{"a": 1'),
        raw(b'{"a": 1} {}'),
        raw(b'{"a": "\xff"}'),
        raw(b'{"a": ' + b"9" * 5_000 + b"}"),
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(FrameError):
        read(data)


def nested(levels: int, pair: str = "[]") -> bytes:
    return b'{"a":' + pair[0].encode() * (levels - 1) + pair[1].encode() * (levels - 1) + b"}"


def test_nesting_is_counted_before_parsing() -> None:
    assert read(raw(nested(MAX_DEPTH)))[0].header
    for levels in (MAX_DEPTH + 1, 900, 100_000):
        with pytest.raises(FrameError, match="deeper"):
            read(raw(nested(levels)))
    mixed = b'{"a":' * 40 + b"[" * 40 + b"]" * 40 + b"}" * 40
    with pytest.raises(FrameError, match="deeper"):
        read(raw(mixed))


def test_brackets_in_text_do_not_nest() -> None:
    header = {"a": "[" * 1000, 'b"{': '\\"' + "{[" * 500, "rows": [[{"x": n}] for n in range(1000)]}
    assert read(raw(json.dumps(header).encode()))[0].header == header
