"""A tool: its arguments are a pydantic model, its effect decides which agent holds it."""

from __future__ import annotations

import re
import unicodedata

from pydantic import BaseModel, Field

from datamind.core.context import ToolContext
from datamind.core.tools import ToolOutput, ToolSpec
from datamind.core.types import DataSurface, ToolEffect


class SlugifyArguments(BaseModel):
    """A title."""

    title: str = Field(min_length=1, max_length=200, description="The title.")


async def _slugify(args: SlugifyArguments, ctx: ToolContext) -> ToolOutput:
    plain = unicodedata.normalize("NFKD", args.title).encode("ascii", "ignore").decode().lower()
    return ToolOutput({"slug": re.sub(r"[^a-z0-9]+", "-", plain).strip("-")})


def make_tools() -> list[ToolSpec]:
    """One pure tool."""
    return [
        ToolSpec.of(
            SlugifyArguments,
            _slugify,
            name="slugify",
            description="The slug of a title: lower-case letters, digits and hyphens.",
            effect=ToolEffect.PURE,
            surface=DataSurface.UTILITY,
        )
    ]
