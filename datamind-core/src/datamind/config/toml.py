"""Reading TOML with the standard library, and writing the part of it that settings need."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date, time
from pathlib import Path
from typing import Any, Final

from datamind.core.errors import ConfigError

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def read_text(path: Path) -> str:
    """The file without its byte order mark; empty if it does not exist.

    Raises:
        ConfigError: It cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read ({error});", hint="save it as UTF-8, readable by you.") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of the file; none if it does not exist.

    Raises:
        ConfigError: It cannot be read, or is not TOML.
    """
    text = read_text(path)
    if not text:
        return {}
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error};", hint="mend or remove it.") from None


def format_toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """The tables as text that ``tomllib`` reads back equal; empty tables are left out.

    Raises:
        TypeError: A value TOML has no form for, such as None.
    """
    return "\n".join(line for name, table in tables.items() for line in _table_lines((name,), table))


def _table_lines(path: tuple[str, ...], table: Mapping[str, Any]) -> Iterator[str]:
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping) and len(path) == 1}
    values = {key: value for key, value in table.items() if key not in inner}
    if values:
        yield f"[{'.'.join(map(_key, path))}]"
        yield from (f"{_key(key)} = {_value(value)}" for key, value in values.items())
        yield ""
    for key, value in inner.items():
        yield from _table_lines((*path, key), value)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _string(value)
        case int():
            return str(int(value))
        case float():
            return repr(value)
        case date() | time():
            return value.isoformat()
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            return f"{{{', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())}}}"
    raise TypeError(f"TOML has no form for {type(value).__name__}")
