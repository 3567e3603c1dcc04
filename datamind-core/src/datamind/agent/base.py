"""What every loop is given: limits, instructions, the model and the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from datamind.core.dispatch import Gate
from datamind.core.events import AgentEvent
from datamind.core.protocols.agent import AgentLoopProtocol, LoopTurn
from datamind.core.protocols.models import ToolCallingModelClient
from datamind.core.results import Notice
from datamind.core.types import Role

_USUAL_INPUT_TOKENS: Final = 120_000

__all__ = ["AgentEvent", "AgentLoopConfig", "AgentLoopProtocol", "LoopParts", "LoopTurn"]


@dataclass(frozen=True, slots=True)
class AgentLoopConfig:
    """Limits of one run. None means no limit.

    Attributes:
        max_turns: Model calls, without the one for a final answer at a limit.
        wall_clock_s: Total time, the reserve included.
        reserve_s: Kept for the final answer.
    """

    max_turns: int = 12
    max_tool_calls: int = 24
    max_input_tokens: int | None = 120_000
    max_output_tokens: int | None = None
    max_cost_usd: float | None = None
    wall_clock_s: float = 300.0
    reserve_s: float = 20.0
    reply_tokens: int = 4096
    temperature: float | None = None
    model_timeout_s: float = 60.0

    @property
    def history_tokens(self) -> int:
        """How much of earlier turns is sent: a quarter, so that a long conversation leaves room for its next turn."""
        return (self.max_input_tokens or _USUAL_INPUT_TOKENS) // 4


@dataclass(frozen=True, slots=True)
class LoopParts:
    """One agent: its role, its model, its instructions and its gate.

    Attributes:
        system: Byte-stable over all runs.
        notices: Said with every result, such as surfaces that are off.
    """

    role: Role
    client: ToolCallingModelClient
    gate: Gate
    system: str
    config: AgentLoopConfig = AgentLoopConfig()
    notices: tuple[Notice, ...] = ()
