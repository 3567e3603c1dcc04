"""What every conformance class shares: no test can be dropped unseen, and what a provider cannot do is declared."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

import pytest

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
