"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._source)
        # Found here from now on: a lookup costs no more than that of a pattern itself.
        self.__dict__.update({one: getattr(compiled, one) for one in dir(compiled) if not one.startswith("__")})
        return getattr(compiled, name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As ``re.compile``. A short command compiles only what it uses: a class of many scripts takes milliseconds.

    Raises:
        re.error: Not here but at the first use, so a test should use it.
    """
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
