"""What somebody meets who uses the command for the first time, with the offline model."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.usefixtures("kb")


@pytest.fixture
def kb(monkeypatch):
    monkeypatch.setenv("DATAMIND__KB__BACKEND", "memory")


@pytest.mark.parametrize(
    "command",
    [
        *(("ask", "Where do I live?"), ("receipts",), ("receipts", "rcpt_0"), ("trace",), ("why",), ("tools",)),
        *(("db", "tables"), ("db", "describe", "t"), ("db", "query", "SELECT 1"), ("db", "export", "t", "t.csv")),
        *(("kb", "status"), ("kb", "optimize"), ("kb", "reindex"), ("embed",)),
    ],
)
def test_looking_at_a_profile_that_does_not_exist_makes_none(run, home, command):
    result = run(*command, "--profile", "wrok")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "there is no profile 'wrok'" in result.stderr
    assert list(home.iterdir()) == []


def test_storing_makes_the_profile_and_says_so_once(run):
    first, second = (run("store", f"Remember that my bike is number {n}.", "--profile", "work") for n in (1, 2))
    assert "profile work is new" in first.stderr
    assert "is new" not in second.stderr
    assert run("ask", "What is my bike?", "--profile", "work").exit_code == 0


def test_chat_and_imports_say_that_a_profile_is_new(run, home):
    (home / "t.csv").write_text("a,b\n1,2\n3,4\n")
    (home / "cut.jsonl").write_text('{"text": "The heron nests in May."}\n')
    assert "profile first is new" in run("chat", "--profile", "first", stdin="/quit\n").stderr
    assert "profile second is new" in run("db", "import", "t.csv", "--profile", "second").stderr
    assert "profile third is new" in run("kb", "add-chunks", "cut.jsonl", "--no-wait", "--profile", "third").stderr


def test_a_receipt_is_named_by_its_beginning(run, run_json):
    run("store", "Remember that I live in Oslo.")
    (receipt,) = run_json("receipts")
    shown = run("receipts").stdout
    short = receipt["receipt_id"][:18]
    assert f" {short} " in shown
    assert receipt["receipt_id"] not in shown
    assert run_json("receipts", short)["receipt_id"] == receipt["receipt_id"]
    assert run_json("trace", short)["receipts"][0]["receipt_id"] == receipt["receipt_id"]
    assert receipt["receipt_id"] in run("why", short).stdout


def test_a_beginning_of_several_receipts_is_refused(run):
    for place in ("Oslo", "Bergen"):
        run("store", f"Remember that I live in {place}.")
    for command in ("receipts", "trace", "why"):
        result = run(command, "rcpt_0")
        assert result.exit_code == 2
        assert "several receipts begin with 'rcpt_0'" in result.stderr


def test_why_names_what_is_cited_before_what_was_only_read(run, home):
    (home / "a.txt").write_text("The pump is checked every May by Ada.\n\nThe pump stands in the cellar.\n")
    (home / "b.txt").write_text("The pump house has a red door. The old pump was sold.\n")
    run("ingest", "a.txt", "b.txt")
    run("ask", "Who checks the pump every May?")
    lines = run("why").stdout.splitlines()
    read = [line for line in lines if " comes from kb" in line]
    assert lines[1].startswith("The answer cites 1 passage: ")
    assert [line.startswith("Also looked at: ") for line in read] == [False, *[True] * (len(read) - 1)]
    assert len(read) > 1


def test_what_is_stored_in_a_session_is_remembered_in_that_session_alone(run):
    run("store", "Remember that the room is B12.", "--session", "s1")
    run("store", "Remember in all projects that the desk is D4.", "--session", "s1")
    assert "B12" in run("ask", "What is the room?", "--session", "s1").stdout
    assert "B12" not in run("ask", "What is the room?").stdout
    assert "D4" in run("ask", "What is the desk?").stdout


def test_doctor_says_init_where_init_would_switch_the_surface_on(run, run_json, monkeypatch):
    monkeypatch.delenv("DATAMIND__KB__BACKEND")
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "kb-lancedb,memory-sqlite")
    checks = {check["name"]: check for check in run_json("doctor")}
    assert checks["surface kb"]["remedy"] == "datamind init"
    assert checks["surface kb"]["detail"].startswith("off: ")
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "graph-rdflib")
    checks = {check["name"]: check for check in run_json("doctor")}
    assert checks["surface graph"]["remedy"] == "datamind plugins"


@pytest.mark.parametrize(
    ("question", "said"), [("What is my locker number?", "Memory is off here"), ("我的柜子号是多少？", "没有启用记忆")]
)
def test_a_question_about_the_user_says_that_memory_is_off(run, home, monkeypatch, question, said):
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "memory-sqlite")
    (home / "a.txt").write_text("The locker number of the trainer is 31. 教练的柜子号是31。\n")
    run("ingest", "a.txt")
    assert run("ask", question).stdout.startswith((said, "这里" + said))
    assert said not in run("ask", "What is the locker number of the trainer?").stdout


def test_a_memory_file_goes_the_way_a_user_takes(run_json, tmp_path):
    rows = [
        {"text": "I moved to Porto.", "said_at": "2031-01-15T09:00:00Z"},
        {"text": "I live in Gdansk.", "said_at": "2030-02-01T09:00:00Z", "scope": "profile", "kind": "fact"},
        {"text": "The room is B12.", "said_at": "2030-02-01T09:00:00Z", "scope": "session"},
    ]
    (tmp_path / "memory.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = [
        ("Where do I live?", "Porto", 0),
        ("Where did I live before?", "Gdansk", 1),
        ("What is the room?", "B12", 2),
    ]
    lines = [{"ingest": ["memory.jsonl"]}]
    lines += [{"id": q, "question": q, "answers": [a], "sources": [rows[n]["text"]]} for q, a, n in asked]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run_json("eval", "qa", str(path))["right"] == 3


def test_the_first_line_of_a_text_is_its_title_where_it_stands_like_one(run, run_json, home):
    (home / "dal.txt").write_text("Red Lentil Dal with Spinach\n\nServes 4. Takes 35 minutes.\n")
    (home / "log.txt").write_text("The pump failed at nine.\n\nIt was mended at ten.\n")
    run("ingest", "dal.txt", "log.txt")
    answer = run("ask", "Which documents do you have?").stdout
    assert "Red Lentil Dal with Spinach" in answer
    assert "log.txt" in answer
