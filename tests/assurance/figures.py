"""One line of what was tried and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figure:
    """What was counted, whether it is as promised, and what went wrong where it is not."""

    what: str
    value: str
    holds: bool = True
    problems: Sequence[str] = field(default_factory=tuple)

    def __str__(self) -> str:
        line = f"{self.what:<44} {self.value}{'' if self.holds else '   NOT AS PROMISED'}"
        return "\n".join([line, *(f"             {problem}" for problem in self.problems[:20])])
