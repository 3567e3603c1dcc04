"""Tools and gates made in one line, for tests of loops and hooks. Need core alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from datamind.core.context import RequestContext, ToolContext
from datamind.core.dispatch import DecisionRecorder, Gate, Sides
from datamind.core.hooks import HookChain, NamedHook, ToolHook
from datamind.core.protocols.agent import Approver
from datamind.core.receipts import IngestReceipt, SurfaceWriteResult, new_receipt_id
from datamind.core.record import now
from datamind.core.tools import ToolOutput, ToolRegistry, ToolSpec
from datamind.core.types import DataSurface, Role, ToolEffect
from datamind.testing.fakes import DecisionLog

ANY_ARGUMENTS: dict[str, Any] = {"type": "object"}

Work = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""What a tool does: JSON arguments to the ``data`` of its output."""


def make_tool(
    name: str,
    work: Work | None = None,
    *,
    effect: ToolEffect = ToolEffect.READ,
    surface: DataSurface = DataSurface.KB,
    schema: Mapping[str, Any] = ANY_ARGUMENTS,
    **declared: Any,
) -> ToolSpec:
    """A tool that does ``work``, or gives its arguments back. A write answers with a receipt."""

    async def handler(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        data = await work(args) if work else {"echo": dict(args)}
        return ToolOutput(data=data, receipts=(make_receipt(name, surface, ctx.request),) if spec.writes else ())

    spec = ToolSpec(
        name=name,
        description=f"The tool {name} of a test.",
        input_schema=schema,
        handler=handler,
        effect=effect,
        surface=surface,
        receipted=effect in (ToolEffect.WRITE, ToolEffect.DESTRUCTIVE),
        **declared,
    )
    return spec


def make_receipt(tool: str, surface: DataSurface, ctx: RequestContext) -> IngestReceipt:
    """The receipt of a write that stored one thing; no ledger holds it."""
    result = SurfaceWriteResult(surface=surface, operation="added", status="stored", items_written=1)
    return IngestReceipt(
        receipt_id=new_receipt_id(ctx.profile),
        idempotency_key=ctx.idempotency_key or ctx.trace_id,
        trace_id=ctx.trace_id,
        tool=tool,
        source=None,
        started_at=now(),
        completed_at=now(),
        result=result,
        read_back="1 item",
    )


def make_gate(
    *tools: ToolSpec,
    role: Role = Role.RETRIEVE,
    hooks: Iterable[ToolHook] = (),
    recorder: DecisionRecorder | None = None,
    approver: Approver | None = None,
    sides: Sides | None = None,
) -> Gate:
    """A gate over those of ``tools`` that the role may hold; hooks run in the order given."""
    named = [NamedHook(f"hook_{order}", order, hook) for order, hook in enumerate(hooks)]
    return Gate(
        registry=ToolRegistry.select(tools, role),
        hooks=HookChain(named),
        sides=sides or Sides(),
        recorder=recorder or DecisionLog(),
        approver=approver,
    )


def make_request(role: Role = Role.RETRIEVE, *, profile: str = "test", session: str = "") -> RequestContext:
    """A request of nobody in particular."""
    return RequestContext(profile=profile, role=role, session=session)
