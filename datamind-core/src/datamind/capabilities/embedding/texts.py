"""What of a text reaches an embedding model."""

from __future__ import annotations

from datamind.core.errors import InputInvalid


def clean_text(text: str) -> str:
    """The text without NUL, at which some models stop reading, and without lone surrogates, which are no Unicode.

    Raises:
        InputInvalid: Nothing but blanks is left.
    """
    cleaned = text.replace("\0", " ").encode("utf-8", "ignore").decode("utf-8").strip()
    if not cleaned:
        raise InputInvalid(f"an empty text has no embedding: {text[:40]!r}")
    return cleaned
