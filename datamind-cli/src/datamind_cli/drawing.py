"""A neighbourhood of the graph as a tree: every statement once, below the node from which it was reached first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from datamind.core.evidence import Evidence, TripleLocator

_ENDS: Final = {True: ("├─ ", "└─ ", "│  ", "   "), False: ("|- ", "`- ", "|  ", "   ")}
_ARROWS: Final = {True: ("→", "←"), False: ("->", "<-")}


@dataclass(frozen=True)
class Branch:
    """One statement, seen from the node above it.

    Attributes:
        name: Of the other end.
        is_out: The node above is the subject.
        below: Statements that were first reached from the other end.
    """

    evidence: Evidence
    relation: str
    name: str
    is_out: bool
    below: list[Branch] = field(default_factory=list)


def make_tree(start: str, found: Sequence[Evidence]) -> list[Branch]:
    """The statements around ``start``, which is an N-Triples term; ``found`` is in the order of a walk."""
    below: dict[str, list[Branch]] = {start: []}
    reached = {start: 0}
    for item in found:
        if not isinstance(item.locator, TripleLocator):
            continue
        ends = item.locator.subject, item.locator.object
        subject, relation, object_ = item.locator.names or (ends[0], item.locator.predicate, ends[1])
        is_out = reached.get(ends[0], len(reached)) <= reached.get(ends[1], len(reached))
        here, there = ends if is_out else ends[::-1]
        branch = Branch(item, relation, object_ if is_out else subject, is_out)
        # What a statement hung on may have gone while the walk went on.
        below.get(here, below[start]).append(branch)
        # A value is an end, however often it occurs.
        if not there.startswith('"'):
            below.setdefault(there, branch.below)
            reached.setdefault(there, len(reached))
    return below[start]


def drawn(branches: Sequence[Branch], *, fancy: bool, indent: str = "") -> Iterator[tuple[str, str, Evidence]]:
    """For each statement the lines in front of it, what it says, and its evidence."""
    inner, last, bar, blank = _ENDS[fancy]
    out, back = _ARROWS[fancy]
    for number, branch in enumerate(branches, 1):
        is_last = number == len(branches)
        shown = f"{branch.relation} {out if branch.is_out else back} {branch.name}"
        yield indent + (last if is_last else inner), shown, branch.evidence
        yield from drawn(branch.below, fancy=fancy, indent=indent + (blank if is_last else bar))


def cut_of(data: Mapping[str, object]) -> str:
    """What a walk left out, in words; empty when it is whole."""
    cut = data.get("cut")
    reasons = cut if isinstance(cut, Mapping) else {}
    told = {
        "fan_out": "{} nodes have more statements",
        "results": "{} more were not looked at",
        "time": "{} nodes were not reached in time",
    }
    return "; ".join(told[reason].format(number) for reason, number in reasons.items() if reason in told)
