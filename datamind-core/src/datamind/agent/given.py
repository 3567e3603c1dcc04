"""What a caller gave, looked at before anything begins."""

from __future__ import annotations

from datamind.core.errors import InputInvalid
from datamind.core.types import Role


def known_role(role: str) -> Role:
    """Raises: InputInvalid: There is no such role."""
    try:
        return Role(role)
    except ValueError:
        raise InputInvalid(f"the role {str(role)[:40]!r} is neither 'store' nor 'retrieve'") from None


def checked_text(text: object, what: str, limit: int) -> str:
    """Raises: InputInvalid: It is no text, blank, too long, or no valid Unicode."""
    if not isinstance(text, str):
        raise InputInvalid(f"the {what} is a {type(text).__name__}, not text", hint="Give a str.")
    if not text.strip():
        raise InputInvalid(f"the {what} is blank ({text[:20]!r})", hint="Write something.")
    if len(text) > limit:
        raise InputInvalid(
            f"the {what} has {len(text)} characters, more than {limit}",
            hint="Put it in a file and ingest that.",
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputInvalid(f"the {what} contains half a surrogate pair", hint="Send valid Unicode.") from None
    return text
