"""What is written is read back, and any bytes are a skill or a typed error."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from datamind.core.errors import DataMindError
from datamind_skills.skill_format import SkillHeader, clean_keywords, read_skill, write_skill

_DEVICES = {"con", "nul", "aux", "prn"}
_NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True).filter(lambda name: name not in _DEVICES)
_LINES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Co", "Cn"), include_characters="\n\t"), max_size=80)
_BODIES = st.text(st.characters(exclude_categories=("Cs",)), max_size=200)


@given(_NAMES, _LINES.filter(str.strip), st.lists(_LINES, max_size=5), _BODIES)
def test_written_and_read_back(name: str, description: str, keywords: list[str], body: str) -> None:
    header = SkillHeader(name, description.strip(), clean_keywords(keywords))
    assert read_skill(write_skill(header, body), "folder") == (header, body)


_PIECES = st.sampled_from(
    ["---\n", "...\n", "name: ", "description: ", "keywords: ", "a", "- ", "[", "]", "{", "}", ": ", "\n", "  ", "|\n",
     ">\n",     "'", '"', "&x ", "*x ", "!!python/name:os ", "<<: ", "? ", "%YAML 1.1\n", "\t", "\r\n",
     "#", "\ufeff", "茶", "\x00", "\x85", "~", "@", "`"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_any_front_matter_is_a_skill_or_a_typed_error(text: str) -> None:
    with contextlib.suppress(DataMindError):
        read_skill(f"---\n{text}\n---\n".encode(), "folder")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_skill_or_a_typed_error(content: bytes) -> None:
    with contextlib.suppress(DataMindError):
        read_skill(content, "folder")
