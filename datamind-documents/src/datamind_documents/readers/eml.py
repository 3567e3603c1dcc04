"""E-mail messages by the standard library: headers, text, and the names of what is attached."""

from __future__ import annotations

from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import Final

from datamind.core.errors import SourceUnreadable
from datamind_documents.readers.html import to_markdown
from datamind_documents.reading import Bounds, ReadDocument, clean, clean_title

_SHOWN: Final = ("From", "To", "Cc", "Date", "Subject")


def read(content: bytes, bounds: Bounds) -> ReadDocument:
    """One message. Attachments are named and not read."""
    message = BytesParser(EmailMessage, policy=policy.default).parsebytes(content)
    if not any(message.get(name) for name in ("From", "To", "Subject", "Date")):
        raise SourceUnreadable("there are no message headers in the EML file.", code="source_unreadable.other_format")
    headers = [f"{name}: {' '.join(clean(str(message[name])).split())}" for name in _SHOWN if message[name]]
    attached = [clean_title(part.get_filename()) for part in message.iter_attachments()]
    named = [f"Attachments: {', '.join(filter(None, attached))}"] if any(attached) else []
    text = "\n\n".join(["\n".join([*headers, *named]), _body(message, bounds)])
    return ReadDocument(text.strip() + "\n", clean_title(message.get("Subject")))


def _body(message: EmailMessage, bounds: Bounds) -> str:
    body = message.get_body(("plain", "html"))
    if body is None:
        return ""
    try:
        text = body.get_content()
    except (LookupError, UnicodeError):  # a charset that nobody knows
        text = bytes(body.get_payload(decode=True) or b"").decode("utf-8", "replace")
    return to_markdown(text, bounds) if body.get_content_subtype() == "html" else clean(text).strip()
