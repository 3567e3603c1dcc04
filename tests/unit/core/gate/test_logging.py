"""The one redactor, and logs with the trace of their request."""

from __future__ import annotations

import base64
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from datamind.core.context import bind_request
from datamind.core.logging import REDACTED, Redactor, configure_logging, redactor
from datamind.testing.gates import make_request

SECRET = 'pass"w\\ö/rd+canary'


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    logger = logging.getLogger("datamind")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield
    for handler in set(logger.handlers) - set(before[0]):
        handler.close()
    logger.handlers[:], logger.level, logger.propagate = before


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET, safe=""),
        json.dumps(SECRET)[1:-1],
        base64.b64encode(SECRET.encode()).decode(),
        base64.b64encode(SECRET.encode()).decode().rstrip("="),
    ],
)
def test_b27_a_known_secret_is_hidden_in_every_form(form: str) -> None:
    assert Redactor([SECRET]).text(f"a {form} b") == f"a {REDACTED} b"


def test_a_secret_inside_a_longer_one_does_not_leave_its_rest() -> None:
    hiding = Redactor(["abcdefgh", "abcdefgh-and-more"])
    assert hiding.text("abcdefgh-and-more") == REDACTED


def test_short_values_do_not_hide_ordinary_words() -> None:
    assert Redactor(["the", ""]).text("the lamp") == "the lamp"


@pytest.mark.parametrize(
    "text",
    [
        "key sk-abcdefghijklmnop here",
        "Authorization: Bearer abc.def-123456",
        "Authorization: Basic dXNlcjpwYXNzd29yZA==",
        "postgres://user:s3cretpw@host/db",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIabc cut off",
        "password=s3cretpw",
        "api_key: s3cretpw",
        "API-KEY = s3cretpw",
        '{"password": "s3cretpw"}',
        "{'api_key': 's3cretpw'}",
        "token=s3cretpw&x=1",
    ],
)
def test_b27_what_looks_like_a_secret_is_hidden(text: str) -> None:
    shown = Redactor().text(text)
    assert REDACTED in shown
    for secret in ("s3cretpw", "abcdefghijklmnop", "abc.def-123456", "dXNlcjpw", "MIIabc"):
        assert secret not in shown


@pytest.mark.parametrize(
    "text",
    [
        "A basic understanding of bearer certificates.",
        "Basic arithmetic is enough; basic understanding, too.",
        "The secret of the lamp is its token value.",
        "task-based and risk-adjusted work at https://example.org:8080/a@b",
        "密码学是一门学问。",
    ],
)
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert Redactor().text(text) == text


def test_values_are_redacted_at_any_depth_keys_included() -> None:
    hiding = Redactor(["canary-value"])
    value = {"canary-value": [{"x": ("canary-value", 1, None, True)}]}
    assert hiding.value(value) == {REDACTED: [{"x": [REDACTED, 1, None, True]}]}


def test_a_log_line_names_its_trace_and_hides_secrets_in_message_arguments_and_traceback() -> None:
    redactor.add("canary-of-the-log")
    for style in ("text", "json"):
        target = io.StringIO()
        configure_logging("info", style, target)
        ctx = make_request()
        try:
            raise ValueError("bad canary-of-the-log")
        except ValueError:
            with bind_request(ctx):
                logging.getLogger("datamind.x").exception("no login with %s", "canary-of-the-log")
        logging.getLogger("datamind.x").debug("not heard")
        logged = target.getvalue()
        assert "canary" not in logged and REDACTED in logged and "ValueError" in logged
        assert ctx.trace_id in logged
        assert "not heard" not in logged
        if style == "json":
            (line,) = logged.splitlines()
            assert json.loads(line)["level"] == "error"


def test_configuring_again_replaces_and_closes_the_handler(tmp_path: Path) -> None:
    configure_logging("info", "text", tmp_path / "a.log")
    configure_logging("info", "text", tmp_path / "b.log")
    logging.getLogger("datamind").info("hello")
    assert ((tmp_path / "a.log").read_text(), "hello" in (tmp_path / "b.log").read_text()) == ("", True)
