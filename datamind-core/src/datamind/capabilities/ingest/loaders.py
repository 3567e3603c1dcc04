"""Loaders of core (plain text and Markdown), and what a file is from its name and first bytes."""

from __future__ import annotations

import re
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from datamind.capabilities.ingest.decoding import decode_text
from datamind.core.errors import LimitExceeded, SourceUnreadable
from datamind.core.protocols.ingest import LoadedDocument, LoadLimits

if TYPE_CHECKING:
    from datamind.plugins import ProviderContext

PLAIN: Final = "text/plain"
MARKDOWN: Final = "text/markdown"
JSON: Final = "application/json"
JSON_LINES: Final = "application/x-ndjson"
XML: Final = "application/xml"
UNKNOWN: Final = "application/octet-stream"

_SIGNATURES: Final = (
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"PAR1\x15", "application/vnd.apache.parquet"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x7fELF", "application/x-executable"),
)
_CONTAINERS: Final = frozenset({"application/zip", "application/x-ole-storage"})
EPUB: Final = "application/epub+zip"
OFFICE: Final = "application/vnd.openxmlformats-officedocument"
_EXTENSIONS: Final = {
    **dict.fromkeys((".txt", ".text", ".log", ".rst", ".adoc", ".org", ".tex", ".srt"), PLAIN),
    **dict.fromkeys((".md", ".markdown", ".mdx"), MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "text/html"),
    **dict.fromkeys((".jsonl", ".ndjson"), JSON_LINES),
    ".json": JSON,
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".docx": f"{OFFICE}.wordprocessingml.document",
    ".pptx": f"{OFFICE}.presentationml.presentation",
    ".xlsx": f"{OFFICE}.spreadsheetml.sheet",
    ".doc": "application/msword",
    ".xls": "application/vnd.ms-excel",
    ".ppt": "application/vnd.ms-powerpoint",
    ".epub": EPUB,
    ".eml": "message/rfc822",
    ".ttl": "text/turtle",
    ".nt": "application/n-triples",
    ".nq": "application/n-quads",
    ".trig": "application/trig",
    ".jsonld": "application/ld+json",
    ".rdf": "application/rdf+xml",
    ".owl": "application/rdf+xml",
    ".xml": XML,
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tiff", ".heic", ".ico"), "image/*"),
    **dict.fromkeys((".mp3", ".wav", ".flac", ".ogg", ".m4a"), "audio/*"),
    **dict.fromkeys((".mp4", ".mov", ".mkv", ".avi", ".webm"), "video/*"),
}

_PARTS: Final = (
    (b"mimetype" + EPUB.encode("ascii"), EPUB),
    (b"word/document.xml", _EXTENSIONS[".docx"]),
    (b"ppt/presentation.xml", _EXTENSIONS[".pptx"]),
    (b"xl/workbook.xml", _EXTENSIONS[".xlsx"]),
)
_ZIPPED: Final = frozenset({EPUB, *(_EXTENSIONS[suffix] for suffix in (".docx", ".pptx", ".xlsx"))})
_MISTAKEN_FOR_HTML: Final = frozenset({PLAIN, MARKDOWN, "text/csv", "text/tab-separated-values", JSON, ""})
_HTML_START: Final = re.compile(
    rb"\s*(?:\xef\xbb\xbf)?\s*(?:<!--.{0,400}?-->\s*)?<(?:!doctype\s+html|html[\s>])", re.I | re.S
)
_HTML_WITHIN: Final = 1_024
_LINE_CHARS: Final = 100
_RULE: Final = re.compile(r"([=*~_-])\1{2,}")
# Neither a sentence, nor a list item, nor "key: value", nor a log line.
_LIKE_TITLE: Final = re.compile(
    r"(?![-+•>|\[{(<]|\d{4}-\d\d-\d\d[T ]\d)(?=.*\w)[^:：;；|\t{}]*[^.,;:!?。，；：！？…\s]"
)

_MAX_TITLE_CHARS: Final = 200
_TITLE_SEARCH_CHARS: Final = 64 * 1024
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_ATX: Final = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_NO_PARAGRAPH: Final = re.compile(r"\s*$|\s{0,3}(?:[-+*>|]|\d+[.)])(?:\s|$)| {4}|\t")


def guess_media_type(name: str, head: bytes) -> str:
    """Media type of a file from its name and its first bytes, of which all are needed to look into a container.

    What the bytes show decides before the name: a signature, the parts of an office container, the start of a web
    page under a name that promises text. Text without a known extension is ``text/plain``; what is neither is
    ``application/octet-stream``.
    """
    signed = next((media_type for signature, media_type in _SIGNATURES if head.startswith(signature)), "")
    named = named_media_type(name)
    if signed == "application/zip":
        return _inside_zip(head) or (named if named in _ZIPPED else signed)
    if signed and not (named and signed in _CONTAINERS):
        return signed
    if named in _MISTAKEN_FOR_HTML and _HTML_START.match(head[:_HTML_WITHIN]):
        return "text/html"
    return named or (PLAIN if _reads_as_text(head) else UNKNOWN)


def named_media_type(name: str) -> str:
    """Media type that a name promises; empty for an extension that is not known."""
    return _EXTENSIONS.get(PurePath(name).suffix.lower(), "")


def _inside_zip(content: bytes) -> str:
    # Names of parts stand in a container as they are; its directory is read by its loader, which has limits.
    return next((media_type for part, media_type in _PARTS if part in content), "")


def _reads_as_text(head: bytes) -> bool:
    # The head may end inside a character of up to four bytes; nobody's text depends on its last three.
    for cut in range(min(4, len(head)) or 1):
        try:
            decode_text(head[: len(head) - cut])
        except SourceUnreadable:
            continue
        return True
    return False


async def open_text_loader(ctx: ProviderContext, options: Any) -> TextLoader:
    """Nothing to open."""
    return TextLoader()


class TextLoader:
    """Plain text, Markdown and what else is text, unchanged but for the encoding: spans are of it as it was written."""

    media_types = (PLAIN, MARKDOWN, JSON, JSON_LINES, XML)

    async def load(self, content: bytes, *, media_type: str, limits: LoadLimits) -> LoadedDocument:
        """The decoded text; see ``load_blocking``."""
        load = partial(self.load_blocking, content, media_type=media_type, limits=limits)
        return await anyio.to_thread.run_sync(load)

    def load_blocking(self, content: bytes, *, media_type: str, limits: LoadLimits) -> LoadedDocument:
        """The decoded text; the title of Markdown is its first heading, of plain text a first line like one.

        Raises:
            SourceUnreadable: The bytes are another format, binary or in an encoding that is not known.
            LimitExceeded: More bytes or characters than the limits allow.
        """
        if len(content) > limits.max_bytes:
            raise LimitExceeded(f"{len(content)} bytes are more than the limit of {limits.max_bytes}")
        _refuse_other_formats(content, media_type)
        text, encoding = decode_text(content)
        if len(text) > limits.max_characters:
            raise LimitExceeded(f"{len(text)} characters are more than the limit of {limits.max_characters}")
        title = first_heading(text) if media_type == MARKDOWN else first_line_title(text)
        return LoadedDocument(text=text, title=title, media_type=media_type, encoding=encoding)


def _refuse_other_formats(content: bytes, media_type: str) -> None:
    found = next((other for signature, other in _SIGNATURES if content.startswith(signature)), "")
    if found:
        raise SourceUnreadable(
            f"the bytes are {found}, not {media_type}.",
            code="source_unreadable.binary",
            hint="Give the file its own extension.",
        )


def first_line_title(text: str) -> str:
    """The first line of a plain text, if it stands like a title: short, no sentence, an empty line or a rule below."""
    first, _, rest = text.lstrip("\ufeff\r\n ").partition("\n")
    line = first.strip().strip("=*# ").strip()
    below = rest.partition("\n")[0].strip()
    is_apart = not below or _RULE.fullmatch(below) is not None
    is_title = bool(rest.strip()) and len(line) <= _LINE_CHARS and _LIKE_TITLE.fullmatch(line) is not None
    return line if is_title and is_apart else ""


def first_heading(markdown: str) -> str:
    """Text of the first heading of Markdown, at most 200 characters; empty if there is none near the start."""
    lines = re.split(r"\r\n|\n|\r", markdown[:_TITLE_SEARCH_CHARS])
    fence = ""
    for line, after in zip(_without_front_matter(lines), [*_without_front_matter(lines)[1:], ""], strict=True):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        elif not fence and (heading := _heading(line, after)):
            return heading[:_MAX_TITLE_CHARS].strip()
    return ""


def _heading(line: str, after: str) -> str:
    atx = _ATX.fullmatch(line)
    if atx:
        return atx[1]
    is_underlined = _UNDERLINE.fullmatch(after) and not _NO_PARAGRAPH.match(line)
    return line.strip() if is_underlined else ""


def _without_front_matter(lines: list[str]) -> list[str]:
    if not lines or lines[0].rstrip() != "---":
        return lines
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    return lines[end + 1 :] if end else lines
