"""The command on a terminal: tables, colours, prompts, approvals."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Datamind, install_scripted_model

ESCAPE = b"\x1b"
FACT = "The harbour crane is painted red."


@pytest.fixture
def datamind(tmp_path: Path) -> Datamind:
    home, site = tmp_path / "home", tmp_path / "site"
    home.mkdir()
    site.mkdir()
    install_scripted_model(site)
    return Datamind(home, site, {"DATAMIND__LLM__PROTOCOL": "scripted", "DATAMIND__KB__BACKEND": "memory"})


def test_a_terminal_gets_a_table_and_dim_lines(datamind):
    datamind.run("store", FACT)
    result = datamind.on_terminal("ask", "harbour", "crane", NO_COLOR="(unset)")
    assert result.code == 0
    assert FACT in result.out
    assert "───" in result.out
    assert b"\x1b[2m" in result.stdout


@pytest.mark.parametrize("arguments", [["ask", "crane"], ["receipts"], ["doctor"]], ids=lambda words: words[0])
def test_no_color_leaves_no_escape_at_all(datamind, arguments):
    datamind.run("store", FACT)
    result = datamind.on_terminal(*arguments, NO_COLOR="1")
    assert len(result.stdout) > 100
    assert ESCAPE not in result.stdout


def test_the_option_does_the_same(datamind):
    assert ESCAPE not in datamind.on_terminal("config", "show", "--no-color").stdout


def test_stored_text_cannot_act_on_the_terminal(datamind):
    datamind.run("store", "crane \x1b]0;owned\x07\x1b[2J \u202e and [bold]markup[/bold]")
    result = datamind.on_terminal("ask", "crane", NO_COLOR="1")
    assert ESCAPE not in result.stdout
    assert "\\x1b]0;owned\\x07" in result.out
    assert "\u202e" not in result.out
    assert "[bold]" in result.out


def test_a_terminal_in_another_encoding(datamind):
    datamind.run("store", "云杉 crane – ✓")
    result = datamind.on_terminal("ask", "crane", PYTHONIOENCODING="cp1252")
    assert result.code == 0
    assert "\\u4e91" in result.stdout.decode("cp1252")


@pytest.mark.parametrize(("keys", "code"), [(b"y\n", 0), (b"n\n", 4), (b"\n", 4), (b"\x04", 4)])
def test_a_person_decides_on_the_stored_call(datamind, tmp_path, keys, code):
    outside = tmp_path / "outside.md"
    outside.write_text("# Cranes\n\nThe crane was built in 1931.\n")
    result = datamind.on_terminal("store", f"file {outside}", typed=[(b"[y/N]", keys)], NO_COLOR="1")
    assert result.code == code, result.out
    assert "kb_add_file (write) in profile default" in result.out
    assert str(outside) in result.out.replace("\r\n", "")


def test_ctrl_c_at_the_question_stores_nothing(datamind, tmp_path):
    outside = tmp_path / "outside.md"
    outside.write_text("# Cranes\n")
    result = datamind.on_terminal("store", f"file {outside}", typed=[(b"[y/N]", b"\x03")])
    assert result.code == 130
    assert "Traceback" not in result.out
    assert datamind.run("receipts").stdout == b""


def test_a_conversation_on_a_terminal(datamind):
    typed = [(b"> ", f"/store {FACT}\n".encode()), (b" s\r\n", b"What is painted red?\n"), (b" supported", b"/quit\n")]
    result = datamind.on_terminal("chat", typed=typed, NO_COLOR="1")
    assert result.code == 0, result.out
    assert f"{FACT} [1]" in result.out


def test_ctrl_c_ends_a_conversation(datamind):
    result = datamind.on_terminal("chat", typed=[(b"> ", b"\x03")])
    assert result.code == 130
    assert "Traceback" not in result.out


def test_init_asks_before_it_writes_a_key(datamind):
    from tests.support.plugins import plugin_source, write_distribution

    write_distribution(datamind.site, "vendor", plugin_source(kind="model.client", provider="anthropic"))
    file = datamind.home / "data" / "profiles" / "default" / "datamind.toml"
    environ = {"ANTHROPIC_API_KEY": "sk-canary-8811", "DATAMIND__LLM__PROTOCOL": "(unset)"}
    refused = datamind.on_terminal("init", typed=[(b"[y/N]", b"n\n"), (b"[y/N]", b"n\n")], **environ)
    assert refused.code == 0
    assert "ANTHROPIC_API_KEY is set" in refused.out
    assert "canary" not in file.read_text()
    agreed = datamind.on_terminal("init", typed=[(b"[y/N]", b"y\n"), (b"[y/N]", b"y\n")], **environ)
    assert 'api_key = "sk-canary-8811"' in file.read_text()
    assert 'protocol = "anthropic"' in file.read_text()
    assert "canary" not in refused.out + agreed.out
