"""What the state machines share: a provider under test in a folder of its own, and a loop to run it in."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar

from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from datamind.testing.providers import ProviderTarget

T = TypeVar("T")


class ProviderMachine(RuleBasedStateMachine):
    """Runs as ``TestX = X.TestCase`` of a subclass that sets ``target``.

    Attributes:
        target: The provider to open.
        durable: Whether it keeps what it holds when it is closed.
    """

    target: ClassVar[ProviderTarget]
    durable: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.provider: Any = self.run(self._open())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await ``work`` in the machine's own loop."""
        return self.runner.run(work)

    async def _open(self) -> Any:
        return await self.target.open(Path(self.folder.name))

    def teardown(self) -> None:
        """Close what was opened."""
        self.run(self.provider.aclose())
        self.runner.close()
        self.folder.cleanup()

    @precondition(lambda self: self.durable)
    @rule()
    def reopen(self) -> None:
        """Everything is still there."""
        self.run(self.provider.aclose())
        self.provider = self.run(self._open())
