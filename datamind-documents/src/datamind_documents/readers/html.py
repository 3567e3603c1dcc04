"""HTML to Markdown by html-to-markdown."""

from __future__ import annotations

import html
import re
from typing import Final

from html_to_markdown import ConversionOptions, convert

from datamind.core.errors import SourceUnreadable
from datamind_documents.decoding import decode_markup
from datamind_documents.reading import Bounds, ReadDocument, check_length, clean, clean_title

# Marks inside a sentence would stand between its words when a quotation is looked up in it.
_INLINE: Final = (
    *("a", "abbr", "b", "bdi", "bdo", "cite", "del", "dfn", "em", "font", "i", "ins", "mark", "q", "s"),
    *("small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var"),
)
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_HEADING: Final = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)
_MARKUP: Final = re.compile(r"<[!?/a-zA-Z]")
_TITLE_WITHIN: Final = 64 * 1024


def read(content: bytes, bounds: Bounds) -> ReadDocument:
    """A web page: headings, paragraphs, lists, tables and code; scripts, styles and navigation are left out."""
    text, encoding = decode_markup(content)
    if not _MARKUP.search(text):
        raise SourceUnreadable("there is no markup in the HTML file.", code="source_unreadable.other_format")
    markdown = to_markdown(text, bounds)
    return ReadDocument(markdown, _title(text, markdown), encoding=encoding)


def to_markdown(markup: str, bounds: Bounds) -> str:
    """Markup as Markdown without links, images and marks inside a line."""
    check_length(len(markup) // 8, bounds)  # markup is longer than its text, and not without end
    options = ConversionOptions(
        extract_metadata=False,
        strip_tags=list(_INLINE),
        skip_images=True,
        compact_tables=True,
        newline_style="backslash",
        max_depth=400,
    )
    return clean(convert(markup, options).content or "").strip() + "\n"


def _title(markup: str, markdown: str) -> str:
    named = _TITLE.search(markup[:_TITLE_WITHIN])
    heading = None if named else _HEADING.search(markdown)
    found = named or heading
    return clean_title(html.unescape(found[1])) if found else ""
