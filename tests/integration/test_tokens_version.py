"""Words that were cut by another version of the tokenizer are cut anew when the store is opened."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from datamind.capabilities.text.tokens import TOKENS_VERSION, tokenize_for_index
from tests.support.systems import contents, open_system, read, write

SAMPLE = "The ferries' 3.5-ton crates weren't re-loaded: C++ naïve Straße 週報は中国語で書く API网关 snake_case"


@pytest.mark.parametrize("left", ["UPDATE meta SET value = '0'", "DELETE FROM meta"])
async def test_words_of_another_tokenizer_are_made_anew(tmp_path: Path, left: str) -> None:
    async with open_system(tmp_path) as system:
        await write(system, "memory_save", text="The parrot is called Moss.", subject="bird", value="Moss")
        await write(system, "memory_save", text="週報は中国語で書く")
        before = contents(await read(system, "memory_recall", query="parrot"))
    path = tmp_path / "storage" / "default" / "memory.db"
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE words SET tokens = 'dead'")
        connection.execute(left)
    async with open_system(tmp_path) as system:
        assert contents(await read(system, "memory_recall", query="parrot")) == before != []
        assert contents(await read(system, "memory_recall", query="週報")) == ["週報は中国語で書く"]
        assert contents(await read(system, "memory_recall", query="bird")) == before
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT value FROM meta WHERE key = 'tokens'").fetchone() == (str(TOKENS_VERSION),)


def test_a_change_of_the_tokenizer_moves_its_version_on() -> None:
    digest = hashlib.sha256("\n".join(tokenize_for_index(SAMPLE)).encode()).hexdigest()[:16]
    assert (TOKENS_VERSION, digest) == (1, "339afaab3772c752")
