"""What a chunk holds; that the spans cover and are bounded is proved in tests/property."""

from __future__ import annotations

from itertools import pairwise

import pytest

from datamind.capabilities.text.chunking import Chunk, chunk_text
from datamind.core.errors import InputInvalid

GUIDE = """---
title: Guide
---
Preface.

# Guide

Intro sentence one. Intro sentence two.

## Install ##

- first item
- second item
  continued

```python
# not a heading

x = 1
```

| a | b |
|---|---|
| 1 | 2 |

Upgrade
-------
Short text. 中文句子。
"""


def markdown(text: str, size: int = 80, overlap: int = 0) -> list[tuple[Chunk, str]]:
    chunks = chunk_text(text, media_type="text/markdown", chunk_size=size, chunk_overlap=overlap)
    return [(chunk, text[chunk.start : chunk.end]) for chunk in chunks]


def test_sections_begin_chunks_and_name_their_path() -> None:
    paths = {content.splitlines()[0]: chunk.heading_path for chunk, content in markdown(GUIDE)}
    assert paths["---"] == ()
    assert paths["# Guide"] == ("Guide",)
    assert paths["## Install ##"] == ("Guide", "Install")
    assert paths["Upgrade"] == ("Guide", "Upgrade")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_structure_is_read_whatever_the_line_breaks(newline: str) -> None:
    got = [(chunk.heading_path, content) for chunk, content in markdown(GUIDE.replace("\n", newline), size=400)]
    expected = [(chunk.heading_path, content.replace("\n", newline)) for chunk, content in markdown(GUIDE, size=400)]
    assert got == expected
    assert len(expected) == 4


def test_code_and_tables_stay_whole_up_to_four_times_the_size() -> None:
    code = "```\n" + "\n".join(f"line = {n}" for n in range(12)) + "\n\n# comment\n```"
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | x |" for n in range(10))
    contents = [content for _, content in markdown(f"# T\n\n{code}\n\nText between.\n\n{table}\n", size=50)]
    assert f"# T\n\n{code}" in contents
    assert table in contents


def test_a_large_table_is_cut_by_rows_and_each_part_names_its_header() -> None:
    header = "| name | value |\n|---|---|"
    rows = [f"| row {n} | {n * n} |" for n in range(60)]
    text = "# T\n\n" + "\n".join([header, *rows]) + "\n\nAfter the table.\n"
    first, *others, last = markdown(text)
    assert first[1].startswith(f"# T\n\n{header}\n| row 0") and first[0].table_header is None
    for chunk, content in others:
        assert chunk.table_header is not None and text[slice(*chunk.table_header)] == header
        assert all(row in rows for row in content.splitlines())
    assert last[1] == "After the table." and last[0].table_header is None
    assert sum(content.count("| row") for _, content in [first, *others]) == 60


