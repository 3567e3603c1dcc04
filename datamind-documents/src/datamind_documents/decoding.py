"""Markup to text: the encoding that the markup itself names, else what the bytes tell."""

from __future__ import annotations

import codecs
import re
from typing import Final

from datamind.capabilities.ingest.decoding import decode_text

_NAMED: Final = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_HEAD_BYTES: Final = 4_096
_MARKS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# What web pages call by these names is read as its superset, as browsers do.
_MEANT: Final = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "latin1": "cp1252", "ascii": "cp1252"}


def decode_markup(content: bytes) -> tuple[str, str]:
    """The text and its encoding.

    Raises:
        SourceUnreadable: ``source_unreadable.binary`` or ``source_unreadable.encoding``.
    """
    named = None if content.startswith(_MARKS) else _NAMED.search(content[:_HEAD_BYTES])
    if named and b"\0" not in content:
        name = named[1].decode("ascii").lower()
        try:
            encoding = codecs.lookup(_MEANT.get(name, name)).name
            return content.decode(encoding), encoding
        except (LookupError, UnicodeError):
            pass  # it names another encoding than it uses
    decoded = decode_text(content)
    return decoded.text, decoded.encoding
