"""Opens the selected provider of each kind once, on first use, and closes them all."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio

from datamind.core.lease import Lease
from datamind.plugins import ProviderContext, ProviderKind, ProviderRegistry, ProviderSpec, open_provider

if TYPE_CHECKING:
    from datamind.config.profile import Profile
    from datamind.config.settings import Settings


class ProviderHub:
    """The providers of one profile. What Settings name is looked up when the hub is made; nothing opens before use."""

    def __init__(
        self,
        registry: ProviderRegistry,
        settings: Settings,
        profile: Profile,
        chosen: Mapping[ProviderKind, ProviderSpec],
    ) -> None:
        self.profile = profile
        self.lease = Lease(profile.storage_dir)
        self.registry = registry
        self._settings = settings
        self._chosen = dict(chosen)
        self._opened: dict[str, Any] = {}
        self._locks: dict[str, anyio.Lock] = {}

    async def open(self, kind: ProviderKind) -> Any:
        """The provider of a kind, opened at the first call; later calls return the same object.

        Raises:
            PluginError: None was chosen, or it does not open.
        """
        if kind in self._opened:
            return self._opened[kind]
        async with self._locks.setdefault(kind, anyio.Lock()):
            if kind not in self._opened:
                spec = self._chosen.get(kind) or self.registry.select(kind, named_provider(self._settings, kind))
                self._opened[kind] = await open_provider(spec, self._context(kind), self._options(kind))
        return self._opened[kind]

    async def open_spec(self, spec: ProviderSpec, options: Mapping[str, Any]) -> Any:
        """A provider that no setting chooses, such as a loader; specs of one factory share the object.

        Raises:
            PluginError: It does not open.
        """
        if spec.factory not in self._opened:
            async with self._locks.setdefault(spec.factory, anyio.Lock()):
                if spec.factory not in self._opened:
                    self._opened[spec.factory] = await open_provider(spec, self._context(spec.kind), options)
        return self._opened[spec.factory]

    async def aclose(self) -> None:
        """Close what was opened, last first, then the lease; one failure does not keep the others open."""
        for kind, provider in reversed(list(self._opened.items())):
            close = getattr(provider, "aclose", None)
            if close is None:
                continue
            try:
                await close()
            except Exception:
                logging.getLogger(__name__).exception("%s did not close", kind)
        self._opened.clear()
        await self.lease.aclose()

    def _options(self, kind: ProviderKind) -> Mapping[str, Any]:
        section = kind.options_key.partition(".")[0]
        return getattr(getattr(self._settings, section, None), "options", {})

    def _context(self, kind: ProviderKind) -> ProviderContext:
        return ProviderContext(
            settings=self._settings,
            profile=self.profile,
            storage_dir=self.profile.storage_dir,
            data_dir=self.profile.data_dir,
            logger=logging.getLogger(f"datamind.providers.{kind.value}"),
            lease=self.lease,
            open=self.open,
        )


def named_provider(settings: Settings, kind: ProviderKind) -> str:
    """The provider that Settings name for a kind, by default or by choice."""
    section, _, key = kind.setting.partition(".")
    return str(getattr(getattr(settings, section), key))
