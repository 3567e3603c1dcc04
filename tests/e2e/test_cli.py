"""The command as a shell sees it: pipes, encodings, closed streams, signals, full disks, bad environments."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.cli import Datamind, install_scripted_model

ESCAPE = b"\x1b"
MIXED = "云杉的端口是 8090 – naïve café ✓"
QUESTION = "云杉的端口是多少"


ENVIRON = {"DATAMIND__LLM__PROTOCOL": "scripted", "DATAMIND__KB__BACKEND": "memory"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install_scripted_model(folder)
    return folder


@pytest.fixture
def datamind(tmp_path: Path, site: Path) -> Datamind:
    """A folder of its own, and an environment in which a scripted model answers."""
    home = tmp_path / "home"
    home.mkdir()
    return Datamind(home, site, ENVIRON)


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory, site: Path) -> Datamind:
    """A profile that holds one memory and one answer; for tests that only read."""
    home = tmp_path_factory.mktemp("home")
    keys = {"DATAMIND__HOOKS__AUDIT_KEY": str(home / "keys")}
    datamind = Datamind(home, site, {**ENVIRON, **keys})
    assert datamind.run("store", MIXED).code == 0
    assert datamind.run("ask", QUESTION).code == 0
    return datamind


def test_a_pipe_gets_plain_text(reading):
    result = reading.run("ask", QUESTION)
    assert result.code == 0, result.err
    assert result.out.startswith(f"{MIXED} [1]\nn  surface")
    assert ESCAPE not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("encoding", "arguments"),
    [
        ("cp1252", ["ask", QUESTION]),
        ("cp1252", ["why"]),
        ("cp1252:strict", ["trace"]),
        ("cp950", ["ask", QUESTION]),
        ("ascii", ["ask", QUESTION]),
        ("ascii", ["explain", "conflict"]),
    ],
)
def test_b29_no_encoding_makes_a_command_fail(reading, encoding, arguments):
    result = reading.run(*arguments, PYTHONIOENCODING=encoding)
    assert result.code == 0, result.err
    assert b"Traceback" not in result.stderr
    result.stdout.decode(encoding.partition(":")[0])  # every byte is of that encoding


def test_b29_json_keeps_every_character_in_any_encoding(reading):
    whole = json.loads(reading.run("ask", QUESTION, "--json").out)["answer"]
    assert whole == f"{MIXED} [1]"
    for encoding in ("cp1252", "ascii"):
        result = reading.run("ask", QUESTION, "--json", PYTHONIOENCODING=encoding)
        assert json.loads(result.stdout.decode("ascii"))["answer"] == whole


def test_b29_characters_without_a_place_are_escaped_not_dropped(reading):
    result = reading.run("ask", QUESTION, PYTHONIOENCODING="cp1252")
    assert result.stdout.decode("cp1252").startswith("\\u4e91\\u6749")
    assert "naïve café" in result.stdout.decode("cp1252")


def test_a_language_that_is_not_set_up_does_no_harm(reading):
    result = reading.run("ask", QUESTION, LC_ALL="C", LANG="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert result.code == 0, result.err


def test_a_question_on_standard_input_in_another_encoding(reading):
    result = reading.run("ask", "-", stdin="naïve café".encode("cp1252"), PYTHONIOENCODING="cp1252")
    assert result.code == 0
    assert "naïve café" in result.stdout.decode("cp1252")
    assert reading.run("ask", "-", stdin=b"\xff\xfe\x00").code == 2


@pytest.mark.parametrize("arguments", [["config", "show", "--origin"], ["--help"], ["tools"]], ids=lambda a: a[-1])
def test_a_reader_that_goes_away_is_no_failure_to_report(datamind, arguments):
    process = subprocess.Popen(
        datamind.command(*arguments),
        cwd=datamind.home,
        env=datamind.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()  # before anything can have been written
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert errors == b""


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_does_no_harm(reading, closed):
    command = " ".join(reading.command("ask", "cafe"))
    result = subprocess.run(
        ["/bin/sh", "-c", f"{command} {closed}"], cwd=reading.home, env=reading.env(), capture_output=True
    )
    assert result.returncode == 0
    assert b"Traceback" not in result.stderr


def test_standard_input_that_is_closed_cannot_be_read(datamind):
    command = " ".join(datamind.command("ask", "-"))
    result = subprocess.run(
        ["/bin/sh", "-c", f"{command} <&-"], cwd=datamind.home, env=datamind.env(), capture_output=True
    )
    assert result.returncode == 2
    assert b"standard input is closed" in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["config", "show"], ["plugins", "--json"]], ids=" ".join)
def test_output_that_cannot_be_written_is_one_line(datamind, arguments):
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            datamind.command(*arguments), cwd=datamind.home, env=datamind.env(), stdout=full, stderr=subprocess.PIPE
        )
    assert result.returncode == 5
    assert result.stderr.count(b"\n") == 1
    assert b"No space left on device" in result.stderr


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"DATAMIND__LLM__PROTOCOL": "nobody"}, "'nobody'"),
        ({"DATAMIND__DB__DIALECT": "mysql"}, "It comes with datamind-db-sqlalchemy, which is not released yet."),
        ({"DATAMIND__RETRIVAL__TOP_K": "3"}, "DATAMIND__RETRIEVAL__TOP_K"),
        ({"DATAMIND__RETRIEVAL__TOPK": "3"}, "DATAMIND__RETRIEVAL__TOP_K"),
        ({"DATAMIND__RETRIEVAL__TOP_K": "many"}, "whole number"),
        ({"DATAMIND__DATA__PROFILE": "../../etc"}, "'../../etc'"),
        ({"DATAMIND__LOGGING__FILE": "/dev/null/x"}, "/dev/null/x"),
        ({"DATAMIND_PLUGINS_STRICT": "perhaps"}, "DATAMIND_PLUGINS_STRICT"),
    ],
)
def test_a_bad_environment_is_one_line(datamind, changes, said):
    result = datamind.run("ask", "anything", **changes)
    assert result.code == 3
    assert said in result.err
    assert "Traceback" not in result.err
    assert len([line for line in result.err.splitlines() if line.startswith("datamind: ")]) == 1
    assert result.stdout == b""


def test_the_log_goes_to_the_file_that_settings_name(datamind):
    log = datamind.home / "datamind.log"
    result = datamind.run("store", MIXED, DATAMIND__LOGGING__FILE=str(log), DATAMIND__LOGGING__LEVEL="debug")
    assert result.code == 0
    assert log.is_file()
    assert "debug " not in result.err


def make_files(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"note{number:04}.md").write_text(f"# Note {number}\n\nBuoy {number} is red.\n")
    return folder


def receipts_of(datamind: Datamind) -> list[dict]:
    result = datamind.run("receipts", "--limit", "1000", "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


LEXICAL = {"DATAMIND_PLUGINS_BLOCK": "embed-local"}
"""Vectors of many files would take most of the time, and are another matter."""


def test_ctrl_c_during_ingest_keeps_what_was_acknowledged_and_says_so(datamind):
    make_files(datamind.home / "notes", 1_500)
    process = datamind.start("ingest", "notes", **LEXICAL)
    control = datamind.home / "storage" / "default" / "control.db"
    deadline = time.monotonic() + 30
    while not written(control) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    said = re.search(rb"Stopped; (\d+) receipts? stay", errors)
    assert said, errors
    receipts = receipts_of(datamind)
    assert 0 < len(receipts) == int(said[1]) < 1_500
    assert {receipt["result"]["status"] for receipt in receipts} == {"stored"}
    again = datamind.run("ingest", "notes", "--json", **LEXICAL)
    assert again.code == 0, again.err
    statuses = [receipt["result"]["status"] for receipt in json.loads(again.out)["receipts"]]
    assert statuses.count("unchanged") == len(receipts)
    assert statuses.count("stored") == 1_500 - len(receipts)


def written(control: Path) -> int:
    import sqlite3

    if not control.is_file():
        return 0
    connection = sqlite3.connect(f"file:{control}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT count(*) FROM receipts").fetchone()[0]
    except sqlite3.OperationalError:  # the table is not there yet
        return 0
    finally:
        connection.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only_is_one_line(datamind):
    datamind.home.chmod(0o500)
    try:
        result = datamind.run("ask", "anything")
    finally:
        datamind.home.chmod(0o700)
    assert result.code == 3
    assert "cannot be used" in result.err


def test_a_base_folder_that_cannot_be_made_is_one_line(datamind):
    (datamind.home / "file").write_text("")
    result = datamind.run("store", MIXED, "--set", "data.base_dir=file/below")
    assert result.code == 3
    assert result.err.count("datamind: ") == 1


def test_a_full_disk_loses_nothing_that_was_acknowledged(datamind):
    assert datamind.run("store", MIXED).code == 0
    before = receipts_of(datamind)
    assert before
    make_files(datamind.home / "notes", 40)
    size = max(path.stat().st_size for path in (datamind.home / "storage" / "default").iterdir() if path.is_file())

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    result = subprocess.run(
        datamind.command("ingest", "notes"),
        cwd=datamind.home,
        env=datamind.env(),
        capture_output=True,
        preexec_fn=limited,
    )
    assert result.returncode in (1, 5)
    assert b"Traceback" not in result.stderr
    after = receipts_of(datamind)
    assert [receipt["receipt_id"] for receipt in after][-len(before) :] == [receipt["receipt_id"] for receipt in before]
    assert MIXED in datamind.run("ask", "云杉").out


def test_a_module_may_be_run_from_any_folder(tmp_path):
    result = subprocess.run([sys.executable, "-m", "datamind_cli", "--version"], cwd=tmp_path, capture_output=True)
    assert result.returncode == 0
    assert list(tmp_path.iterdir()) == []
