"""Structured logs with the trace id of the request, and the one redactor of every sink."""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from datamind.core.context import current_request

REDACTED = "[redacted]"
_MIN_SECRET = 6
_PATTERNS = (
    re.compile(r"\bsk-[A-Za-z0-9_-]{8,}"),
    re.compile(r"(?i)(?<=authorization)[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic)\s+)?[^\s,;\"']{6,}"),
    # A token has a digit, padding or a capital inside: "basic understanding" is none.
    re.compile(r"\b(?i:bearer|basic)\s+(?=[^\s,;]*(?:[0-9=]|[a-z][A-Z]))[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"(?i)\b(api[_-]?key|password|secret|token)([\"']?\s*[=:]\s*[\"']?)[^\s,;&\"']{6,}"),
)

_IN_EVERY_PATTERN = re.compile(r"[-:=\s]")
"""Most of what passes here is ids and hashes, which have none of these."""


class Redactor:
    """Removes known secrets, then what looks like one.

    Known values are found as they are, in JSON, URL-encoded and in base64. One object serves logs, audit, errors,
    streams and the command line, so that a secret added once is hidden everywhere.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: dict[str, None] = {}
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Hide ``secret`` from now on; values under 6 characters are ignored, they would hide ordinary words."""
        if len(secret) < _MIN_SECRET:
            return
        encoded = base64.b64encode(secret.encode()).decode()
        as_json = (json.dumps(secret, ensure_ascii=escaped)[1:-1] for escaped in (True, False))
        for form in (secret, quote(secret, safe=""), *as_json, encoded, encoded.rstrip("=")):
            self._known[form] = None

    @property
    def longest(self) -> int:
        """Characters of the longest form of a known secret; 1 when there is none."""
        return max(map(len, self._known), default=1)

    def known(self, text: str) -> str:
        """``text`` without the known secrets alone: for what is shown as it is stored."""
        for secret in sorted(self._known, key=len, reverse=True):
            text = text.replace(secret, REDACTED)
        return text

    def text(self, text: str) -> str:
        """``text`` without secrets."""
        text = self.known(text)
        if not _IN_EVERY_PATTERN.search(text):
            return text
        for pattern in _PATTERNS[:-1]:
            text = pattern.sub(REDACTED, text)
        return _PATTERNS[-1].sub(rf"\1\2{REDACTED}", text)

    def value(self, value: Any) -> Any:
        """A JSON value without secrets, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value


redactor = Redactor()
"""The process's redactor."""


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, trace_id and, if any, the traceback; redacted."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        request = current_request()
        body = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "trace_id": request.trace_id if request else "",
            "profile": request.profile if request else "",
        }
        if record.exc_info:
            body["exception"] = self.formatException(record.exc_info)
        return json.dumps(redactor.value(body), ensure_ascii=True)


class TextFormatter(logging.Formatter):
    """``LEVEL logger: message [trace]`` for a person; redacted."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        request = current_request()
        trace = f" [{request.trace_id}]" if request else ""
        line = f"{record.levelname.lower()} {record.name}: {record.getMessage()}{trace}"
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return redactor.text(line)


def configure_logging(level: str = "warning", style: str = "text", target: TextIO | Path | None = None) -> None:
    """Send the ``datamind`` logger to a stream or a file (default: stderr); calling it again replaces the handler.

    Raises:
        OSError: The file cannot be opened.
    """
    logger = logging.getLogger("datamind")
    opened = logging.FileHandler(target, encoding="utf-8") if isinstance(target, Path) else None
    handler: logging.Handler = opened or logging.StreamHandler(None if isinstance(target, Path) else target)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    for old in list(logger.handlers):
        logger.removeHandler(old)
        old.close()
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False
