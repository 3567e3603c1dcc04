"""The audit chain: every record follows from the one before, under a key that is kept elsewhere."""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from pathlib import Path

import pytest

from datamind.capabilities.control.audit import GENESIS, canonical_json, record_hash
from datamind.capabilities.control.control import Control, open_control
from datamind.core.errors import StoreError
from datamind.core.logging import redactor
from tests.support.ledger_jobs import audit_faults


@pytest.fixture
def control(tmp_path: Path) -> Control:
    return open_control("test", tmp_path / "storage", tmp_path / "keys")


def append(control: Control, *kinds: str, **fields: object) -> None:
    def work(connection: sqlite3.Connection) -> None:
        for kind in kinds:
            control.audit.append(connection, kind, trace_id="trace_1", **fields)

    control.db.write_now(work)


def rows(control: Control) -> list[sqlite3.Row]:
    return control.db.read_now(lambda db: db.execute("SELECT * FROM audit ORDER BY seq").fetchall())


def faults(control: Control, tmp_path: Path) -> list[str]:
    return audit_faults(control.db.path, tmp_path / "keys")


def test_each_record_follows_from_the_one_before_and_has_a_mac(control: Control, tmp_path: Path) -> None:
    append(control, "one", "two")
    append(control, "three", receipt_id="rcpt_1.test", value=1)
    key = next((tmp_path / "keys").glob("*.key")).read_bytes()
    prev = GENESIS
    for number, row in enumerate(rows(control), 1):
        body = canonical_json(json.loads(row["body"]))
        expected = hashlib.sha256(
            json.dumps(
                [number, row["at"], row["trace_id"], row["receipt_id"], body, prev],
                sort_keys=True,
                separators=(",", ":"),
            ).encode()
        ).hexdigest()
        assert (row["seq"], row["prev"], row["hash"]) == (number, prev, expected)
        assert row["mac"] == hmac.new(key, expected.encode(), hashlib.sha256).hexdigest()
        prev = expected
    assert [json.loads(row["body"])["kind"] for row in rows(control)] == ["one", "two", "three"]
    assert rows(control)[2]["receipt_id"] == "rcpt_1.test"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit SET body = replace(body, 'one', 'ten') WHERE seq = 1",
        "UPDATE audit SET at = '2020-01-01T00:00:00+00:00' WHERE seq = 2",
        "UPDATE audit SET trace_id = 'trace_2' WHERE seq = 2",
        "UPDATE audit SET receipt_id = 'rcpt_2' WHERE seq = 2",
        "UPDATE audit SET mac = '' WHERE seq = 3",
        "DELETE FROM audit WHERE seq = 2",
    ],
)
def test_a18_a_changed_record_is_found(control: Control, tmp_path: Path, change: str) -> None:
    append(control, "one", "two", "three")
    assert faults(control, tmp_path) == []
    control.db.write_now(lambda db: db.execute(change))
    assert faults(control, tmp_path)


def test_a18_hashes_made_anew_still_lack_the_key(control: Control, tmp_path: Path) -> None:
    append(control, "one", "two")

    def forge(connection: sqlite3.Connection) -> None:
        prev = GENESIS
        for row in connection.execute("SELECT * FROM audit ORDER BY seq").fetchall():
            body = row["body"].replace("two", "ten")
            hashed = record_hash(row["seq"], row["at"], row["trace_id"], row["receipt_id"], body, prev)
            connection.execute(
                "UPDATE audit SET body = ?, prev = ?, hash = ? WHERE seq = ?", (body, prev, hashed, row["seq"])
            )
            prev = hashed

    control.db.write_now(forge)
    assert faults(control, tmp_path) == ["record 2 has another key's mac"]


def test_the_key_lies_outside_and_is_its_owners_alone(control: Control, tmp_path: Path) -> None:
    append(control, "one")
    (key,) = (tmp_path / "keys").iterdir()
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.parent.stat().st_mode & 0o777 == 0o700
    assert len(key.read_bytes()) == 32
    assert not [path for path in (tmp_path / "storage").rglob("*") if path.suffix == ".key"]


def test_a_restart_and_a_second_writer_go_on_with_the_same_key(control: Control, tmp_path: Path) -> None:
    append(control, "one")
    other = open_control("test", tmp_path / "storage", tmp_path / "keys")
    append(other, "two")
    append(control, "three")
    assert faults(control, tmp_path) == []
    assert len(list((tmp_path / "keys").iterdir())) == 1


def test_what_a_killed_process_left_of_a_key_is_taken_away(control: Control, tmp_path: Path) -> None:
    uid = control.db.read_now(lambda db: db.execute("SELECT value FROM meta").fetchone()["value"])
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / f".{uid}.key.new").write_bytes(b"half a key")
    append(control, "one")
    assert [path.name for path in (tmp_path / "keys").iterdir()] == [f"{uid}.key"]
    assert faults(control, tmp_path) == []


def test_a_damaged_key_refuses_the_write(control: Control, tmp_path: Path) -> None:
    append(control, "one")
    key = next((tmp_path / "keys").glob("*.key"))
    key.write_bytes(key.read_bytes()[:10])
    again = open_control("test", tmp_path / "storage", tmp_path / "keys")
    with pytest.raises(StoreError, match="audit key") as caught:
        append(again, "two")
    assert str(key) in str(caught.value)
    assert len(rows(again)) == 1


def test_a_key_folder_that_cannot_be_made_refuses_the_whole_transaction(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("a file stands where the folder should be")
    control = open_control("test", tmp_path / "storage", tmp_path / "keys")

    def work(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO meta VALUES ('changed', 'yes')")
        control.audit.append(connection, "one", trace_id="trace_1")

    with pytest.raises(StoreError, match="audit key") as caught:
        control.db.write_now(work)
    assert "\n" not in str(caught.value)
    assert "hooks.audit_key" in str(caught.value)
    assert control.db.read_now(lambda db: db.execute("SELECT 1 FROM meta WHERE key = 'changed'").fetchone()) is None


def test_a20_half_a_surrogate_pair_is_recorded_and_never_breaks_the_chain(control: Control, tmp_path: Path) -> None:
    append(control, "denied", detail="SELECT 1 -- \ud800")
    assert faults(control, tmp_path) == []
    assert json.loads(rows(control)[0]["body"])["detail"] == "SELECT 1 -- \ud800"


def test_secrets_do_not_get_into_the_chain(control: Control, tmp_path: Path) -> None:
    redactor.add("sk-canary-1234567890")
    append(control, "denied", detail="the key sk-canary-1234567890 was refused")
    assert "canary" not in rows(control)[0]["body"]
    assert faults(control, tmp_path) == []


def test_nan_has_no_canonical_form(control: Control) -> None:
    with pytest.raises(ValueError, match="JSON"):
        append(control, "one", value=float("nan"))
    assert rows(control) == []


def test_two_profiles_have_two_keys(tmp_path: Path) -> None:
    for name in ("a", "b"):
        append(open_control(name, tmp_path / name, tmp_path / "keys"), "one")
    keys = {path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    assert len(keys) == 2


def test_canonical_json_is_the_same_for_equal_values() -> None:
    assert canonical_json({"b": [1, "é"], "a": None}) == canonical_json({"a": None, "b": [1, "é"]})
    assert canonical_json({"a": "é"}).isascii()
