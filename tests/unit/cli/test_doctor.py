"""doctor: every check, well and ill."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

from datamind_cli import checking
from datamind_cli.checking import _folder_check


def states(run, *arguments):
    import json

    result = run("doctor", *arguments, "--json")
    return result.exit_code, {check["name"]: check for check in json.loads(result.stdout)}


pytestmark = pytest.mark.usefixtures("scripted")


def without_broken_plugins(monkeypatch):
    # So that a plugin that is being worked on is no matter here.
    monkeypatch.setenv("DATAMIND_PLUGINS", "acme-model,memory-sqlite,skills")


def test_nothing_is_wrong_with_a_fresh_profile(run, monkeypatch):
    without_broken_plugins(monkeypatch)
    code, checks = states(run)
    assert code == 0, checks
    assert {"plugins", "settings", "data folder", "storage folder", "audit keys", "disk", "model", "control.db"} <= set(
        checks
    )
    assert (
        checks["surface memory"]["state"] == checks["surface kb"]["state"] == checks["surface skills"]["state"] == "ok"
    )
    assert checks["surface db"]["state"] == "note"
    assert "not named in DATAMIND_PLUGINS" in checks["surface db"]["detail"]
    assert "Nothing is wrong." in run("doctor").stdout


def test_control_db_is_counted(run, monkeypatch):
    without_broken_plugins(monkeypatch)
    run("store", "Buoy 4 is red.")
    run("ask", "Which colour is buoy 4?")
    assert states(run)[1]["control.db"]["detail"] == "1 receipt, 1 answer, 0 unfinished writes"


def test_a_broken_plugin_is_wrong(run, tmp_path, monkeypatch):
    from tests.support.plugins import write_distribution

    site = tmp_path / "site"
    site.mkdir()
    write_distribution(site, "acme-broken", "import nothing_like_this\n")
    monkeypatch.syspath_prepend(str(site))
    code, checks = states(run)
    assert code == 1
    assert checks["plugin acme-broken"]["state"] == "failed"
    assert "nothing_like_this" in checks["plugin acme-broken"]["detail"]


def test_wrong_settings_are_told_with_the_rest(run, monkeypatch):
    code, checks = states(run, "--set", "llm.modl=x")
    assert code == 1
    assert checks["settings"]["state"] == "failed"
    assert checks["settings"]["remedy"] == "datamind explain config_invalid"
    assert "plugins" in checks


def test_a_named_provider_that_is_missing_is_told(run):
    code, checks = states(run, "--set", "db.dialect=mysql")
    assert code == 1
    assert "It comes with datamind-db-sqlalchemy, which is not released yet." in checks["start"]["detail"]


def test_vendor_variables_are_seen_and_not_used(run, monkeypatch):
    without_broken_plugins(monkeypatch)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-5566")
    code, checks = states(run)
    assert code == 0
    assert checks["variable ANTHROPIC_API_KEY"]["remedy"] == "datamind init"
    assert "canary" not in str(checks)


def test_a_store_that_does_not_open_is_named_and_the_others_are_checked(run, home, monkeypatch):
    without_broken_plugins(monkeypatch)
    run("store", "Buoy 4 is red.")
    with closing(sqlite3.connect(home / "storage" / "default" / "memory.db")) as database:
        database.execute("PRAGMA user_version = 99")
    code, checks = states(run)
    assert code == 1
    assert checks["surface memory"]["state"] == "failed"
    assert checks["surface kb"]["state"] == "ok"


def test_a_store_that_was_filled_again_is_told(run, home, monkeypatch):
    without_broken_plugins(monkeypatch)
    run("store", "Buoy 4 is red.")
    for path in (home / "storage" / "default").glob("memory.db*"):
        path.unlink()
    (home / "storage" / "default" / "memory.db").write_bytes(b"this is no database" * 99)
    code, checks = states(run)
    assert code == 0
    assert checks["surface memory"]["state"] == "ok"
    assert checks["repair of memory"]["state"] == "note"
    assert "1 write was repeated" in checks["repair of memory"]["detail"]


def test_one_check_that_breaks_leaves_the_others(run, monkeypatch):
    without_broken_plugins(monkeypatch)

    async def broken(*_):
        raise RuntimeError("secret sauce")

    monkeypatch.setattr(checking, "_control_check", broken)
    code, checks = states(run)
    assert code == 1
    assert checks["control.db"]["detail"] == "control.db failed (RuntimeError)"
    assert checks["surface memory"]["state"] == "ok"


def test_a_profile_that_is_not_there_is_told_and_not_made(run, home, monkeypatch):
    without_broken_plugins(monkeypatch)
    code, checks = states(run, "--profile", "wrok")
    assert code == 1
    assert checks["profile"]["state"] == "failed"
    assert "there is no profile 'wrok'" in checks["profile"]["detail"]
    assert checks["settings"]["state"] == "ok"
    assert list(home.iterdir()) == []


def test_a_damaged_control_db_is_wrong(run, home, monkeypatch):
    without_broken_plugins(monkeypatch)
    run("store", "Buoy 4 is red.")
    for path in (home / "storage" / "default").glob("control.db-*"):
        path.unlink()
    (home / "storage" / "default" / "control.db").write_bytes(b"this is no database" * 99)
    code, checks = states(run)
    assert code == 1
    assert any("control.db" in check["detail"] for check in checks.values() if check["state"] == "failed")


def test_a_folder_that_cannot_be_written_is_wrong(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert _folder_check("data", file).state == "failed"
    assert _folder_check("data", tmp_path / "new").state == "ok"
    if os.geteuid():
        tmp_path.chmod(0o500)
        assert _folder_check("data", tmp_path / "new").state == "failed"
        tmp_path.chmod(0o700)
