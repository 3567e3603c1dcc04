"""store, ask, chat, receipts, trace and why over real stores, with a scripted model."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.usefixtures("scripted")

FACT = "The lighthouse keeper is called Alva Norrby."
QUESTION = "What is the lighthouse keeper called?"


@pytest.fixture
def stored(run):
    result = run("store", FACT)
    assert result.exit_code == 0, result.stderr
    return result


def test_store_shows_the_receipt_and_the_status(stored):
    assert "That is saved." in stored.stdout
    assert "rcpt_" in stored.stdout
    assert stored.stdout.splitlines()[-1].startswith("stored · 1 receipt (memory) · scripted-1 · ")


def test_ask_shows_the_answer_the_evidence_and_the_status(run, stored):
    result = run("ask", QUESTION)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == f"{FACT} [1]"
    assert lines[1].split() == ["n", "surface", "source", "span", "receipts", "content"]
    assert lines[2].startswith("1  memory ")
    assert lines[2].endswith(FACT)
    assert lines[-1].startswith("scripted-1 · memory · 1 of 1 claim supported · 1 of 1 receipt-backed · ")
    assert lines[-1].endswith(" s")


@pytest.mark.usefixtures("light_set")
def test_notices_stand_on_standard_error(run, stored):
    result = run("ask", QUESTION, "-v")
    assert "note: off here: db" in result.stderr
    assert "note:" not in result.stdout


@pytest.mark.usefixtures("light_set")
def test_what_is_off_is_said_where_nothing_was_found_and_not_before_every_answer(run, stored):
    answered = run("ask", QUESTION)
    assert "off here" not in answered.stdout + answered.stderr
    nothing = run("ask", "zebra")
    assert "note:" not in nothing.stderr
    assert " · off here: db, graph · " in nothing.stdout.splitlines()[-1]


def test_words_may_stand_without_quotes_and_a_dash_reads_standard_input(run, stored):
    plain = run("ask", *QUESTION.split()).stdout.splitlines()[0]
    assert plain == run("ask", "-", stdin=f"{QUESTION}\n").stdout.splitlines()[0] == f"{FACT} [1]"


def test_finding_nothing_is_an_answer(run):
    result = run("ask", QUESTION)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "Nothing is known about this."
    assert "nothing claimed" in result.stdout


@pytest.mark.parametrize("command", ["ask", "store"])
@pytest.mark.parametrize("words", [[], [""], ["  ", "\n"]])
def test_nothing_to_ask_or_store_is_one_line(run, command, words, home):
    result = run(command, *words)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "is empty" in result.stderr
    assert list(home.iterdir()) == []


def test_a_text_that_is_not_unicode_is_one_line(run):
    result = run("ask", "half \ud800 pair")
    assert result.exit_code == 2
    assert "is not UTF-8 text" in result.stderr


def test_json_is_the_whole_result(run, stored, run_json):
    result = run_json("ask", QUESTION)
    assert result["answer"] == f"{FACT} [1]"
    assert result["citations"][0]["evidence_id"] == result["evidence"][0]["evidence_id"]
    assert result["claims"] == {"supported": 1, "unsupported": 0, "stale": 0}
    assert run_json("store", FACT)["status"] == "unchanged"


def test_b39_a_claim_without_a_receipt_is_flagged_and_fails(run):
    result = run("store", "pretend that it worked")
    assert result.exit_code == 1
    assert "no receipt does" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("nothing_written · 0 receipts")


def test_a_write_that_needs_a_person_is_denied_without_a_terminal(run, tmp_path):
    outside = tmp_path / "outside.md"
    outside.write_text("# Notes\n")
    result = run("store", f"file {outside}")
    assert result.exit_code == 4
    assert "kb_add_file needs a person's approval" in result.stderr
    assert run("receipts").stdout == ""


def test_receipts_lists_pages_and_shows_one(run, run_json):
    for number in range(3):
        run("store", f"Buoy {number} is red.")
    listed = run_json("receipts", "--limit", "2")
    assert len(listed) == 2
    assert run_json("receipts", "--offset", "2", "--limit", "5")[0]["receipt_id"] not in str(listed)
    assert run_json("receipts", "--surface", "kb") == []
    receipt_id = listed[0]["receipt_id"]
    assert run_json("receipts", receipt_id) == listed[0]
    shown = run("receipts", receipt_id).stdout
    assert f"receipt    {receipt_id}\n" in shown
    assert "read back  1 of 1 memories found" in shown
    assert "2 receipts shown, 3 in profile default" in run("receipts", "--limit", "2").stderr


def test_trace_and_why_follow_the_newest_answer_or_any_id(run, run_json, stored):
    answer = run_json("ask", QUESTION)
    whole = run_json("trace")
    assert whole["asked"] == answer["trace_id"]
    assert [entry["kind"] for entry in whole["audit"]]
    evidence_id, receipt_id = answer["evidence"][0]["evidence_id"], answer["evidence"][0]["receipt_ids"][0]
    assert run_json("trace", evidence_id)["receipts"] == run_json("trace", receipt_id)["receipts"]
    assert run_json("trace", receipt_id)["cited_by"] == [answer["trace_id"]]
    shown = run("trace").stdout
    for part in (QUESTION, FACT, receipt_id[:18], "sha-256", "outcome"):
        assert part in shown
    sentences = run("why").stdout
    assert f"The question was “{QUESTION}”." in sentences
    assert receipt_id in sentences
    assert run_json("why")["sentences"] == sentences.splitlines()


@pytest.mark.parametrize("command", ["trace", "why"])
def test_tracing_what_is_not_there_is_one_line(run, command):
    nothing = run(command)
    assert nothing.exit_code == 2
    assert "has no answer yet" in nothing.stderr
    unknown = run(command, "rcpt_0")
    assert unknown.exit_code == 2
    assert "'rcpt_0'" in unknown.stderr
    assert run("receipts", "rcpt_0").exit_code == 2


def test_a_conversation_stores_asks_and_ends(run):
    lines = [f"/store {FACT}", "", QUESTION, "/nonsense", "/quit", "never asked"]
    result = run("chat", "--session", "s1", stdin="\n".join(lines))
    assert result.exit_code == 0, result.stderr
    assert f"{FACT} [1]\n" in result.stdout
    assert result.stdout.count("scripted-1 · ") == 2
    assert "/nonsense is no command here" in result.stderr
    assert "never asked" not in result.stdout


def test_the_end_of_input_ends_a_conversation(run):
    assert run("chat", stdin="").exit_code == 0


def test_a_failed_turn_does_not_end_a_conversation(run):
    result = run("chat", stdin=f"/store \n/store {FACT}\n{QUESTION}\n")
    assert result.exit_code == 0
    assert "datamind: the text to store is blank" in result.stderr
    assert f"{FACT} [1]" in result.stdout


def test_a_conversation_in_json_is_one_event_a_line(run, stored):
    result = run("chat", "--json", stdin=QUESTION)
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["type"] for event in events][-1] == "done"
    assert "".join(event["delta"] for event in events if event["type"] == "text") == f"{FACT} [1]"
    assert {"tool_use", "tool_result"} <= {event["type"] for event in events}


def test_verbose_shows_the_tool_calls(run, stored):
    assert "memory_recall" in run("chat", "-v", stdin=QUESTION).stderr
    assert "memory_recall" not in run("chat", stdin=QUESTION).stderr


def test_tools_of_each_role(run, run_json):
    tools = run_json("tools")
    by_role = {role: {tool["name"] for tool in tools if tool["role"] == role} for role in ("store", "retrieve")}
    assert "memory_save" in by_role["store"]
    assert {"memory_recall", "kb_search"} <= by_role["retrieve"]
    assert {tool["name"] for tool in run_json("tools", "--role", "store")} == by_role["store"]
    assert all(tool["input_schema"]["type"] == "object" for tool in tools)
    assert "memory_save" not in run("tools", "--role", "retrieve").stdout
    assert run("tools", "--role", "both").exit_code == 2
