"""What holds for the chunks and sentences of every text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamind.capabilities.text.blocks import split_blocks
from datamind.capabilities.text.chunking import WHOLE_FACTOR, chunk_text
from datamind.capabilities.text.sentences import split_sentences

MEDIA_TYPES = st.sampled_from(["text/plain", "text/markdown"])
PIECES = st.sampled_from(
    ["# ", "## H", "\n", "\r\n", "\r", "\n\n", " ", "- item", "1. ", "|", "|a|b|", "|-|-|", "---", "===", "```",
     "~~~", "> ",
     "word ", "Dr. ", "3.5", "A sentence. ", "这是一句话。", "「はい。」",
     "e\u0301", "👩\u200d🔬", "\u3000", "\ufeff", "\x0c", "\ud83d", "\ude00",
     "U.S. ", "...", "?!", "，", ", ", "a" * 50, "中" * 50]
)  # fmt: skip
PROSE = st.lists(
    st.tuples(st.integers(1, 40).map(lambda n: "w" * n + "."), st.sampled_from([" ", " ", "\n\n", "\n# H\n"])),
    max_size=12,
).map(lambda pairs: "".join(map("".join, pairs)))
TEXTS = st.lists(PIECES, max_size=80).map("".join) | PROSE | st.text(max_size=200)


def is_blank(text: str) -> bool:
    return not text.strip()


def assert_covers(text: str, spans: list[tuple[int, int]]) -> None:
    position = 0
    for start, end in spans:
        assert start < end
        assert is_blank(text[position:start])
        position = max(position, end)
    assert is_blank(text[position:])


@settings(max_examples=300, deadline=None)
@given(TEXTS, MEDIA_TYPES, st.integers(1, 60), st.floats(0, 0.99))
def test_chunks_cover_the_text_in_order_within_their_size(text: str, media_type: str, size: int, share: float) -> None:
    overlap = int(size * share)
    chunks = chunk_text(text, media_type=media_type, chunk_size=size, chunk_overlap=overlap)
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert_covers(text, [(chunk.start, chunk.end) for chunk in chunks])
    has_whole_blocks = any(
        block.kind not in ("heading", "prose") for block in split_blocks(text, media_type=media_type)
    )
    for chunk in chunks:
        content = text[chunk.start : chunk.end]
        assert content == content.strip() != ""
        assert len(content) <= size * (WHOLE_FACTOR if has_whole_blocks else 1)
    for before, after in pairwise(chunks):
        assert before.start < after.start and before.end < after.end
        assert before.end - after.start <= overlap
    assert chunks == chunk_text(text, media_type=media_type, chunk_size=size, chunk_overlap=overlap)


@settings(max_examples=300, deadline=None)
@given(TEXTS, MEDIA_TYPES)
def test_blocks_cover_the_text_once(text: str, media_type: str) -> None:
    blocks = split_blocks(text, media_type=media_type)
    assert_covers(text, [(block.start, block.end) for block in blocks])
    assert all(before.end <= after.start for before, after in pairwise(blocks))


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_sentences_cover_the_text_once(text: str) -> None:
    spans = split_sentences(text)
    assert_covers(text, spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


ENDLESS = [
    "a",
    "中",
    " ",
    "\n",
    "x\n",
    ".",
    ". ",
    "```\n",
    "# a\n",
    "|\n",
    "|a|\n|-|\n",
    "- a\n",
    "\u0301",
    "> ",
    "a\n=\n",
    "A b. ",
]


@pytest.mark.parametrize("unit", ENDLESS, ids=repr)
@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown"])
def test_a_long_text_of_one_kind_is_cut_like_any_other(unit: str, media_type: str) -> None:
    text = unit * (100_000 // len(unit))
    chunks = chunk_text(text, media_type=media_type)
    assert_covers(text, [(chunk.start, chunk.end) for chunk in chunks])
    assert all(chunk.end - chunk.start <= 512 * WHOLE_FACTOR for chunk in chunks)
