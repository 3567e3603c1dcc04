"""What the tools that take a write back have in common; the application alone calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from datamind.core.hooks import Candidates
from datamind.core.receipts import SurfaceWriteResult
from datamind.core.tools import ReadBack, ToolSpec
from datamind.core.types import DataSurface, ToolEffect

_SHOWN: Final = 5
_MAX_IDS: Final = 1_000


class RestoreArguments(BaseModel):
    """Which write to take back."""

    model_config = ConfigDict(extra="forbid")

    receipt: str = Field(min_length=1, max_length=200, description="Its receipt.")


def restore_tool(surface: DataSurface, name: str, handler: Any, **declared: Any) -> ToolSpec:
    """A tool that brings back what was there before a write."""
    return ToolSpec.of(
        RestoreArguments,
        handler,
        name=name,
        description="Take one write back: what was there before it comes back, what it added goes.",
        effect=ToolEffect.DESTRUCTIVE,
        surface=surface,
        for_application=True,
        revert="exact",
        **declared,
    )


def restored(surface: DataSurface, back: tuple[str, ...], gone: tuple[str, ...]) -> SurfaceWriteResult:
    """What taking a write back did, by the ids of what came back and of what went."""
    count = len(back) + len(gone)
    return SurfaceWriteResult(
        surface=surface,
        operation="restored" if count else "none",
        status="stored" if count else "unchanged",
        items_written=count,
        ids=back[:_MAX_IDS],
        closed_ids=gone[:_MAX_IDS],
        revert="exact",
    )


def seen_restored(back: int, wanted: int, left: int, of: int, what: str) -> ReadBack:
    """A read-back that wants all of what came back, and none of what went."""
    parts = [f"{back} of {wanted} {what} found"] if wanted or not of else []
    parts += [f"{left} of {of} that went found"] if of else []
    return ReadBack(back == wanted and not left, ", ".join(parts))


def found_write(receipt_id: str, back: Sequence[str], gone: Sequence[str]) -> Candidates:
    """The write that is taken back, as a person is shown it; nothing if nothing of it is there to take back."""
    parts = (("comes back", back), ("goes", gone))
    label = "; ".join(f"{what}: {_listed(labels)}" for what, labels in parts if labels)
    return Candidates((receipt_id,), (label,)) if label else Candidates((), ())


def as_found(args: Mapping[str, Any], ids: tuple[str, ...]) -> Mapping[str, Any]:
    """A receipt names what is meant; there is nothing to pin."""
    return args


def _listed(labels: Sequence[str]) -> str:
    left = len(labels) - _SHOWN
    return ", ".join(labels[:_SHOWN]) + (f" and {left:,} more" if left > 0 else "")
