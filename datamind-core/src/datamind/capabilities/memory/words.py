"""Under which words a memory is found."""

from __future__ import annotations

from datamind.capabilities.text.tokens import tokenize_for_index


def memory_tokens(text: str, subject: str, attribute: str, value: str) -> tuple[str, ...]:
    """The tokens of a memory; a store that keeps them makes them anew when ``TOKENS_VERSION`` moves on."""
    return tuple(tokenize_for_index(" ".join((text, subject, attribute, value))))
