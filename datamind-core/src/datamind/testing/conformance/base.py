"""What every conformance class shares: no test can be dropped unseen, and what a provider cannot do is declared."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from datamind.plugins import NO_OPTIONS, ProviderKind
from datamind.testing.providers import ProviderTarget

_GUARANTEE: Final = re.compile(r"^\s*G(\d+) ", re.MULTILINE)
_NUMBERED: Final = re.compile(r"test_g(\d+)_")


class Conformance:
    """Base of the classes that hold a Protocol's tests.

    A provider's suite is a subclass that opens the provider and says what it can do::

        class TestAcmeStore(VectorStoreConformance):
            provider = "acme_kb.store:open_store"
            capabilities = frozenset({"durable", "vectors"})

    A test that is overridden without an entry in ``overridden`` is an error when the class is made, a missing
    capability shows as a skipped test, and declaring fewer or more than the provider has fails.

    Attributes:
        protocols: The Protocols whose numbered guarantees this class tests.
        known_capabilities: What a subclass may declare.
        capabilities: What the provider under test can do.
        overridden: Name of a standard test to the reason for replacing it.
    """

    pytestmark = pytest.mark.asyncio

    protocols: ClassVar[tuple[type, ...]] = ()
    known_capabilities: ClassVar[frozenset[str]] = frozenset()
    capabilities: ClassVar[frozenset[str]] = frozenset()
    overridden: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _refuse_silent_overrides(cls)
        unknown = cls.capabilities - cls.known_capabilities
        if unknown:
            known = ", ".join(sorted(cls.known_capabilities)) or "none"
            raise TypeError(f"{cls.__name__} declares unknown capabilities {sorted(unknown)}; known: {known}")

    def need(self, capability: str) -> None:
        """Skip the running test if the provider does not declare ``capability``."""
        if capability not in self.capabilities:
            pytest.skip(f"{type(self).__name__} declares no {capability!r}")


def guarantees_of(protocol: type) -> frozenset[int]:
    """Numbers of the guarantees in a Protocol's own docstring."""
    return frozenset(int(number) for number in _GUARANTEE.findall(protocol.__doc__ or ""))


def guarantees_tested(suite: type[Conformance]) -> frozenset[int]:
    """Numbers of the guarantees that a class has a test for."""
    found = (_NUMBERED.match(name) for name in dir(suite))
    return frozenset(int(match[1]) for match in found if match)


def _refuse_silent_overrides(suite: type[Conformance]) -> None:
    for name, owner in _standard_tests(suite):
        if inspect.getattr_static(suite, name) is owner.__dict__[name]:
            continue
        if not suite.overridden.get(name, "").strip():
            raise TypeError(
                f"{suite.__name__} replaces {owner.__name__}.{name}; give the reason in `overridden`, "
                "or declare fewer capabilities"
            )


def _standard_tests(suite: type[Conformance]) -> Iterator[tuple[str, type[Conformance]]]:
    for owner in suite.__mro__:
        if issubclass(owner, Conformance) and owner.__dict__.get("protocols"):
            yield from ((name, owner) for name in owner.__dict__ if name.startswith("test_"))


class ProviderConformance(Conformance):
    """Base of the classes whose subject is opened by a provider's factory.

    Attributes:
        factory: ``"module:attr"`` as in the provider's ProviderSpec.
        options_model: ``"module:attr"`` of its options model.
        options: The options it is opened with.
    """

    kind: ClassVar[ProviderKind]
    factory: ClassVar[str] = ""
    options_model: ClassVar[str] = NO_OPTIONS
    options: ClassVar[Mapping[str, Any]] = {}

    @property
    def target(self) -> ProviderTarget:
        """What is opened, here or in another process."""
        return ProviderTarget(self.kind.value, self.factory, self.options_model, self.options)

    async def open_provider(self, folder: Path, **dependencies: Any) -> Any:
        """The provider, for a profile under ``folder``."""
        return await self.target.open(folder, **dependencies)

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[Any]:
        """The provider until the block ends."""
        provider = await self.open_provider(folder)
        try:
            yield provider
        finally:
            await provider.aclose()
