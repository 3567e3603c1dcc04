"""ProviderRegistry: from a name in Settings to the provider that was meant, or to an error that says what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from typing import Final

from datamind.core.errors import PluginError
from datamind.plugins.contributions import ProviderSpec
from datamind.plugins.discovery import normalized
from datamind.plugins.host import PluginHost
from datamind.plugins.kinds import ProviderKind
from datamind.plugins.known import PROVIDER_REQUIREMENTS, advice, distribution_of
from datamind.plugins.records import PluginRecord, PluginState

_MAX_LISTED: Final = 12


class ProviderRegistry:
    """Every provider of the installed plugins, core's own among them."""

    def __init__(self, host: PluginHost) -> None:
        """Ask every plugin what it provides."""
        self._host = host
        self._specs: dict[tuple[ProviderKind, str], ProviderSpec] = {}
        for spec in host.providers():
            self._specs.setdefault((spec.kind, spec.name), spec)  # of a pair claimed twice: its plugins are failed

    def specs(self, kind: ProviderKind | None = None) -> tuple[ProviderSpec, ...]:
        """The providers of a kind, or all, by kind and name."""
        found = (spec for spec in self._specs.values() if kind is None or spec.kind == kind)
        return tuple(sorted(found, key=lambda spec: (spec.kind, spec.name)))

    def select(self, kind: ProviderKind, name: str) -> ProviderSpec:
        """The provider that Settings name. Names match exactly.

        Raises:
            PluginError: ``plugin_error.broken`` when the plugin that would provide it is installed and not loaded,
                ``plugin_error.missing`` when none is; the message holds the cause or the pip command.
        """
        kind = ProviderKind(kind)
        spec = self._specs.get((kind, name))
        culprit = self._culprit_of(spec) if spec else self._likely_culprit(kind, name)
        if culprit:
            raise PluginError(f"{_asked(kind, name)} cannot be used: {culprit}.", code="plugin_error.broken", hint=_SEE)
        if spec is None:
            raise self._missing(kind, name)
        return spec

    def _culprit_of(self, spec: ProviderSpec) -> PluginRecord | None:
        # A hook may have failed after the plugin registered its providers: it is broken as a whole.
        bad = (record for record in self._host.records if record.state is not PluginState.OK)
        return next((record for record in bad if spec.origin and record.is_same_plugin(spec.origin)), None)

    def _likely_culprit(self, kind: ProviderKind, name: str) -> PluginRecord | None:
        requirement = PROVIDER_REQUIREMENTS.get((kind, name))
        bad = (record for record in self._host.records if record.state is not PluginState.OK)
        return next((record for record in bad if _would_provide(record, name, requirement)), None)

    def _missing(self, kind: ProviderKind, name: str) -> PluginError:
        installed = [spec.name for spec in self.specs(kind)]
        known = [known for known_kind, known in PROVIDER_REQUIREMENTS if known_kind is kind]
        listed = ", ".join(_nearest_first(name, installed)[:_MAX_LISTED]) or "none"
        message = f"{_asked(kind, name)} is not installed (installed {kind}: {listed})."
        return PluginError(message, code="plugin_error.missing", hint=self._advice(kind, name, installed, known))

    def _advice(self, kind: ProviderKind, name: str, installed: list[str], known: list[str]) -> str:
        meant = name if name in known else next(iter(get_close_matches(name, {*installed, *known}, n=1)), "")
        asked = f"Did you mean {meant!r}?" if meant and meant != name else ""
        if meant in known and meant not in installed:
            return f"{asked} {advice(PROVIDER_REQUIREMENTS[kind, meant])}".strip()
        broken = ", ".join(record.name for record in self._host.records if record.is_broken)
        return asked or (f"These plugins did not load: {broken}. {_SEE}" if broken else "")


_SEE: Final = "`datamind plugins` shows the details."


def _asked(kind: ProviderKind, name: str) -> str:
    return f"{kind.setting}={name!r:.80}" if kind.setting else f"{kind} {name!r:.80}"


def _would_provide(record: PluginRecord, name: str, requirement: str | None) -> bool:
    """By the table, else by name: ``kb-lancedb`` and ``datamind-kb-lancedb`` would provide ``lancedb``."""
    distribution = normalized(record.distribution)
    if requirement:
        return distribution == distribution_of(requirement)
    wanted = normalized(name)
    return any(known == wanted or known.endswith(f"-{wanted}") for known in (normalized(record.name), distribution))


def _nearest_first(name: str, candidates: Iterable[str]) -> list[str]:
    return sorted(candidates, key=lambda candidate: (-SequenceMatcher(None, name, candidate).ratio(), candidate))
