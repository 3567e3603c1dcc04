"""What of a setting may be shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

MASK: Final = "**********"
_SECRET_NAME = re.compile(r"(keys?|token|secrets?|password|passwd|credentials?|dsn|authorization)$", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)\S*@")


def redact_text(text: str) -> str:
    """The text without the user and password of any URL in it."""
    return _USERINFO.sub(f"{MASK}@", text)


def redact_value(name: str, value: object) -> object:
    """A JSON-like copy that may be shown: secrets masked, by type and, inside options, by name."""
    if isinstance(value, SecretStr):
        return MASK
    if isinstance(value, Mapping):
        return {key: redact_value(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_value(name, item) for item in value]
    if isinstance(value, str):
        return MASK if value and _SECRET_NAME.search(name) else redact_text(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def secrets_in(name: str, value: object) -> Iterator[str]:
    """Every string that ``redact_value`` hides, and the password inside a data source name."""
    if isinstance(value, SecretStr):
        yield from _secret_parts(value.get_secret_value())
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from secrets_in(str(key), item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from secrets_in(name, item)
    elif isinstance(value, str) and (_SECRET_NAME.search(name) or _USERINFO.search(value)):
        yield from _secret_parts(value)


def _secret_parts(text: str) -> Iterator[str]:
    yield text
    try:
        password = urlsplit(text).password
    except ValueError:
        return
    if password:
        yield password
        yield unquote(password)
