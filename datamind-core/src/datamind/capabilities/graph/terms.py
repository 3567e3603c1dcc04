"""Terms from plain names and back, and terms as text."""

from __future__ import annotations

import re
import unicodedata
from typing import Final
from urllib.parse import quote, unquote

from datamind.core.errors import InputInvalid
from datamind.core.protocols.terms import LANG_STRING, XSD_STRING, Term, Triple

ENTITY: Final = "urn:datamind:e:"
PREDICATE: Final = "urn:datamind:p:"
RESERVED: Final = "urn:datamind:x:"
"""What a store keeps about its receipts; no statement of a user may use it."""

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_PREFIXES: Final = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": XSD,
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "https://schema.org/",
    "dcterms": "http://purl.org/dc/terms/",
}
_MAX_CHARS: Final = 8_000
_ABSOLUTE: Final = re.compile(r"(?:https?|urn|mailto|file|tag|doi|info|ftp):[^\s]+", re.IGNORECASE)
_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
_CURIE: Final = re.compile(r"([a-z]+):([A-Za-z_][\w.-]*)")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_TERM: Final = re.compile(
    r"<(?P<iri>[^>]*)>|\"(?P<text>(?:[^\"\\]|\\.)*)\"(?:@(?P<language>[\w-]+)|\^\^<(?P<datatype>[^>]*)>)?"
)
_UNESCAPED: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_ESCAPED: Final = re.compile(r'[\\"\x00-\x1f\x7f]')


def make_node(text: str, *, namespace: str = ENTITY) -> Term:
    """An IRI as it stands (``<…>``, an absolute one, ``rdfs:label``), else one minted from a plain name.

    Names that differ only in spacing or in the Unicode form of their characters are one; case counts.

    Raises:
        InputInvalid: It is blank, too long, no IRI between ``<`` and ``>``, or reserved.
    """
    given = read_iri(text)
    if given is not None:
        return given
    try:
        return Term(namespace + quote(_spaced(text), safe=""))
    except UnicodeEncodeError:
        raise InputInvalid(f"the name {text[:40]!r} holds half a character") from None


def read_iri(text: str) -> Term | None:
    """An IRI as it stands, or with one of the usual prefixes; None for a plain name.

    Raises:
        InputInvalid: It is blank, too long, no IRI between ``<`` and ``>``, or reserved.
    """
    name = _spaced(text)
    if not name or len(name) > _MAX_CHARS:
        raise InputInvalid(f"the name {text[:40]!r} is blank or longer than {_MAX_CHARS} characters")
    if name.startswith("<") and name.endswith(">"):
        return make_iri(name[1:-1])
    curie = _CURIE.fullmatch(name)
    if curie and curie[1] in _PREFIXES:
        return Term(_PREFIXES[curie[1]] + curie[2])
    return make_iri(name) if _ABSOLUTE.fullmatch(name) and _IRI.fullmatch(name) else None


def _spaced(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def make_iri(value: str) -> Term:
    """An absolute IRI.

    Raises:
        InputInvalid: It is none, or one that the store keeps for itself.
    """
    if not _IRI.fullmatch(value) or len(value) > _MAX_CHARS:
        raise InputInvalid(f"{value[:80]!r} is no absolute IRI", hint="Give a plain name, or an IRI such as urn:x:y.")
    if value.startswith(RESERVED):
        raise InputInvalid(f"{value[:80]!r} is reserved for the graph store")
    return Term(value)


def check_triple(triple: Triple) -> None:
    """That a store may keep it.

    Raises:
        InputInvalid: A term is no IRI where one must stand, or is reserved.
    """
    if triple.subject.is_literal or triple.predicate.is_literal:
        raise InputInvalid(f"the literal {triple.subject.value[:40]!r} cannot be subject or predicate")
    for term in (triple.subject, triple.predicate, triple.object):
        if not term.is_literal:
            make_iri(term.value)


def make_literal(value: str | int | float | bool, *, datatype: str = "", language: str = "") -> Term:
    """A literal; the datatype of a plain number or truth value follows from it.

    Raises:
        InputInvalid: A language tag or datatype that is none, or both.
    """
    if language and (datatype or not _LANGUAGE.fullmatch(language)):
        raise InputInvalid(f"the language tag {language[:40]!r} is none, or stands beside a datatype")
    if language:
        return Term(_text(value), LANG_STRING, language.lower())
    if datatype:
        return Term(_text(value), make_node(datatype).value)
    return Term(_text(value), _datatype_of(value))


def _datatype_of(value: str | int | float | bool) -> str:
    if isinstance(value, bool):
        return f"{XSD}boolean"
    if isinstance(value, int):
        return f"{XSD}integer"
    return f"{XSD}double" if isinstance(value, float) else XSD_STRING


def _text(value: str | int | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise InputInvalid(f"the value {text[:40]!r} holds half a character")
    return text


def name_of(term: Term) -> str:
    """What a term is called when nothing names it: a literal's text, or the last part of an IRI, decoded."""
    if term.is_literal:
        return term.value
    for namespace in (ENTITY, PREDICATE):
        if term.value.startswith(namespace):
            return unquote(term.value[len(namespace) :])
    whole = term.value.rstrip("/#")
    last = whole[1 + max(whole.rfind("/"), whole.rfind("#"), whole.rfind(":")) :]
    return (unquote(last) if "%" in last else last) or term.value


def to_ntriples(term: Term) -> str:
    """The term in canonical N-Triples."""
    if not term.is_literal:
        return f"<{term.value}>"
    quoted = _ESCAPED.sub(lambda match: _ESCAPES.get(match[0], f"\\u{ord(match[0]):04X}"), term.value)
    if term.language:
        return f'"{quoted}"@{term.language}'
    return f'"{quoted}"' if term.datatype == XSD_STRING else f'"{quoted}"^^<{term.datatype}>'


def line_of(triple: Triple) -> str:
    """The statement as a line of N-Triples, without its end."""
    return f"{to_ntriples(triple.subject)} {to_ntriples(triple.predicate)} {to_ntriples(triple.object)} ."


def read_line(line: str) -> tuple[Term, ...]:
    """The terms of what ``line_of`` or ``to_ntriples`` wrote; empty for anything else."""
    terms, position = [], 0
    while match := _TERM.match(line, position):
        terms.append(_term(match))
        position = match.end()
        if line[position:] in ("", " ."):
            return tuple(terms)
        if line[position] != " ":
            break
        position += 1
    return ()


def _term(match: re.Match[str]) -> Term:
    if match["iri"] is not None:
        return Term(match["iri"])
    value = _UNESCAPED.sub(_unescaped, match["text"])
    if match["language"]:
        return Term(value, LANG_STRING, match["language"].lower())
    return Term(value, match["datatype"] or XSD_STRING)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return {shown[1]: char for char, shown in _ESCAPES.items()}.get(code, code)
