"""Tools: what one is, what it returns, and which a role holds."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError

from datamind.core.arguments import MAX_BYTES
from datamind.core.context import AskedCall, ToolContext
from datamind.core.errors import AccessDenied, ArgumentsInvalid, ConfigError
from datamind.core.evidence import Evidence
from datamind.core.hooks import Candidates
from datamind.core.kept import KeptFile
from datamind.core.messages import ToolDefinition
from datamind.core.receipts import IngestReceipt, RevertKind, SurfaceWriteResult
from datamind.core.results import Notice
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface, Role, ToolAccess, ToolEffect
from datamind.core.validation import describe_errors, make_schema_validator

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a reading or pure handler returns.

    Attributes:
        data: Small JSON facts beside the evidence; a long list in it is cut to the tool's bound.
        evidence: Best first.
        total: How many there were in all, if more than are returned.
        next_offset: Where the next page starts, if there is one.
        notices: What the reader of the whole result must know.
    """

    data: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    receipts: tuple[IngestReceipt, ...] = ()
    total: int | None = None
    next_offset: int | None = None
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """One unit of a write tool: one intent, one engine commit, one receipt.

    Attributes:
        args: Arguments of the handler for this unit; enough, with ``content``, to redo it after a crash.
        content: Bytes kept beside the intent, such as a file's.
        file: The same for what is too large to be held; one of the two.
        ledger_profile: ``_shared`` for global memories; empty for the request's own profile.
        label: What the progress line shows.
        is_quick: It may share a commit with others of its call, which then wait for each other: seconds would be felt
            when somebody cancels. Needs a tool with ``batch``.
    """

    args: Mapping[str, Any]
    content: bytes | None = None
    file: KeptFile | None = None
    source: SourceRef | None = None
    ledger_profile: str = ""
    label: str = ""
    is_quick: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A unit that could not even be planned, such as a file that is too large; it gets a failed receipt."""

    label: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What a read of the store says about a write that was just made."""

    agrees: bool
    seen: str


