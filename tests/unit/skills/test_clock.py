"""The time somewhere: zones, cities in two languages, and names that are no zone."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from zoneinfo import available_timezones

import pytest

from datamind.core.errors import InputInvalid
from datamind_skills.clock import current_time
from datamind_skills.zones import AMBIGUOUS, CITIES, zone_names

SUMMER = datetime(2026, 7, 1, 22, 30, 15, 999_999, tzinfo=UTC)
WINTER = datetime(2026, 1, 15, 0, 5, tzinfo=UTC)


def test_a_reading_holds_one_instant_twice() -> None:
    reading = current_time("Asia/Shanghai", now=SUMMER)
    assert reading.iso == "2026-07-02T06:30:15+08:00"
    assert (reading.date, reading.time, reading.weekday) == ("2026-07-02", "06:30:15", "Thursday")
    assert (reading.zone, reading.offset, reading.utc) == ("Asia/Shanghai", "+08:00", "2026-07-01T22:30:15Z")


@pytest.mark.parametrize(
    ("zone", "name", "summer", "winter"),
    [
        ("Europe/Berlin", "Europe/Berlin", "+02:00", "+01:00"),
        ("europe/berlin", "Europe/Berlin", "+02:00", "+01:00"),
        ("New York", "America/New_York", "-04:00", "-05:00"),
        ("new_york", "America/New_York", "-04:00", "-05:00"),
        ("St. Petersburg", "Europe/Moscow", "+03:00", "+03:00"),
        ("mumbai", "Asia/Kolkata", "+05:30", "+05:30"),
        ("北京", "Asia/Shanghai", "+08:00", "+08:00"),
        ("北京市", "Asia/Shanghai", "+08:00", "+08:00"),
        ("纽约时间", "America/New_York", "-04:00", "-05:00"),
        ("Buenos Aires", "America/Argentina/Buenos_Aires", "-03:00", "-03:00"),
        ("UTC", "UTC", "+00:00", "+00:00"),
        ("z", "UTC", "+00:00", "+00:00"),
        ("UTC+8", "UTC+08:00", "+08:00", "+08:00"),
        ("gmt-3:30", "UTC-03:30", "-03:30", "-03:30"),
        ("+0530", "UTC+05:30", "+05:30", "+05:30"),
        ("Etc/GMT+8", "Etc/GMT+8", "-08:00", "-08:00"),
    ],
)
def test_places(zone: str, name: str, summer: str, winter: str) -> None:
    for now, offset in ((SUMMER, summer), (WINTER, winter)):
        reading = current_time(zone, now=now)
        assert (reading.zone, reading.offset) == (name, offset)
        assert datetime.fromisoformat(reading.iso) == now.replace(microsecond=0)


def test_every_name_in_the_tables_is_a_zone() -> None:
    assert set(CITIES.values()) | set(zone_names().values()) <= available_timezones() | {"Factory"}
    for name in CITIES:
        assert current_time(name, now=SUMMER).utc == "2026-07-01T22:30:15Z"


@pytest.mark.parametrize(
    ("zone", "says"),
    [
        ("Tokio", "Asia/Tokyo"),
        ("洛衫矶", "洛杉矶"),
        ("CST", "China (Asia/Shanghai)"),
        ("UTC+15", "14 hours"),
        ("UTC+08:99", "not known"),
        ("Mars", "not known"),
        ("x" * 65, "64 characters"),
    ],
)
def test_unknown_places_are_answered_with_the_nearest(zone: str, says: str) -> None:
    with pytest.raises(InputInvalid) as caught:
        current_time(zone, now=SUMMER)
    assert says in str(caught.value)


def test_ambiguous_names_are_not_guessed() -> None:
    assert not set(AMBIGUOUS) & (set(CITIES) | set(zone_names()))


HOSTILE = ["../../../../etc/passwd", "/etc/passwd", "America", "America/", ".", "..", "\x00", "Asia/Shanghai\x00",
           "posixrules",           "tzdata.zi", "zone.tab", "right/UTC", "__init__.py",
           "\ud800", "ＵＴＣ+8", "C:\\x", "//host/x"]  # fmt: skip


@pytest.mark.parametrize("zone", HOSTILE)
def test_p068_zone_names_are_no_paths(zone: str) -> None:
    with pytest.raises(InputInvalid) as caught:
        current_time(zone, now=SUMMER)
    str(caught.value).encode("utf-8")


def test_p068_only_listed_names_open_a_file() -> None:
    script = f"""
        import sys
        from datamind.core.errors import DataMindError
        from datamind_skills.clock import current_time
        current_time("Asia/Tokyo")
        opened = []
        sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
        for zone in {HOSTILE!a}:
            try:
                current_time(zone)
            except DataMindError:
                pass
        print(opened)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_a_zone_it_is_the_time_of_this_machine() -> None:
    before = datetime.now(UTC)
    reading = current_time()
    after = datetime.now(UTC)
    assert before - timedelta(seconds=1) <= datetime.fromisoformat(reading.iso) <= after
    assert reading.zone
    assert current_time("  ", now=SUMMER) == current_time(None, now=SUMMER)


def test_a_naive_instant_is_refused() -> None:
    with pytest.raises(InputInvalid):
        current_time("UTC", now=datetime(2026, 1, 1))
