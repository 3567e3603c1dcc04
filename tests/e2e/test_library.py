"""The library as its readers first meet it: the sample programs, word for word, in a fresh folder."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

import datamind as dm
from datamind.agent import build_datamind
from datamind.config import Settings
from datamind.core.errors import ConfigError, InputInvalid

PROGRAM = """\
import asyncio

from datamind.agent import build_datamind
from datamind.config import Settings


async def main():
    system = await build_datamind(Settings())
    await system.ingest("Remember: weekly reports use Chinese.")
    result = await system.query("What language should weekly reports use?")
    print(result.answer)
    await system.aclose()


asyncio.run(main())
"""

SCRIPT = """\
from pathlib import Path

import datamind as dm

with dm.open("demo") as d:
    d.add("Remember: weekly reports use Chinese.")
    print(d.ask("What language should weekly reports use?"))
"""


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("program", [PROGRAM, SCRIPT], ids=["await", "script"])
def test_the_sample_program_answers_and_cites(working_folder: Path, program: str) -> None:
    result = run(program, working_folder)
    assert result.returncode == 0, result.stderr
    assert result.stderr == "", "nothing is said that nobody asked for"
    assert "Chinese" in result.stdout and "[1]" in result.stdout
    assert {path.name for path in working_folder.iterdir()} == {"data", "storage"}


def test_what_one_process_stored_another_one_finds(working_folder: Path) -> None:
    store, ask = (
        SCRIPT.replace(line, "    pass")
        for line in (
            '    print(d.ask("What language should weekly reports use?"))',
            '    d.add("Remember: weekly reports use Chinese.")',
        )
    )
    assert run(store, working_folder).returncode == 0
    answered = run(ask, working_folder)
    assert answered.returncode == 0, answered.stderr
    assert "Chinese" in answered.stdout


@pytest.mark.parametrize(
    ("said", "asked", "answer"),
    [
        ("Remember: weekly reports use Chinese.", "What language should weekly reports use?", "Chinese"),
        ("记住：周报用中文写。", "周报用什么语言写？", "中文"),
        ("请记住：服务器密钥每90天更换一次。", "服务器密钥多久更换一次？", "90天"),
    ],
)
async def test_stored_answered_cited_traced(working_folder: Path, said: str, asked: str, answer: str) -> None:
    async with await build_datamind(Settings()) as system:
        stored = await system.ingest(said)
        assert (stored.status, stored.flags, len(stored.receipts)) == ("stored", (), 1)
        result = await system.query(asked)
        assert answer in result.answer
        assert result.extractive and "offline" in system.model_name
        (citation,) = result.citations
        assert citation.supported
        cited = result.evidence[citation.number - 1]
        assert cited.receipt_ids == (stored.receipts[0].receipt_id,)
        trace = await system.trace(result.trace_id)
        assert stored.receipts[0].receipt_id in {receipt.receipt_id for receipt in trace.receipts}


async def test_what_was_never_stored_is_not_answered(working_folder: Path) -> None:
    async with await build_datamind(Settings()) as system:
        await system.ingest("Remember: weekly reports use Chinese.")
        for question in ("What is the height of the lighthouse?", "灯塔有多高？"):
            result = await system.query(question)
            assert result.citations == () and "Chinese" not in result.answer


async def test_saying_it_twice_stores_it_once(working_folder: Path) -> None:
    async with await build_datamind(Settings()) as system:
        statuses = [(await system.ingest("Remember: weekly reports use Chinese.")).status for _ in range(2)]
        assert statuses == ["stored", "unchanged"]
        assert (await system.surfaces())[0].items == 1


async def test_one_key_has_one_effect(working_folder: Path) -> None:
    async with await build_datamind(Settings()) as system:
        results = [
            await system.ingest("Remember: the lamp is red.", idempotency_key="k1"),
            await system.ingest("Remember: the lamp is red.", idempotency_key="k1"),
        ]
        assert {result.receipts[0].receipt_id for result in results} == {results[0].receipts[0].receipt_id}
        assert await system.receipts.count() == 1


async def test_the_stream_tells_the_answer_the_result_holds(working_folder: Path) -> None:
    async with await build_datamind(Settings()) as system:
        await system.ingest("Remember: weekly reports use Chinese.")
        events = [event async for event in system.stream("What language should weekly reports use?")]
        assert [event.type for event in events if event.type in ("done", "error")] == ["done"]
        kinds = [event.type for event in events]
        assert kinds.index("tool_use") < kinds.index("tool_result") < kinds.index("text")
        assert "".join(event.delta for event in events if event.type == "text").strip() == events[-1].result.answer  # type: ignore[union-attr]


def test_the_blocking_form_takes_paths_and_shows_receipts(working_folder: Path) -> None:
    page = working_folder / "handbook.md"
    page.write_text("# Handbook\n\nThe office opens at 9:00.\n", encoding="utf-8")
    with dm.open("demo", base_dir=working_folder / "base", kb={"backend": "memory"}) as d:
        added = d.add(page)
        assert (added.status, added["status"]) == ("stored", "stored")
        answer = d.ask("When does the office open?")
        assert "9:00" in str(answer)
        assert [receipt.receipt_id for receipt in d.receipts()] == [added.receipts[0].receipt_id]
        assert d.trace(answer.trace_id).receipts
        d.close()
    assert (working_folder / "base" / "storage" / "demo" / "control.db").exists()


def test_the_blocking_form_raises_the_same_errors(working_folder: Path) -> None:
    with pytest.raises(ConfigError, match="pip install"):
        dm.open("demo", graph={"backend": "sparql"})
    with dm.open("demo") as d, pytest.raises(InputInvalid, match="blank"):
        d.ask("  ")


def test_the_blocking_form_works_inside_a_running_loop(working_folder: Path) -> None:
    """As in a notebook."""

    async def cell() -> str:
        with dm.open("demo") as d:
            d.add("Remember: weekly reports use Chinese.")
            return str(d.ask("What language should weekly reports use?"))

    assert "Chinese" in asyncio.run(cell())
