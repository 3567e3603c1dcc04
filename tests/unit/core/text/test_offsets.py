from __future__ import annotations

from datamind.capabilities.text.offsets import normalize_with_offsets


def test_each_normalised_character_knows_its_source() -> None:
    text = "㎏e\u0301ｶﾞ\u00ad①"
    normalized = normalize_with_offsets(text)
    sources = [text[start:end] for start, end in zip(normalized.starts, normalized.ends, strict=True)]
    assert normalized.text == "kgéガ1"
    assert sources == ["㎏", "㎏", "e\u0301", "ｶﾞ\u00ad", "①"]


def test_text_that_is_normal_already_maps_to_itself() -> None:
    normalized = normalize_with_offsets("plain 文字")
    assert normalized.source_span(2, 7) == (2, 7)
