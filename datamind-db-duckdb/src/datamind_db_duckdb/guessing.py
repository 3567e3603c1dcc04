"""The types of columns of text, from whole Arrow batches: the same answer as from one value after another."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import pyarrow.compute as pc

from datamind.capabilities.db.tabular import formats
from datamind.capabilities.db.tabular.columns import ColumnGuess
from datamind.capabilities.db.tabular.formats import PADDING, Format

_FEW: Final = 256


def look_at(guess: ColumnGuess, column: Any) -> bool:
    """Let a guess see a batch of strings; returns whether padding stands around one of them."""
    trimmed = pc.ascii_trim(column, characters=PADDING)
    is_padded = not pc.all(pc.equal(trimmed, column), min_count=0).as_py()
    if guess.alive or not guess.has_text:
        _narrow(guess, _Values(pc.filter(trimmed, pc.not_equal(trimmed, ""))))
    return is_padded


def _narrow(guess: ColumnGuess, values: _Values) -> None:
    if len(values.texts) <= _FEW:
        guess.add_texts(values.texts.to_pylist())
        return
    guess.narrow(values.test)
    for known in guess.alive:
        if known.kind == "decimal":
            guess.measure(known.name, *values.digits(known))


class _Values:
    """Texts of one batch, without padding, blank and NULL."""

    def __init__(self, texts: Any) -> None:
        self.texts = texts

    @cached_property
    def distinct(self) -> list[str]:
        """Each text once."""
        found: list[str] = pc.unique(self.texts).to_pylist()
        return found

    def test(self, known: Format) -> bool:
        if not known.exact or known is formats.BOOLEAN:
            # Most columns are none of these, which their first values show.
            first = self.texts.slice(0, _FEW).to_pylist()
            return all(map(known.fits, first)) and all(map(known.fits, self.distinct))
        fits = pc.match_substring_regex(self.texts, f"^(?:{known.pattern})$")
        return bool(pc.all(fits).as_py())

    def digits(self, known: Format) -> tuple[int, int]:
        point, grouping = (",", ".") if known is formats.DECIMAL_COMMA else (".", ",")
        plain = pc.utf8_ltrim(self.texts, characters="-")
        if known is not formats.DECIMAL:
            plain = pc.replace_substring(plain, grouping, "")
        length, at = pc.binary_length(plain), pc.find_substring(plain, point)
        has_point = pc.greater_equal(at, 0)
        before = pc.if_else(has_point, at, length)
        after = pc.if_else(has_point, pc.subtract(pc.subtract(length, at), 1), 0)
        return _top(before), _top(after)


def _top(numbers: Any) -> int:
    return int(pc.max(numbers).as_py() or 0)
