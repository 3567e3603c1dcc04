"""Patterns that wait for their first use."""

from __future__ import annotations

import re
from unittest import mock

from datamind.core.lazy_pattern import lazy_pattern


def test_it_is_compiled_once_and_only_when_it_is_used() -> None:
    with mock.patch("datamind.core.lazy_pattern.re.compile", side_effect=re.compile) as compiled:
        pattern = lazy_pattern(r"(\d+) kg", re.IGNORECASE)
        assert compiled.call_count == 0
        assert pattern.sub(r"\1 g", "7 KG and 8 kg") == "7 g and 8 g"
        assert [match[1] for match in pattern.finditer("7 KG and 8 kg")] == ["7", "8"]
        assert (pattern.pattern, pattern.search("none")) == (r"(\d+) kg", None)
        assert compiled.call_count == 1
