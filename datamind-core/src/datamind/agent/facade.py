"""DataMind: the two agents over one data plane, as an application uses them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from datamind.agent.base import AgentEvent, AgentLoopProtocol, LoopParts, LoopTurn
from datamind.agent.budgets import loop_config
from datamind.agent.direct import Direct, IngestSource
from datamind.agent.erasing import run_forget
from datamind.agent.exporting import ExportReport, export_profile
from datamind.agent.forgetting import ForgetPlan, plan_forget
from datamind.agent.given import checked_text, known_role
from datamind.agent.history import repair
from datamind.agent.keeping import fill_interrupted, with_all_receipts
from datamind.agent.selection import Selection
from datamind.agent.services import AgentServices
from datamind.agent.tables import read_table
from datamind.agent.undo import UndoPlan, plan_revert, plan_undo, run_undo
from datamind.agent.verify import make_saved, verify_saved
from datamind.capabilities.control.answers import AnswerLog
from datamind.capabilities.control.conversations import ConversationLog
from datamind.capabilities.control.receipts import ReceiptLog
from datamind.capabilities.control.trace import Trace, find_trace
from datamind.config.profile import Profile
from datamind.config.settings import Settings
from datamind.core.archive import Tell
from datamind.core.context import RequestContext, bind_request
from datamind.core.dispatch import Gate, dispatch
from datamind.core.errors import DataMindError, InputInvalid
from datamind.core.events import DoneEvent, ErrorEvent
from datamind.core.evidence import InferenceResult
from datamind.core.logging import redactor
from datamind.core.messages import Message, SurfaceStatus, ToolCall
from datamind.core.outcome import ToolOutcome
from datamind.core.protocols.models import ToolCallingModelClient
from datamind.core.receipts import StoreResult
from datamind.core.result_table import ResultTable
from datamind.core.results import DrainReport, Notice
from datamind.core.saved_page import SavedFile
from datamind.core.shielded import finish_despite_cancel
from datamind.core.tools import ToolRegistry, ToolSpec
from datamind.core.types import Role
from datamind.core.verification import SavedAnswer, Verification
from datamind.plugins import ProviderKind

MAX_TEXT_CHARS = 200_000
MAX_QUESTION_CHARS = 8_000
Progress = Callable[[int, str], None]


@dataclass(frozen=True, slots=True)
class AgentParts:
    """One role's gate and instructions."""

    gate: Gate
    system: str


