"""What ``export`` and ``import`` share."""

from __future__ import annotations

from collections.abc import Mapping

from datamind_cli.render import Output
from datamind_cli.streams import ProgressLine


def told_bytes(line: ProgressLine, done: int, what: str) -> None:
    """How far it is, on one line."""
    line.show(f"{done / 1e6:,.1f} MB  {what}" if done else what)


def show_counts(out: Output, counts: Mapping[str, Mapping[str, int]]) -> None:
    """How much each surface holds."""
    rows = [
        (surface, ", ".join(_counted(number, noun.replace("_", " ")) for noun, number in nouns.items()))
        for surface, nouns in counts.items()
    ]
    out.table(("what", "holds"), rows)


def _counted(number: int, nouns: str) -> str:
    noun = "memory" if nouns == "memories" else nouns.removesuffix("s")
    return f"{number:,} {noun if number == 1 else nouns}"
