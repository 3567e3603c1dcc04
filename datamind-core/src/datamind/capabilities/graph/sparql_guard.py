"""What a SPARQL query must be before a store sees it: small, one reading form, and all of it inside the graph."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

from datamind.core.errors import AccessDenied, InputInvalid, LimitExceeded
from datamind.core.protocols.graph import ParsedQuery

MAX_BYTES: Final = 64 * 1024
MAX_TOKENS: Final = 2_000
MAX_DEPTH: Final = 100

_ALLOWED_FUNCTIONS: Final = "http://www.w3.org/2001/XMLSchema#"
_TOKEN: Final = re.compile(
    r"\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*\"\"\"|'''(?:[^'\\]|\\.|'(?!''))*'''|\"\"\"|'''"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
    r"|<[^<>\"{}|^`\\\x00-\x20]*>|#[^\n]*|\w+|\S",
    re.DOTALL,
)
_HIDDEN: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\ufeff]"
)
_OPENING, _CLOSING = frozenset("{(["), frozenset("})]")


def check_size(text: str) -> None:
    """Bounds that hold before anything parses the text.

    Raises:
        LimitExceeded: More bytes, tokens or nesting than a parser should be given.
        InputInvalid: Control characters, or spaces that look like others, outside a literal.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise LimitExceeded(f"the query has more than {MAX_BYTES} bytes")
    depth = count = end = 0
    for match in _TOKEN.finditer(text):
        token, gap, end = match[0], text[end : match.start()], match.end()
        if token in ('"""', "'''"):
            # Said at once, or every later quote would look for its end again.
            raise InputInvalid("a string of the query is not closed", code="input_invalid.sparql")
        is_text = token[0] in "\"'" and len(token) > 1
        count += not token.startswith("#")
        depth += (token in _OPENING) - (token in _CLOSING)
        if count > MAX_TOKENS or depth > MAX_DEPTH:
            raise LimitExceeded(f"the query has more than {MAX_TOKENS} tokens, or is nested deeper than {MAX_DEPTH}")
        if _HIDDEN.search(gap if is_text else gap + token):
            raise InputInvalid("the query holds characters that do not show", hint="Type it with plain spaces.")
    if _HIDDEN.search(text, end):
        raise InputInvalid("the query holds characters that do not show", hint="Type it with plain spaces.")


def judge(parsed: ParsedQuery, known_graphs: Set[str]) -> None:
    """Refuse what leaves the graph or changes it.

    Raises:
        InputInvalid: It cannot be parsed.
        AccessDenied: An update, SERVICE, a graph from elsewhere, or a function that is not of SPARQL.
    """
    if parsed.form == "unparsed":
        raise InputInvalid(f"the query cannot be read: {parsed.error[:300]}", code="input_invalid.sparql")
    if parsed.form == "update":
        raise _denied("the query changes the graph", "update")
    if parsed.services:
        raise _denied(f"SERVICE {parsed.services[0][:80]!r} would ask another endpoint", "service")
    outside = sorted(set(parsed.datasets) - known_graphs)
    if outside:
        raise _denied(f"FROM {outside[0][:80]!r} names no graph of this profile", "dataset")
    foreign = sorted(name for name in parsed.functions if not name.startswith(_ALLOWED_FUNCTIONS))
    if foreign:
        raise _denied(f"the function {foreign[0][:80]!r} is not one of SPARQL", "function")


def _denied(message: str, reason: str) -> AccessDenied:
    return AccessDenied(message, code=f"access_denied.sparql_{reason}", hint="Ask with SELECT or ASK, without it.")