def test_a_large_table_that_begins_the_text_holds_its_header_once() -> None:
    chunks = markdown("| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 40)
    assert [chunk.table_header for chunk, _ in chunks] == [None] + [(0, 19)] * (len(chunks) - 1)


def test_a_large_code_block_is_cut_by_lines() -> None:
    lines = [f"statement_{n} = {n}" for n in range(60)]
    contents = [content for _, content in markdown("\n".join(["~~~", *lines, "~~~"]))]
    assert max(map(len, contents)) <= 80
    assert [line for content in contents for line in content.splitlines()] == ["~~~", *lines, "~~~"]


def test_headings_in_code_and_inline_fences_are_no_structure() -> None:
    text = "```inline``` text\n\n# Real\n\n````\n```\n# no\n````\n\n# Second\nx\n"
    assert [chunk.heading_path for chunk, _ in markdown(text, size=30)] == [(), ("Real",), ("Second",)]


def test_sibling_sections_do_not_inherit_each_other() -> None:
    text = "# A\na\n### Deep\nd\n## B\nb\n# C#\nc\n#hashtag\n"
    assert [chunk.heading_path for chunk, _ in markdown(text)] == [("A",), ("A", "Deep"), ("A", "B"), ("C#",)]


def test_a_heading_without_a_title_adds_nothing_to_the_path() -> None:
    assert [chunk.heading_path for chunk, _ in markdown("# A\na\n##\nb\n")] == [("A",), ("A",)]


def test_a_rule_below_a_list_item_is_no_heading() -> None:
    assert [chunk.heading_path for chunk, _ in markdown("- item\n---\nText.")] == [()]


@pytest.mark.parametrize("opening", ["---", "\ufeff---", "+++"])
def test_front_matter_is_a_block_of_its_own(opening: str) -> None:
    fence = opening.lstrip("\ufeff")
    contents = [content for _, content in markdown(f"{opening}\n# comment\n{fence}\n# Title\nText.\n")]
    assert contents == [f"{opening}\n# comment\n{fence}", "# Title\nText."]


def test_front_matter_that_never_ends_is_text() -> None:
    assert [chunk.heading_path for chunk, _ in markdown("---\n# Title\nText.\n")] == [(), ("Title",)]


def test_a_heading_stands_with_what_follows_it() -> None:
    contents = [content for _, content in markdown("# A\n\n## B\n\nBody text.\n\n# Last\n")]
    assert contents == ["# A\n\n## B\n\nBody text.", "# Last"]


def test_plain_text_has_no_headings() -> None:
    text = "# not a heading\n\nBody."
    assert [(chunk.start, chunk.end, chunk.heading_path) for chunk in chunk_text(text)] == [(0, len(text), ())]


def test_chunks_end_at_sentences_in_english_and_chinese() -> None:
    text = (
        "The first sentence is here. The second one follows it. A third ends it.\n\n"
        + "这是第一句话。这是第二句话！" * 4
    )
    for chunk in chunk_text(text, chunk_size=60, chunk_overlap=0):
        assert text[chunk.end - 1] in ".。！"


def test_paragraphs_that_fit_are_not_torn() -> None:
    paragraphs = [f"Paragraph {n} has one sentence. And then it has another one." for n in range(5)]
    text = "\n\n".join(paragraphs)
    assert [text[chunk.start : chunk.end] for chunk in chunk_text(text, chunk_size=90, chunk_overlap=0)] == paragraphs


def test_the_overlap_is_whole_sentences_and_stays_in_its_section() -> None:
    sentences = [f"Sentence {n} of it." for n in range(12)]
    text = " ".join(sentences) + "\n\n# Next\n\n" + " ".join(sentences)
    chunks = markdown(text, size=80, overlap=45)
    for (before, _), (after, content) in pairwise(chunks):
        if after.heading_path == before.heading_path:
            assert 35 <= before.end - after.start <= 45
            assert content.startswith("Sentence")
        else:
            assert after.start > before.end


def test_the_overlap_never_repeats_a_whole_chunk() -> None:
    text = "First paragraph of text.\n\nShort one. It has an end here."
    chunks = chunk_text(text, chunk_size=40, chunk_overlap=39)
    assert [text[chunk.start : chunk.end] for chunk in chunks] == text.split("\n\n")


def test_code_is_never_repeated() -> None:
    contents = [content for _, content in markdown("One two.\n\n```\nx\n```\n\nThree four.", size=24, overlap=12)]
    assert contents == ["One two.\n\n```\nx\n```", "Three four."]


def test_code_is_never_preceded_by_an_overlap() -> None:
    contents = [content for _, content in markdown("One. Two. Three.\n\n```\ncode\n```", size=24, overlap=10)]
    assert contents == ["One. Two. Three.", "```\ncode\n```"]


def test_a_sentence_longer_than_a_chunk_is_cut_at_commas_and_blanks() -> None:
    text = "one two three, four five six seven eight, nine ten eleven twelve thirteen fourteen fifteen"
    contents = [text[chunk.start : chunk.end] for chunk in chunk_text(text, chunk_size=30, chunk_overlap=0)]
    assert contents == [
        "one two three, four five six",
        "seven eight, nine ten eleven",
        "twelve thirteen fourteen",
        "fifteen",
    ]


@pytest.mark.parametrize("cluster", ["e\u0301\u0323", "👩🏽\u200d🔬", "🇳🇴", "\u1100\u1161\u11a8", "\ud83d\ude00", "க்ஷ"])
def test_an_endless_line_is_cut_between_characters(cluster: str) -> None:
    text = "x" + cluster * 40
    chunks = chunk_text(text, chunk_size=16, chunk_overlap=0)
    assert len(chunks) > 3
    assert all((chunk.start - 1) % len(cluster) == 0 for chunk in chunks[1:])


def test_the_size_is_kept_when_one_character_is_longer() -> None:
    chunks = chunk_text("e" + "\u0301" * 100, chunk_size=16, chunk_overlap=0)
    assert max(chunk.end - chunk.start for chunk in chunks) == 16


@pytest.mark.parametrize("text", ["", " \n\t\r\n\u3000"])
def test_blank_text_has_no_chunk(text: str) -> None:
    assert chunk_text(text) == chunk_text(text, media_type="text/markdown") == []


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (-1, 0), (10, 10), (10, -1)])
def test_a61_sizes_that_cannot_be_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(InputInvalid, match="chunk_"):
        chunk_text("text", chunk_size=size, chunk_overlap=overlap)
