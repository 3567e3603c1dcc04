"""Opens a provider the way the builder does, from the strings of its ProviderSpec. Needs core alone."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from datamind.config import Settings
from datamind.config.profile import Profile
from datamind.core.errors import SurfaceUnavailable
from datamind.core.lease import Lease
from datamind.plugins import NO_OPTIONS, ProviderContext, ProviderKind, ProviderSpec, open_provider


@dataclass(frozen=True)
class ProviderTarget:
    """A provider and its options, as text that another process can be given.

    Attributes:
        factory: ``"module:attr"`` as in its ProviderSpec.
        options_model: ``"module:attr"`` of its options model.
    """

    kind: str
    factory: str
    options_model: str = NO_OPTIONS
    options: Mapping[str, Any] = field(default_factory=dict)

    async def open(self, folder: Path, **dependencies: Any) -> Any:
        """Open it for a profile named ``test`` under ``folder``; see ``make_provider_context``."""
        spec = ProviderSpec(ProviderKind(self.kind), "under-test", self.factory, self.options_model, "Under test.")
        return await open_provider(spec, make_provider_context(folder, **dependencies), self.options)

    def to_json(self) -> str:
        """For ``from_json`` in another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ProviderTarget:
        """What ``to_json`` wrote."""
        return cls(**json.loads(text))


def make_provider_context(
    folder: Path,
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    opens: Mapping[str, Any] | None = None,
    lease: Lease | None = None,
) -> ProviderContext:
    """What a factory is given, for a profile named ``test`` whose folders exist.

    Args:
        folder: ``data.base_dir``.
        settings: Sections that differ from the defaults.
        opens: Provider kind to the provider that ``ctx.open`` gives; any other kind is unavailable.
        lease: Of the profile; one of its own when left out.
    """
    chosen = {name: dict(section) for name, section in (settings or {}).items()}
    chosen["data"] = {**chosen.get("data", {}), "base_dir": str(folder), "profile": "test"}
    profile = Profile("test", folder)
    profile.ensure()

    async def open_dependency(kind: ProviderKind) -> Any:
        if opens is None or kind not in opens:
            raise SurfaceUnavailable(f"no {kind} in this test")
        return opens[kind]

    return ProviderContext(
        settings=Settings(**chosen),
        profile=profile,
        storage_dir=profile.storage_dir,
        data_dir=profile.data_dir,
        logger=logging.getLogger("datamind.testing"),
        lease=lease or Lease(profile.storage_dir),
        open=open_dependency,
    )