@dataclass(frozen=True, slots=True)
class Selector:
    """How a tool that changes or removes something finds it; resolved by code before the hooks decide.

    Attributes:
        find: Matches for validated arguments.
        pin: Arguments that name exactly these ids, so that what was decided on is what runs.
    """

    find: Callable[[Any, ToolContext], Awaitable[Candidates]]
    pin: Callable[[Mapping[str, Any], tuple[str, ...]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ResultBound:
    """How much of a result a model is shown; what was cut is said, with a place to go on from."""

    max_items: int = 50
    max_chars: int = 20_000


@dataclass(frozen=True, slots=True)
class BatchHandlers:
    """How a write tool does many units of one call in one engine commit. The ledger alone decides when.

    Attributes:
        apply: What the handler is for one unit, for many with distinct ids: contexts with their units, and for each
            its result or the reason why it failed; one that fails keeps none of the others from being written.
        read_back: What the tool's ``read_back`` is for one result, for many.
    """

    apply: Callable[[Sequence[tuple[Any, ToolContext]]], Awaitable[Sequence[SurfaceWriteResult | Exception]]]
    read_back: Callable[[Sequence[SurfaceWriteResult], ToolContext], Awaitable[Sequence[ReadBack]]]


Handler = Callable[[Any, ToolContext], Awaitable[ToolOutput | SurfaceWriteResult]]
Plan = Callable[[Any, ToolContext], AsyncIterator[PlannedWrite | Refusal]]
Destroys = Callable[[Any, ToolContext], Awaitable[Candidates]]
Recall = Callable[[AskedCall, ToolContext], Awaitable[ToolOutput | None]]
ReadBackFn = Callable[[SurfaceWriteResult, ToolContext], Awaitable[ReadBack]]
Validate = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class ToolSpec:
    """One tool and everything the gate and the hooks must know about it.

    Attributes:
        handler: Reads and pure tools return a ToolOutput. A write returns a SurfaceWriteResult, commits in one
            engine transaction and derives every id from ``ctx.unit``, so that running it again changes nothing; with
            a ``plan`` it takes a unit's own arguments, a plain mapping, instead of the call's.
        effect: Access follows from it.
        destroys: For a write that some arguments make destructive: what a call would take away for good, as a person is
            shown it. Nothing found: the call does what ``effect`` says. Called before the hooks, so it changes nothing
            and reads no content of a path.
        validate: Turns JSON arguments into what the handler takes. Left out, ``input_schema`` is enforced as it stands.
        path_args: Arguments that hold paths, as dotted names.
        sql_args: Arguments that hold a query language.
        selector: For tools that change or remove something.
        plan: Splits a write into units; left out, the call is one unit.
        read_back: Asks the reading side whether the write is there; left out, nothing can be asked.
        batch: For tools with a ``plan`` of many units that could share a commit.
        receipted: Set by the ledger alone; the registry refuses a write without it.
        for_application: Only the application calls it; no model is told of it.
        recall: Set by the ledger alone, for a write with a selector: the outcome a repeated call has already.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    handler: Handler
    effect: ToolEffect
    surface: DataSurface
    validate: Validate | None = None
    path_args: tuple[str, ...] = ()
    sql_args: tuple[str, ...] = ()
    selector: Selector | None = None
    destroys: Destroys | None = None
    plan: Plan | None = None
    read_back: ReadBackFn | None = None
    batch: BatchHandlers | None = None
    bound: ResultBound = ResultBound()
    revert: RevertKind = "none"
    max_argument_bytes: int = MAX_BYTES
    for_application: bool = False
    receipted: bool = False
    recall: Recall | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"tool name {self.name[:80]!r} is not of the form [a-z][a-z0-9_]*")
        if self.validate is None:
            object.__setattr__(self, "validate", make_schema_validator(self.input_schema))

    @classmethod
    def of(
        cls, arguments: type[BaseModel], handler: Handler, *, name: str, description: str, **declared: Any
    ) -> ToolSpec:
        """A tool whose schema and validation come from a pydantic model; unknown keys and loose types are refused."""
        schema = arguments.model_json_schema()
        schema["additionalProperties"] = False
        return cls(name, description, schema, handler, validate=_model_validator(arguments), **declared)

    @property
    def access(self) -> ToolAccess:
        """What a role must hold to call it."""
        return ToolAccess.of(self.effect)

    @property
    def writes(self) -> bool:
        """Whether it changes a store."""
        return self.access is ToolAccess.WRITE

    def parse(self, args: Mapping[str, Any]) -> Any:
        """Validated arguments in the form the handler takes.

        Raises:
            ArgumentsInvalid: With every mistake in one line.
        """
        assert self.validate is not None  # set in __post_init__
        return self.validate(args)

    def definition(self) -> ToolDefinition:
        """What a model is told."""
        return ToolDefinition(name=self.name, description=self.description, input_schema=dict(self.input_schema))

    def with_ledger(self, handler: Handler, recall: Recall | None = None) -> ToolSpec:
        """The same tool with a handler that keeps receipts."""
        return replace(self, handler=handler, recall=recall, receipted=True)

    async def planned(self, args: Any, ctx: ToolContext) -> AsyncIterator[PlannedWrite | Refusal]:
        """The units of a call; without a ``plan`` the call itself, when it has JSON arguments."""
        if self.plan is None:
            yield PlannedWrite(args.model_dump(mode="json") if isinstance(args, BaseModel) else dict(args))
            return
        async for unit in self.plan(args, ctx):
            yield unit

    def unit_arguments(self, args: Mapping[str, Any]) -> Any:
        """What the handler of a write takes for one unit."""
        return args if self.plan is not None else self.parse(args)


def _model_validator(model: type[BaseModel]) -> Validate:
    known = frozenset(model.model_fields)

    def validate(args: Mapping[str, Any]) -> BaseModel:
        unknown = sorted(set(args) - known)
        if unknown:
            raise ArgumentsInvalid(
                f"unknown argument {unknown[0][:80]!r}", hint=f"Known: {', '.join(sorted(known)) or 'none'}."
            )
        try:
            # JSON mode keeps strictness where it matters and still reads enums, dates and tuples from JSON.
            return model.model_validate_json(json.dumps(dict(args)), strict=True)
        except ValidationError as error:
            raise ArgumentsInvalid(describe_errors(error)) from None

    return validate


def assert_access(spec: ToolSpec, role: Role) -> None:
    """The second wall: holds even for a registry that was filled wrongly.

    Raises:
        AccessDenied: The role may not call tools of this access.
    """
    if spec.access not in role.access:
        raise AccessDenied(
            f"{spec.name} is a {spec.access} tool; the {role} role holds none", code="access_denied.role"
        )


class ToolRegistry(Mapping[str, ToolSpec]):
    """The frozen tools of one role; names match exactly."""

    def __init__(self, specs: Iterable[ToolSpec]) -> None:
        tools: dict[str, ToolSpec] = {}
        for spec in specs:
            if spec.name in tools:
                raise ConfigError(f"two tools are named {spec.name!r}", hint="Remove one of the plugins that bring it.")
            if spec.writes and not spec.receipted:
                raise ConfigError(f"the write tool {spec.name!r} is not wrapped by the ledger")
            tools[spec.name] = spec
        self._tools = MappingProxyType(tools)

    @classmethod
    def select(cls, catalogue: Iterable[ToolSpec], role: Role) -> ToolRegistry:
        """The first wall: only the tools whose access the role holds, in catalogue order."""
        return cls(spec for spec in catalogue if spec.access in role.access)

    def __getitem__(self, name: str) -> ToolSpec:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What a model is told, in a stable order."""
        told = (spec for spec in self._tools.values() if not spec.for_application)
        return tuple(spec.definition() for spec in sorted(told, key=lambda spec: spec.name))


def paths_of(args: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    """The values of the declared path arguments; a list counts as its items."""
    for name in names:
        value: Any = args
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                yield str(item)
