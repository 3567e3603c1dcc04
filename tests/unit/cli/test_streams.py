"""Text that cannot fail to be written, nor act on a terminal."""

from __future__ import annotations

import io
import json
import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamind.core.errors import InputInvalid
from datamind_cli.render import Output, TextStream, plain, shorten
from datamind_cli.state import State
from datamind_cli.streams import can_show, is_terminal, printable, printable_json, printable_line, read_standard_input


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, 中文, é", "plain, 中文, é"),
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b31m", "\\x9b31m"),
        ("safe\u202egnp.exe", "safe\\u202egnp.exe"),
        ("over\rwritten", "over\\rwritten"),
        ("line\r\nline", "line\nline"),
        ("\u200bhidden\ufeff", "\\u200bhidden\\ufeff"),
    ],
)
def test_control_characters_and_text_direction_are_escaped(text, expected):
    assert printable(text) == expected


def test_a_line_stays_one_line():
    assert printable_line("a\nb\tc") == "a\\nb\\tc"


@given(st.text())
def test_no_text_acts_on_a_terminal(text):
    for char in printable(text):
        assert char in "\t\n" or unicodedata.category(char) != "Cc"
        assert unicodedata.bidirectional(char) not in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(
    st.recursive(
        st.text() | st.none() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_stays_equal_when_it_is_made_harmless(value):
    assert json.loads(printable_json(json.dumps(value, ensure_ascii=False))) == value


@pytest.mark.parametrize(("encoding", "fits"), [("utf-8", True), ("cp1252", False), ("ascii", False), (None, False)])
def test_whether_a_stream_can_show_chinese(encoding, fits):
    stream = type("Stream", (), {"encoding": encoding})()
    assert can_show("中文", stream) is fits


def test_a_closed_or_absent_stream_is_no_terminal():
    closed = io.StringIO()
    closed.close()
    assert not is_terminal(closed)
    assert not is_terminal(None)


@pytest.mark.parametrize(
    ("content", "encoding"),
    [("中文".encode(), "cp1252"), (b"\xef\xbb\xbfcaf\xc3\xa9", "utf-8"), (b"caf\xe9", "cp1252")],
)
def test_standard_input_is_utf8_else_the_encoding_of_the_terminal(monkeypatch, content, encoding):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding=encoding))
    assert read_standard_input() in ("中文", "café")


def test_standard_input_that_is_no_text_is_refused(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\x00\x80"), encoding="utf-8"))
    with pytest.raises(InputInvalid, match="not text"):
        read_standard_input()
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputInvalid, match="closed"):
        read_standard_input()


def test_shorten_keeps_one_line_and_says_that_it_cut():
    assert shorten("a\n  b", 10) == "a b"
    assert shorten("x" * 20, 10) in ("x" * 9 + "…", "x" * 7 + "...")


def test_plain_makes_json_of_anything():
    assert plain({"a": (1, {2}), "b": None, "c": ValueError("x")}) == {"a": [1, [2]], "b": None, "c": "x"}


def test_a_table_aligns_wide_characters(capsys):
    Output(State()).table(("a", "b"), [("中文", "x"), ("abcd", "y")])
    assert capsys.readouterr().out.splitlines() == ["a     b", "中文  x", "abcd  y"]


def test_a_table_without_rows_prints_nothing(capsys):
    Output(State()).table(("a", "b"), [])
    assert capsys.readouterr().out == ""


SECRET = "sk-canary-7788"


def test_b27_a_secret_of_the_settings_is_in_no_output(capsys):
    out = Output(State(secrets=frozenset({SECRET}), as_json=False))
    out.line(f"a {SECRET} b")
    out.note(f"a {SECRET} b")
    out.table(("a", "b"), [(SECRET, f"x{SECRET}")])
    out.json({SECRET: [SECRET]})
    out.json_line({"a": SECRET})
    captured = capsys.readouterr()
    assert SECRET not in captured.out + captured.err
    assert captured.out.count("[redacted]") == 6


def test_b27_a_secret_is_hidden_in_the_forms_that_outputs_give_it(capsys):
    secret = 'pa"ss/wörd 42'
    out = Output(State(secrets=frozenset({secret})))
    out.json({"a": secret})
    out.json_line({"a": secret})
    out.line(f"https://gateway/?key={quote(secret, safe='')}")
    captured = capsys.readouterr().out
    assert "42" not in captured
    assert captured.count("[redacted]") == 3


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12))
def test_b27_a_secret_split_over_pieces_of_a_stream_is_hidden(cuts):
    pieces, rest = [], f"before {SECRET} and {SECRET}{SECRET} after"
    whole = rest
    for cut in cuts * 8:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    written = stream_of([*pieces, rest])
    assert SECRET not in written
    assert written == whole.replace(SECRET, "[redacted]") + "\n"


def stream_of(pieces):
    from click.testing import CliRunner

    stream = TextStream(Output(State(secrets=frozenset({SECRET}))))
    with CliRunner().isolation() as (stdout, *_):
        for piece in pieces:
            stream.feed(piece)
        stream.end()
        return stdout.getvalue().decode()


def test_a_stream_without_text_prints_nothing(capsys):
    TextStream(Output(State())).end()
    assert capsys.readouterr().out == ""
