"""The HookChain: what may still stop, change or question a call that the role allows."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import anyio

from datamind.core.context import AskedCall, RequestContext
from datamind.core.types import ToolEffect

if TYPE_CHECKING:
    from datamind.core.outcome import ToolOutcome
    from datamind.core.tools import ToolOutput, ToolSpec

log = logging.getLogger(__name__)

MAX_REWRITES = 4
"""Rewrites of one call before the chain refuses it: hooks that keep undoing one another never end."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a selector found.

    Attributes:
        ids: Every match, in the order the surface ranks them.
        labels: One line each, for a *person*; a model is told only how many there are.
    """

    ids: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that passed access and schema. ``args`` are JSON values, already validated.

    Attributes:
        asked: What a write with a selector was asked; ``args`` name what it found.
        recalled: What a repeat of a write is answered with; it changes nothing, so nobody is asked.
        destroyed: What these arguments would take away, of a tool that takes nothing away with others.
    """

    call_id: str
    spec: ToolSpec
    args: Mapping[str, Any]
    candidates: Candidates | None = None
    asked: AskedCall | None = None
    recalled: ToolOutput | None = None
    destroyed: Candidates | None = None

    @property
    def effect(self) -> ToolEffect:
        """What the call does with these arguments; the effect of the tool is the least of it."""
        return ToolEffect.DESTRUCTIVE if self.destroyed and self.destroyed.ids else self.spec.effect


@dataclass(frozen=True, slots=True)
class Allow:
    """No objection."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The call does not run. ``reason`` goes to the model: it names no secret and no path outside the roots."""

    reason: str
    code: str = "access_denied.hook"


@dataclass(frozen=True, slots=True)
class AskUser:
    """A person decides. A later Deny still wins."""

    reason: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The call runs with ``args`` instead, after they were validated again and every hook saw them."""

    args: Mapping[str, Any]
    reason: str


Decision = Allow | Deny | AskUser | Rewrite
Revise = Callable[[Mapping[str, Any]], Awaitable[PendingCall]]
"""Makes a pending call from rewritten arguments, or raises."""


@runtime_checkable
class ToolHook(Protocol):
    """One check of the chain.

    G1 ``pre`` decides on ``call.effect`` and on declarations of ``call.spec`` (surface, path arguments …), not on a
    list of names.
    G2 ``pre`` changes nothing: it may be called again for the same call.
    G3 ``post`` runs once for every call, a denied one too.
    A hook that raises, or takes longer than the chain's limit, denies the call.
    """

    async def pre(self, call: PendingCall, ctx: RequestContext) -> Decision:
        """Decide before anything ran."""

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> None:
        """See how it ended; raising withholds what a read found, and marks a write's outcome."""


@dataclass(frozen=True, slots=True)
class NamedHook:
    """A hook and its place in the chain: lower ``order`` first, ties by name."""

    name: str
    order: int
    hook: ToolHook


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the chain decided, for the final arguments.

    Attributes:
        decision: Allow, Deny or AskUser; rewrites are already applied in ``call``.
        rewritten_by: Hooks that changed the arguments, in order.
    """

    call: PendingCall
    decision: Allow | Deny | AskUser
    decided_by: str = ""
    rewritten_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class HookChain:
    """Runs every hook in order and fails closed.

    Attributes:
        timeout_s: Limit for each hook and each call.
    """

    hooks: Sequence[NamedHook] = ()
    timeout_s: float = 5.0
    _ordered: tuple[NamedHook, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ordered", tuple(sorted(self.hooks, key=lambda hook: (hook.order, hook.name))))

    async def pre(self, call: PendingCall, ctx: RequestContext, revise: Revise) -> Verdict:
        """Decide on ``call``.

        A rewrite goes through ``revise`` (validation and selector again) and starts the chain again, so that
        every hook has seen the final arguments.
        """
        rewritten_by: list[str] = []
        while True:
            verdict, rewrite = await self._pass(call, ctx)
            if rewrite is None:
                return Verdict(call, verdict.decision, verdict.decided_by, tuple(rewritten_by))
            name, args = rewrite
            rewritten_by.append(name)
            if len(rewritten_by) > MAX_REWRITES:
                deny = Deny(
                    f"the arguments were rewritten more than {MAX_REWRITES} times", "access_denied.rewrite_loop"
                )
                return Verdict(call, deny, name, tuple(rewritten_by))
            try:
                call = await revise(args)
            except Exception as error:
                return Verdict(call, _failure(name, error), name, tuple(rewritten_by))

    async def _pass(
        self, call: PendingCall, ctx: RequestContext
    ) -> tuple[Verdict, tuple[str, Mapping[str, Any]] | None]:
        asked: Verdict | None = None
        decided_on = _json(call.args)
        for named in self._ordered:
            decision = await self._ask(named, call, ctx)
            match decision:
                case Deny():
                    return Verdict(call, decision, named.name), None
                case Rewrite(args=args) if _json(args) != decided_on:
                    return Verdict(call, Allow()), (named.name, args)
                case AskUser() if asked is None:
                    asked = Verdict(call, decision, named.name)
        if _json(call.args) != decided_on:
            # Some of the hooks decided on other arguments than would run.
            return Verdict(call, Deny("a hook changed the arguments in place", "access_denied.hook_failed")), None
        return asked or Verdict(call, Allow()), None

    async def _ask(self, named: NamedHook, call: PendingCall, ctx: RequestContext) -> Decision:
        try:
            with anyio.fail_after(self.timeout_s) as limit:
                decision: object = await named.hook.pre(call, ctx)
        except Exception as error:
            log.warning("hook %s failed before %s: %s", named.name, call.spec.name, type(error).__name__)
            return _failure(named.name, error)
        if limit.cancel_called:  # it caught the cancellation and went on
            return _failure(named.name, TimeoutError())
        if not isinstance(decision, Allow | Deny | AskUser | Rewrite):
            return _broken(named.name, "gave no decision")
        if isinstance(decision, Rewrite):
            args: object = decision.args
            if not isinstance(args, Mapping):
                return _broken(named.name, "rewrote the arguments to what is no object")
        return decision

    async def post(self, call: PendingCall, outcome: ToolOutcome, ctx: RequestContext) -> tuple[str, ...]:
        """Let every hook see the outcome; returns the names of those that failed."""
        failed: list[str] = []
        for named in self._ordered:
            try:
                with anyio.fail_after(self.timeout_s):
                    await named.hook.post(call, outcome, ctx)
            except Exception as error:
                log.warning("hook %s failed after %s: %s", named.name, call.spec.name, type(error).__name__)
                failed.append(named.name)
        return tuple(failed)


def _failure(name: str, error: Exception) -> Deny:
    # The exception's own text may quote arguments or secrets, so only its type is told.
    return _broken(name, f"failed ({type(error).__name__})")


def _broken(name: str, what: str) -> Deny:
    return Deny(f"the hook {name!r} {what}", "access_denied.hook_failed")


def _json(args: Mapping[str, Any]) -> str:
    # As text, for 1 == True == 1.0; what is no JSON is refused when it is validated.
    return json.dumps(dict(args), default=repr)
