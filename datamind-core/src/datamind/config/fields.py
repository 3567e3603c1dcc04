"""Types of settings: bounds, and what text from a variable, a flag or a file may mean."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, ByteSize, Field

from datamind.config.paths import absolute
from datamind.config.profile import PROFILE_NAME_RULE, usable_base_dir
from datamind.core.types import is_profile_name

_SIZE: Final = re.compile(r"\s*\d+(\.\d+)?\s*[A-Za-z]*\s*")


def _size_input(value: object) -> object:
    # pydantic reads the beginning of "1,000,000" as 1 byte, and true as 1.
    if isinstance(value, bool) or (isinstance(value, str) and not _SIZE.fullmatch(value)):
        raise ValueError("must be a number of bytes or a size such as 2GiB")
    return value


def _reject_bool(value: object) -> object:
    # pydantic reads true as 1.
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


def split_list(value: object) -> object:
    """Text as a JSON array or as items between commas; other values as they are."""
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return [item.strip() for item in value.split(",") if item.strip()]
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("must be items between commas, or a JSON array") from None


def _split_or_empty(value: object) -> object:
    return [] if value is None else split_list(value)


def parse_options(value: object) -> object:
    """Text as a JSON object; other values as they are."""
    if not isinstance(value, str):
        return {} if value is None else value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, Mapping):
        raise ValueError("must be a JSON object, or one setting per option such as options.NAME")
    return parsed


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _http_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        has_userinfo = "@" in parts.netloc
    except ValueError:
        raise ValueError("must be a URL such as https://host/v1") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be a URL such as https://host/v1")
    if has_userinfo:
        raise ValueError("must not hold a user or password; put the key into api_key")
    return url


def _profile_name(name: str) -> str:
    if not is_profile_name(name):
        raise ValueError(f"is not allowed; {PROFILE_NAME_RULE}")
    return name


def _positive_size(size: ByteSize) -> ByteSize:
    if size < 1:
        raise ValueError("must be at least 1 byte")
    return size


Count = Annotated[int, BeforeValidator(_reject_bool), Field(ge=1)]
CountOrZero = Annotated[int, BeforeValidator(_reject_bool), Field(ge=0)]
Seconds = Annotated[float, BeforeValidator(_reject_bool), Field(gt=0)]
SecondsOrZero = Annotated[float, BeforeValidator(_reject_bool), Field(ge=0)]
Dollars = Annotated[float, BeforeValidator(_reject_bool), Field(gt=0)]
Temperature = Annotated[float, BeforeValidator(_reject_bool), Field(ge=0, le=2)]
Size = Annotated[ByteSize, BeforeValidator(_size_input), AfterValidator(_positive_size)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
UserPath = Annotated[Path, AfterValidator(absolute)]
BaseDir = Annotated[Path, AfterValidator(usable_base_dir)]
ProfileName = Annotated[str, AfterValidator(_profile_name)]
LowerCase = BeforeValidator(_lower)
Names = Annotated[tuple[str, ...], BeforeValidator(_split_or_empty)]
Paths = Annotated[tuple[UserPath, ...], BeforeValidator(_split_or_empty)]
Options = Annotated[dict[str, Any], BeforeValidator(parse_options)]
