"""The facade without await."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import datamind as dm
from datamind.core.errors import InputInvalid

LEFT_OPEN = """
import sys, datamind as dm
d = dm.open("left", kb={"backend": "memory"}, base_dir=sys.argv[1])
print(d.add("Remember that I like figs.").status)
raise SystemExit(7)
"""


def test_a_program_that_never_closes_still_ends(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LEFT_OPEN, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (7, "stored\n"), ended.stderr


def test_what_is_no_text_and_a_closed_system_get_one_clear_line(tmp_path: Path) -> None:
    d = dm.open("closed", kb={"backend": "memory"}, base_dir=tmp_path, hooks={"audit_key": tmp_path / "keys"})
    for wrong in (None, b"abc", 7):
        with pytest.raises(InputInvalid):
            d.ask(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputInvalid):
        d.add(None)  # type: ignore[arg-type]
    d.close()
    d.close()
    with pytest.raises(InputInvalid, match="closed"):
        d.ask("Anyone there?")


def test_a_number_at_the_beginning_of_an_answer_is_no_list_label(tmp_path: Path) -> None:
    with dm.open("sums", base_dir=tmp_path, hooks={"audit_key": tmp_path / "keys"}) as d:
        answer = d.ask("What is 12.5% of 5,900?")
        assert (answer.claims.supported, answer.claims.unsupported) == (1, 0)
