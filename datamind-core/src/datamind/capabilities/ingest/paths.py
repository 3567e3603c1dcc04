"""Which files a request may read: the profile's own, those the user named, and those Settings add."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from datamind.capabilities.ingest.files import PathPolicy
from datamind.core.context import RequestContext


@dataclass(frozen=True, slots=True)
class PathRules:
    """The same for every request of a profile; ``for_request`` adds what its user granted.

    Attributes:
        home: The profile's data folder. The working directory is never one.
        extra: Folders that Settings allow beside it.
        forbidden: The stores.
    """

    home: Path
    extra: tuple[Path, ...] = ()
    forbidden: tuple[Path, ...] = ()

    def for_request(self, request: RequestContext) -> PathPolicy:
        """The policy of one request."""
        return PathPolicy(self.home, (*request.granted_paths, *self.extra), self.forbidden)