@dataclass
class DataMind:
    """One profile, ready to use. ``build_datamind`` makes it; close it with ``aclose`` or ``async with``."""

    services: AgentServices
    selection: Selection
    catalogue: tuple[ToolSpec, ...]
    agents: Mapping[Role, AgentParts]
    _loops: dict[Role, AgentLoopProtocol] = field(default_factory=dict)

    async def ingest(
        self,
        source: IngestSource,
        *,
        session: str = "",
        memory_scope: Literal["", "session", "profile", "global"] = "",
        idempotency_key: str = "",
        progress: Progress | None = None,
    ) -> StoreResult:
        """Store something.

        Text goes to StoreAgent, which decides where it belongs. A Path, several Paths or records go in directly,
        without a model, through the same gate, hooks and ledger; a Path given here is granted for this call.

        Args:
            source: Text, a Path, Paths, or records (mappings).
            session: Conversation it belongs to; session memories need one.
            memory_scope: Who sees what is remembered, where the text does not say it; the profile when empty.
            idempotency_key: The same key and content have one effect and give the same receipts.
            progress: Called after each unit with ``(done, label)``.

        Raises:
            InputInvalid: Blank text or nothing to store.
            NotFound: A path that does not exist.
            SurfaceUnavailable: The surface that would take it is off.
            ModelError: The model failed; receipts of what was written before are kept.
        """
        ctx = RequestContext(
            self.profile.name,
            Role.STORE,
            session=session,
            memory_scope=memory_scope,
            idempotency_key=idempotency_key,
            progress=progress,
        )
        if not isinstance(source, str):
            return await Direct(self).ingest(source, ctx)
        ctx = replace(ctx, user_text=checked_text(source, "text to store", MAX_TEXT_CHARS))
        result = await self._run(ctx, source, ())
        assert isinstance(result, StoreResult)  # the STORE role's loop makes nothing else
        return result

    async def query(self, question: str, *, session: str = "", history: Sequence[Message] = ()) -> InferenceResult:
        """Ask RetrieveAgent; the answer is kept with its evidence under ``trace_id``.

        Args:
            question: Any question.
            session: A conversation to go on with, kept in the profile.
            history: Earlier messages, when the application keeps them itself.

        Raises:
            InputInvalid: A blank question.
            ModelError: The model failed.
        """
        ctx = RequestContext(
            self.profile.name,
            Role.RETRIEVE,
            session=session,
            user_text=checked_text(question, "question", MAX_QUESTION_CHARS),
        )
        result = await self._run(ctx, question, tuple(history))
        assert isinstance(result, InferenceResult)  # the RETRIEVE role's loop makes nothing else
        return result

    async def stream(
        self, text: str, *, role: Role = Role.RETRIEVE, session: str = "", history: Sequence[Message] = ()
    ) -> AsyncGenerator[AgentEvent, None]:
        """Events of one turn; the last is ``done`` or ``error``. Closing the iterator cancels the run.

        Raises:
            InputInvalid: Blank text; before any event.
            PluginError: There is no model; before any event.
        """
        role = known_role(role)
        limit = MAX_TEXT_CHARS if role is Role.STORE else MAX_QUESTION_CHARS
        ctx = RequestContext(self.profile.name, role, session=session, user_text=checked_text(text, "text", limit))
        turn = await self._turn(ctx, text, tuple(history))
        loop = await self._loop(role)
        finished = False
        try:
            async with aclosing(aiter(loop.stream_turn(turn))) as events:  # type: ignore[type-var]
                async for event in events:
                    if isinstance(event, DoneEvent):
                        event = await self._kept(turn, text, event)
                        finished = True
                    yield event
        finally:
            if not finished:
                await finish_despite_cancel(self._keep_interrupted(turn))

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        role: Role | Literal["store", "retrieve"],
        session: str = "",
        ctx: RequestContext | None = None,
    ) -> ToolOutcome:
        """One tool call by the application: the same gate, hooks and ledger as a model's.

        Raises:
            InputInvalid: No such role, or arguments that JSON has no form for. Everything else is in the outcome.
        """
        role = known_role(role)
        ctx = ctx or RequestContext(self.profile.name, role, session=session, by_application=True)
        try:
            call = ToolCall.of(tool, arguments)
        except (TypeError, ValueError) as error:
            raise InputInvalid(f"the arguments of {tool[:80]!r} are not JSON ({error})") from None
        with bind_request(ctx):
            return await dispatch(call, ctx, self.agents[role].gate)

    async def drain(self, timeout_s: float | None = None, *, progress: Progress | None = None) -> DrainReport:
        """Embed what waits for vectors; texts were stored and found by words before.

        Args:
            timeout_s: Stop after so long; what is embedded by then stays. None waits for all.
            progress: Called after each batch with ``(done, what)``.

        Raises:
            ConfigError: A setting of the embedding is wrong. One that fails or is missing is told in the report.
            StoreError: A store failed.
        """
        return await self.services.vectors.drain(timeout_s=timeout_s, progress=progress)

    async def warm(self) -> None:
        """Open every surface that is on, and load the model that embeds questions, so that no question waits for it.

        A surface that does not open is left to the first question that needs it.
        """
        await self.services.warm()

    async def sql(self, statement: str, *, max_rows: int = 10_000) -> ResultTable:
        """The result of one read-only statement over the tables, by RetrieveAgent's own tool.

        Args:
            statement: One SELECT.
            max_rows: Rows beyond are left out; ``total`` of the result says how many there are.

        Raises:
            DataMindError: It was refused, failed, or reached ``db.query_timeout_s``.
        """
        return await read_table(self, statement, max_rows)

    async def plan_undo(self, asked: str = "") -> UndoPlan:
        """What ``undo`` would remove and bring back; nothing is changed.

        Args:
            asked: A receipt id, the trace id of a request, or empty for the last request that wrote something.

        Raises:
            NotFound: No such receipt or trace in this profile.
            Conflict: ``conflict.changed_since``: a later write changed the same thing; it is named.
                ``conflict.not_kept``: nothing was kept to bring back, as the receipt says.
            SurfaceUnavailable: Its surface is off.
        """
        return await plan_undo(self, asked)

    async def undo(self, asked: str | UndoPlan = "") -> StoreResult:
        """Take back what a receipt, a request or a plan wrote; no model takes part.

        What it added goes, what it replaced, closed or deleted comes back. Every call has a receipt, whose read-back
        saw that it is so. What was taken back already is ``unchanged``.

        Raises:
            NotFound: As ``plan_undo``, like the rest.
        """
        plan = await plan_undo(self, asked) if isinstance(asked, str) else asked
        return await run_undo(self, plan)

    async def plan_forget(
        self, *, source: str = "", entity: str = "", query: str = "", receipts: Sequence[str] = ()
    ) -> ForgetPlan:
        """What ``forget`` would take away, on every surface; nothing is changed. One of these says what is meant.

        Args:
            source: Uri, source id, document id or title, exactly; a path as it was stored. All its versions go.
            entity: Name of an entity: statements of it, and memories whose subject it is.
            query: Words that name documents and memories, or the name of a skill.
            receipts: Ids of writes.

        Raises:
            InputInvalid: Not one of them is given.
            NotFound: No such receipt. A source that was never stored gives an empty plan.
        """
        return await plan_forget(self, source=source, entity=entity, query=query, receipts=receipts)

    async def forget(self, plan: ForgetPlan, erase: bool = False) -> StoreResult:
        """Take what a plan names off every read path, by the tools that delete; no model takes part.

        Every deletion has a receipt. Whoever passes the plan has decided: no approver is asked.

        Args:
            plan: From ``plan_forget``.
            erase: Remove it from every file too, with stored contents, answers and conversations; nothing brings it
                back. An erase that is broken off is finished by the next start.

        Raises:
            StoreError: A store could not be written anew; the next start tries again.
        """
        return await run_forget(self, plan, erase=erase)

    async def plan_revert(self, receipt_id: str) -> UndoPlan:
        """``plan_undo`` of one receipt; raises as it does."""
        return await plan_revert(self, receipt_id)

    async def revert(self, receipt_id: str) -> StoreResult:
        """``undo`` of one receipt; reverting the receipt of a revert does the write again. Raises as ``plan_undo``."""
        return await run_undo(self, await plan_revert(self, receipt_id))

    async def save_answer(self, trace_id: str) -> SavedAnswer:
        """An answer with all that is needed to read and to verify it later; ``datamind.core.saved_page`` writes it.

        Raises:
            NotFound: The profile keeps no answer of this id.
        """
        return await make_saved(self, trace_id)

    async def verify(self, answer: SavedAnswer | SavedFile | str) -> Verification:
        """Look at everything an answer cites again, without a model.

        Args:
            answer: A saved one, or the trace id of one that the profile keeps.

        Raises:
            NotFound: The profile keeps no answer of this id.
            StoreError: A store cannot be read.
        """
        saved = await make_saved(self, answer) if isinstance(answer, str) else answer
        return await verify_saved(self, *(saved if isinstance(saved, SavedFile) else (saved,)))

    async def export(
        self, path: Path | str, *, replace: bool = False, with_audit_key: bool = False, tell: Tell | None = None
    ) -> ExportReport:
        """Write the whole profile to one file, which ``import_profile`` makes a profile of again.

        The lease of the profile is held meanwhile. Global memories and the user's own files stay.

        Args:
            path: Where to; it is there whole and synced, or not at all.
            replace: Whether a file that is there may go.
            with_audit_key: Take the key of the audit chain along: whoever has it can sign records.
            tell: Called with the bytes done and the name of the file at hand.

        Raises:
            InputInvalid: ``.file_exists``: there is a file, and it may not go.
            StoreError: The profile is in use, a store cannot be read, or the disk is full.
        """
        return await export_profile(self, Path(path), replace=replace, with_audit_key=with_audit_key, tell=tell)

    async def trace(self, asked: str) -> Trace:
        """The chain that an answer's trace id, an evidence id or a receipt id belongs to.

        Raises:
            NotFound: No such id in this profile.
        """
        return await find_trace(asked, self.services.controls())

    async def surfaces(self, session: str = "") -> tuple[SurfaceStatus, ...]:
        """Which surfaces are on, and how much each holds."""
        return await self.services.statuses(session)

    def registry(self, role: Role) -> ToolRegistry:
        """The frozen tools of a role."""
        return self.agents[role].gate.registry

    @property
    def settings(self) -> Settings:
        """What it was built from."""
        return self.services.settings

    @property
    def profile(self) -> Profile:
        """Whose data it is."""
        return self.services.profile

    @property
    def receipts(self) -> ReceiptLog:
        """The profile's receipts."""
        return self.services.control.receipts

    @property
    def answers(self) -> AnswerLog:
        """The profile's answers."""
        return self.services.control.answers

    @property
    def conversations(self) -> ConversationLog:
        """The profile's conversations."""
        return self.services.control.conversations

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What is said with every result: the surfaces that are off."""
        return tuple(
            Notice(code=f"surface_off.{surface}", message=f"{surface} is off: {reason}")
            for surface, reason in self.services.off.items()
        )

    @property
    def model_name(self) -> str:
        """The model that drives both agents."""
        return "offline" if self.extractive else self.settings.llm.model

    @property
    def extractive(self) -> bool:
        """Whether answers are put together from found text, without a language model."""
        return self.selection.model_protocol == "offline"

    async def aclose(self) -> None:
        """Close every store; may be called twice."""
        await self.services.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def _run(self, ctx: RequestContext, text: str, history: tuple[Message, ...]) -> InferenceResult | StoreResult:
        turn = await self._turn(ctx, text, history)
        try:
            result = await (await self._loop(ctx.role)).run_turn(turn)
        except BaseException:
            await finish_despite_cancel(self._keep_interrupted(turn))
            raise
        return await self._keep(turn, text, result)

    async def _turn(self, ctx: RequestContext, text: str, history: tuple[Message, ...]) -> LoopTurn:
        if ctx.session and not history:
            turns = self.settings.memory.short_term_turns
            history = await self.conversations.history(ctx.session, ctx.role, turns=turns) if turns else ()
        return LoopTurn(ctx, Message.user(text), history, await self.surfaces(ctx.session))

    async def _keep(
        self, turn: LoopTurn, text: str, result: InferenceResult | StoreResult
    ) -> InferenceResult | StoreResult:
        if isinstance(result, InferenceResult):
            await self.answers.add(text, turn.ctx.session, result)
        else:
            result = await with_all_receipts(result, self.services)
        if turn.ctx.session:
            messages = await fill_interrupted(turn.transcript, turn.ctx, self.services)
            await self.conversations.append(turn.ctx.session, turn.ctx.role, turn.ctx.trace_id, messages)
        return result

    async def _kept(self, turn: LoopTurn, text: str, done: DoneEvent) -> DoneEvent | ErrorEvent:
        try:
            return done.model_copy(update={"result": await self._keep(turn, text, done.result)})
        except DataMindError as error:
            return ErrorEvent(code=error.code, message=redactor.text(str(error)))

    async def _keep_interrupted(self, turn: LoopTurn) -> None:
        if turn.ctx.session and turn.transcript:
            messages = await fill_interrupted(repair(turn.transcript), turn.ctx, self.services)
            await self.conversations.append(turn.ctx.session, turn.ctx.role, turn.ctx.trace_id, messages)

    async def _loop(self, role: Role) -> AgentLoopProtocol:
        if role not in self._loops:
            if self.selection.model_error is not None:
                raise self.selection.model_error
            client: ToolCallingModelClient = await self.services.hub.open(ProviderKind.MODEL_CLIENT)
            make_loop = await self.services.hub.open(ProviderKind.AGENT_LOOP)
            parts = self.agents[role]
            self._loops[role] = make_loop(
                LoopParts(role, client, parts.gate, parts.system, loop_config(self.settings), self.notices)
            )
        return self._loops[role]


@dataclass(frozen=True, slots=True)
class StoreAgent:
    """The writing half of a system, alone: no method reads."""

    _system: DataMind

    async def ingest(self, source: IngestSource, **options: Any) -> StoreResult:
        """See ``DataMind.ingest``."""
        return await self._system.ingest(source, **options)

    async def aclose(self) -> None:
        """Close every store."""
        await self._system.aclose()


@dataclass(frozen=True, slots=True)
class RetrieveAgent:
    """The reading half of a system, alone: no method writes."""

    _system: DataMind

    async def query(self, question: str, **options: Any) -> InferenceResult:
        """See ``DataMind.query``."""
        return await self._system.query(question, **options)

    async def aclose(self) -> None:
        """Close every store."""
        await self._system.aclose()
