"""The time somewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from difflib import get_close_matches
from zoneinfo import ZoneInfo

from datamind.core.errors import InputInvalid
from datamind_skills.exact import shown
from datamind_skills.zones import AMBIGUOUS, CITIES, zone_names

_OFFSET = re.compile(r"(?:utc|gmt)?\s*([+-])(\d{1,2})(?::?([0-5]\d))?", re.ASCII)
_MAX_OFFSET = timedelta(hours=14)
_MAX_CHARS = 64
# strftime would follow the locale.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class ClockReading:
    """One instant, read in one zone.

    Attributes:
        iso: ISO 8601 with offset, to the second.
        zone: IANA name or ``UTC±hh:mm``; the system's own abbreviation for local time.
        offset: ``±hh:mm``.
        utc: The same instant in UTC.
    """

    iso: str
    date: str
    time: str
    weekday: str
    zone: str
    offset: str
    utc: str


def current_time(zone: str | None = None, *, now: datetime | None = None) -> ClockReading:
    """The present in ``zone``: an IANA name, a well-known city (English or Chinese) or an offset such as ``UTC+8``.

    Args:
        zone: Case does not count. None is the zone of this machine.
        now: An instant with a zone, instead of the clock.

    Raises:
        InputInvalid: An unknown or ambiguous place; the nearest names are given.
    """
    instant = datetime.now(UTC) if now is None else now
    if instant.tzinfo is None:
        raise InputInvalid("now has no time zone", hint="Pass an aware datetime.")
    name, place = _zone(zone) if zone and zone.strip() else (None, None)
    local = instant.astimezone(place).replace(microsecond=0)
    return ClockReading(
        iso=local.isoformat(),
        date=local.date().isoformat(),
        time=local.time().isoformat(),
        weekday=_WEEKDAYS[local.weekday()],
        zone=name or local.tzname() or "local",
        offset=_offset_text(local.utcoffset() or timedelta()),
        utc=instant.astimezone(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z"),
    )


def _zone(text: str) -> tuple[str, tzinfo]:
    if len(text) > _MAX_CHARS:
        raise InputInvalid(f"the zone {shown(text, 30)} has more than {_MAX_CHARS} characters")
    wanted = " ".join(text.replace("＋", "+").replace("−", "-").casefold().split())
    if meant := AMBIGUOUS.get(wanted):
        raise InputInvalid(f"{shown(text)} can mean {meant}", hint="Name a city.")
    if offset := _OFFSET.fullmatch(wanted):
        return _fixed(text, offset)
    names = zone_names()
    # Only names from the list reach the zone loader, which opens files by the name it is given.
    spaced = wanted.replace("_", " ").replace(".", "")
    for key in (wanted, spaced, wanted.removesuffix("市"), wanted.removesuffix("时间")):
        if name := names.get(key) or CITIES.get(key):
            return name, ZoneInfo(name)
    near = get_close_matches(wanted, [*names, *CITIES], n=4, cutoff=0.6 if wanted.isascii() else 0.5)
    readable = [names.get(key, key) for key in near]
    raise InputInvalid(
        f"time zone {shown(text)} is not known",
        hint=f"Near: {', '.join(readable)}." if near else "Use an IANA name such as Asia/Shanghai.",
    )


def _fixed(text: str, match: re.Match[str]) -> tuple[str, tzinfo]:
    size = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    if size > _MAX_OFFSET:
        raise InputInvalid(f"{shown(text)} is more than 14 hours from UTC")
    offset = -size if match[1] == "-" else size
    return f"UTC{_offset_text(offset)}", timezone(offset)


def _offset_text(offset: timedelta) -> str:
    minutes = round(offset.total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
