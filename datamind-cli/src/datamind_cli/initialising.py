"""What ``datamind init`` may write into a profile, and whose consent each value needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from datamind.config import Profile, Settings
    from datamind.plugins import ProviderRegistry

_PROTOCOL_OF: Final = {"ANTHROPIC": "anthropic", "OPENAI": "openai_chat_completions"}
_REFERENCE: Final = "memory"
_MASK: Final = "**********"


@dataclass(frozen=True)
class Proposal:
    """One setting that could be written.

    Attributes:
        before: What the profile file holds now; None if it does not set the key.
        asks: Whether a person must agree, because it is a secret of theirs or replaces a value.
    """

    key: str
    value: Any
    reason: str
    before: Any = None
    asks: bool = False
    is_secret: bool = False

    @property
    def is_new(self) -> bool:
        """Whether writing it changes anything."""
        return self.before is None or self.before != self.value

    @property
    def shown(self) -> str:
        """``key = value``, masked, with the value that would go."""
        if self.is_secret:
            return f"{self.key} = {_MASK}"
        return f"{self.key} = {self.value}" + (f" (now {self.before})" if self.before is not None else "")


def make_proposals(
    settings: Settings, registry: ProviderRegistry, profile: Profile, flags: dict[str, str]
) -> list[Proposal]:
    """Everything worth writing that the profile file does not hold yet."""
    held = _held_values(profile)
    written = {key for key in flags if not key.startswith("data.")}
    wanted = [
        *_for_missing_store(settings, registry),
        *(Proposal(row.key, row.value, "given with --set") for row in settings.origins() if row.key in written),
        *_for_vendor_variables(registry),
    ]
    proposals = [_compared(proposal, held.get(proposal.key)) for proposal in wanted]
    return [proposal for proposal in proposals if proposal.is_new]


def unusable_vendor_variables(registry: ProviderRegistry) -> list[tuple[str, str]]:
    """Variables of a vendor whose model client is not installed, each with what to do about it."""
    from datamind.config import seen_vendor_variables
    from datamind.plugins import ProviderKind
    from datamind.plugins.known import PROVIDER_REQUIREMENTS, advice

    missing = {name: protocol for name in seen_vendor_variables() if not _is_installed(registry, protocol := _of(name))}
    return [
        (name, advice(PROVIDER_REQUIREMENTS[ProviderKind.MODEL_CLIENT, protocol])) for name, protocol in missing.items()
    ]


def _held_values(profile: Profile) -> dict[str, Any]:
    from datamind.config.toml import read_toml

    tables = read_toml(profile.settings_file)
    return {f"{section}.{key}": value for section, table in tables.items() for key, value in table.items()}


def _compared(proposal: Proposal, before: Any) -> Proposal:
    asks = proposal.asks or before is not None
    return Proposal(proposal.key, proposal.value, proposal.reason, before, asks, proposal.is_secret)


def _for_missing_store(settings: Settings, registry: ProviderRegistry) -> Iterator[Proposal]:
    if "kb.backend" in absent_defaults(settings, registry):
        reason = f"{settings.kb.backend} is not installed; the store in memory reads its texts from control.db"
        yield Proposal("kb.backend", _REFERENCE, reason)


def absent_defaults(settings: Settings, registry: ProviderRegistry) -> list[str]:
    """Settings that nobody set, whose default is not installed, and for which core has a reference provider."""
    from datamind.plugins import ProviderKind

    unset = {row.key: row.value for row in settings.origins() if row.origin == "default"}
    installed = {(spec.kind.setting, spec.name) for spec in registry.specs()}
    kinds = (ProviderKind.KB_STORE, ProviderKind.MEMORY_STORE, ProviderKind.SKILLS_SOURCE)
    keys = [kind.setting for kind in kinds]
    return [key for key in keys if key in unset and (key, unset[key]) not in installed]


def _for_vendor_variables(registry: ProviderRegistry) -> Iterator[Proposal]:
    from datamind.config import seen_vendor_variables
    from datamind.config.sources import VENDOR_VARIABLES

    usable = [name for name in seen_vendor_variables() if _is_installed(registry, _of(name))]
    # One model client serves at a time: the first vendor seen is the one that is offered.
    for name in [name for name in usable if _of(name) == _of(usable[0])]:
        key = VENDOR_VARIABLES[name]
        value = os.environ[name].strip()
        yield Proposal(key, value, f"{name} is set", asks=True, is_secret=key.endswith("api_key"))
        if key.endswith("api_key"):
            yield Proposal("llm.protocol", _of(name), f"the client for {name}", asks=True)


def _of(variable: str) -> str:
    return _PROTOCOL_OF[variable.partition("_")[0]]


def _is_installed(registry: ProviderRegistry, protocol: str) -> bool:
    from datamind.plugins import ProviderKind

    return any(spec.name == protocol for spec in registry.specs(ProviderKind.MODEL_CLIENT))
