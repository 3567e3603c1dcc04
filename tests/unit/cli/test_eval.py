"""eval qa: the file format, what is stored, and when an answer counts as right."""

from __future__ import annotations

import json

import pytest

from datamind.core.errors import InputInvalid, SourceUnreadable
from datamind.core.evidence import (
    Citation,
    Evidence,
    InferenceResult,
    MemoryLocator,
    SkillLocator,
    TableLocator,
    TextLocator,
    TripleLocator,
)
from datamind.core.source import SourceRef
from datamind.core.types import DataSurface
from datamind_cli.evaluation.corpus import plan_corpus
from datamind_cli.evaluation.judge import is_source, reason_wrong
from datamind_cli.evaluation.questions import Question, read_qa_file

GOOD = {"id": "q1", "question": "Which colour is buoy 4?", "answers": ["red"], "sources": ["buoys.md"], "lang": "en"}


@pytest.fixture(autouse=True)
def by_words_alone(monkeypatch):
    """The scripted model repeats the first memory it is given, and by vectors there is always one."""
    monkeypatch.setenv("DATAMIND_PLUGINS_BLOCK", "embed-local")


def write_set(folder, *rows, ingest=()):
    path = folder / "set.jsonl"
    lines = [{"ingest": list(ingest)}, *rows]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_file_is_read_whole(tmp_path):
    (tmp_path / "docs").mkdir()
    qa = read_qa_file(write_set(tmp_path, GOOD, {"id": 2, "question": "q", "answers": None}, ingest=["docs"]))
    assert qa.ingest == (tmp_path / "docs",)
    assert qa.questions[0] == Question("q1", "Which colour is buoy 4?", ("red",), ("buoys.md",), "en")
    assert qa.questions[1] == Question("2", "q", None, ())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answer": "x"}, "'answer' is no key"),
        ({"question": " "}, "are needed"),
        ({"answers": "red"}, "neither a list"),
        ({"answers": []}, "neither a list"),
        ({"sources": "buoys.md"}, "not a list of strings"),
        ({"sources": []}, "is needed"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path, change, said):
    with pytest.raises(InputInvalid, match=r"set.jsonl, line 2: .*" + said):
        read_qa_file(write_set(tmp_path, {**GOOD, **change}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty, so it has no first line"),
        (json.dumps(GOOD), "line 1 names no corpus"),
        ('{"ingest": []}', "has no question"),
        ('{"ingest": "docs"}', "not a list of paths"),
        ('{"ingest": ["absent"]}', "does not exist"),
        ('{"ingest": []}\n[1]', "line 2 is not a JSON object"),
        ('{"ingest": []}\n\n{"id"', "line 3 is not JSON"),
        ("[" * 100_000, "line 1 is not JSON"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path, text, said):
    path = tmp_path / "set.jsonl"
    path.write_text(text)
    with pytest.raises(InputInvalid, match=said):
        read_qa_file(path)


def test_a_repeated_id_is_refused(tmp_path):
    with pytest.raises(InputInvalid, match="two questions with the id 'q1'"):
        read_qa_file(write_set(tmp_path, GOOD, GOOD))


def test_a_file_that_cannot_be_read_is_refused(tmp_path, run):
    with pytest.raises(SourceUnreadable):
        read_qa_file(tmp_path)
    for path in ("absent.jsonl", str(tmp_path)):
        result = run("eval", "qa", path)
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1


TOOLS = frozenset({"kb_add_path", "memory_save", "skill_upsert"})


@pytest.fixture
def corpus(tmp_path):
    docs, skill = tmp_path / "docs", tmp_path / "skills" / "refund"
    docs.mkdir()
    skill.mkdir(parents=True)
    (docs / "buoys.md").write_text("# Buoys\n")
    (docs / ".hidden").write_text("x")
    (skill / "SKILL.md").write_text("---\nname: refund\ndescription: d\n---\nbody\n")
    (tmp_path / "memory.jsonl").write_text('{"text": "Buoy 4 is red.", "said_at": "2026-01-01T00:00:00Z"}\n')
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "facts.ttl").write_text("<a:x> <a:y> <a:z> .\n")
    return tmp_path


def test_every_path_goes_where_it_belongs(corpus):
    plan = plan_corpus([corpus / name for name in ("docs", "skills", "memory.jsonl", "rows.jsonl", "facts.ttl")], TOOLS)
    assert plan.paths == [corpus / "docs", corpus / "skills"]
    assert plan.memories == [{"text": "Buoy 4 is red.", "said_at": "2026-01-01T00:00:00Z"}]
    assert len(plan.problems) == 2
    assert plan.problems[0].startswith("rows.jsonl is skipped: ")
    assert "graph_import_path" in plan.problems[1]


def test_a_folder_with_a_table_is_handed_over_whole_and_what_is_off_is_told(corpus):
    (corpus / "docs" / "prices.csv").write_text("a\n1\n")
    plan = plan_corpus([corpus / "docs"], TOOLS)
    assert plan.paths == [corpus / "docs"]
    assert plan.problems == ["docs/prices.csv is skipped: db is off, no db_import_path is installed"]
    both = plan_corpus([corpus / "docs"], TOOLS | {"db_import_path"})
    assert (both.paths, both.problems) == ([corpus / "docs"], [])


def test_a_memory_file_inside_a_folder_is_memory_by_its_name_and_shape(corpus):
    docs, said = corpus / "docs", '{"text": "Buoy 5 is green.", "kind": "fact"}\n'
    (docs / "more").mkdir()
    (docs / "more" / "memory.jsonl").write_text(said)
    (docs / "more" / "notes.jsonl").write_text(said)
    (docs / "memory.jsonl").write_text('{"module": "a", "memory_mb": 3}\n')
    plan = plan_corpus([docs], TOOLS | {"db_import_path"})
    assert plan.memories == [{"text": "Buoy 5 is green.", "kind": "fact"}]
    assert plan.paths == [docs / "buoys.md", docs / "memory.jsonl", docs / "more" / "notes.jsonl"]


def test_skills_that_are_off_are_told(corpus):
    plan = plan_corpus([corpus / "skills"], TOOLS - {"skill_upsert"})
    assert plan.problems == ["skills/SKILL.md is skipped: skills is off, no skill_upsert is installed"]


def test_a_folder_of_tables_alone_needs_the_database(corpus):
    tables = corpus / "tables"
    tables.mkdir()
    (tables / "a.csv").write_text("a\n1\n")
    assert plan_corpus([tables], TOOLS | {"db_import_path"}).paths == [tables]
    assert plan_corpus([tables], TOOLS).paths == []


def evidence(locator, content="", uri="text:0", surface=DataSurface.KB):
    source = SourceRef.of_content("file", uri, b"", media_type="text/plain", profile="p", origin="file")
    return Evidence.of(surface, source, locator, content)


TEXT = TextLocator(start=0, end=1)


@pytest.mark.parametrize(
    ("listed", "uri", "expected"),
    [
        ("docs/buoys.md", "file:/tmp/x/docs/buoys.md", True),
        ("buoys.md", "file:/tmp/x/docs/buoys.md", True),
        ("set/docs/buoys.md", "file:docs/buoys.md", True),
        ("云杉.md", "file:/tmp/%E4%BA%91%E6%9D%89.md", True),
        ("other/buoys.md", "file:/tmp/x/docs/buoys.md", False),
        ("uoys.md", "file:/tmp/x/docs/buoys.md", False),
        ("buoys.md", "text:buoys.md", False),
    ],
)
def test_a_path_is_a_source_by_its_last_parts(listed, uri, expected):
    assert is_source(listed, evidence(TEXT, uri=uri)) is expected


@pytest.mark.parametrize(
    ("listed", "locator", "content", "expected"),
    [
        ("Buoy 4 is red.", MemoryLocator(memory_id="m"), "Buoy 4 is  RED.", True),
        ("Buoy 5 is red.", MemoryLocator(memory_id="m"), "Buoy 4 is red.", False),
        ("skills/refund/SKILL.md", SkillLocator(name="refund"), "", True),
        ("refund", SkillLocator(name="refund"), "", True),
        ("refunds", SkillLocator(name="refund"), "", False),
        ("tables/prices.csv", TableLocator(tables=("prices",)), "", True),
        ("prices", TableLocator(tables=("stock", "Prices")), "", True),
        ("price", TableLocator(tables=("prices",)), "", False),
        ("Alva Norrby", TripleLocator(subject="<http://x.example/Alva_Norrby>", predicate="p", object="o"), "", True),
        ("Alva", TripleLocator(subject="<http://x.example/Alva_Norrby>", predicate="p", object="o"), "", False),
    ],
)
def test_a_source_by_what_the_evidence_is(listed, locator, content, expected):
    assert is_source(listed, evidence(locator, content)) is expected


def answer(text, *cited):
    citations = tuple(Citation(number=1, evidence_id=item.evidence_id, claim="c", supported=True) for item in cited)
    return InferenceResult(answer=text, evidence=cited, citations=citations)


KNOWN = Question("q", "How many buoys?", ("1,200", "twelve hundred"), ("buoys.md",))
UNKNOWN = Question("q", "Who painted pier 7?", None, ())
BUOYS = evidence(TEXT, uri="file:/x/buoys.md")
CHARTS = evidence(TEXT, uri="file:/x/charts.md")


@pytest.mark.parametrize(
    ("question", "result", "reason"),
    [
        (KNOWN, answer("There are 1200 buoys. [1]", BUOYS), ""),
        (KNOWN, answer("Twelve hundred. [1]", BUOYS), ""),
        (KNOWN, answer("There are 12000 buoys. [1]", BUOYS), "no accepted answer"),
        (KNOWN, answer("There are 1200 buoys."), "nothing is cited"),
        (KNOWN, answer("There are 1200 buoys. [1]", CHARTS), "no listed source is cited"),
        (UNKNOWN, answer("Nothing is known about this."), ""),
        (UNKNOWN, answer("没有找到相关内容。"), ""),
        (UNKNOWN, answer(""), ""),
        (UNKNOWN, answer("Nothing says who painted pier 7."), ""),
        (UNKNOWN, answer("Alva Norrby painted it."), "it claims something"),
        (UNKNOWN, answer("Nothing, but it opened in 1931."), "it states a number"),
        (UNKNOWN, answer("Not Alva. [1]", BUOYS), "it claims something, with a citation"),
    ],
)
def test_right_needs_the_answer_and_its_source(question, result, reason):
    assert reason_wrong(question, result) == reason


@pytest.fixture
def memory_set(tmp_path):
    (tmp_path / "memory.jsonl").write_text(
        '{"text": "The crane is red.", "kind": "fact", "scope": "profile", "said_at": "2026-01-01T00:00:00Z"}\n'
        '{"text": "The bell is green.", "kind": "fact", "scope": "global"}\n'
    )
    known = [
        {
            "id": "a",
            "question": "Which colour is the crane?",
            "answers": ["red"],
            "sources": ["The crane is red."],
            "lang": "en",
            "kind": "memory",
        },
        {
            "id": "b",
            "question": "Which colour is the bell?",
            "answers": ["green"],
            "sources": ["The bell is green."],
            "lang": "en",
        },
        {"id": "c", "question": "zebra", "answers": None, "lang": "en", "kind": "nothing"},
    ]
    return known, tmp_path


@pytest.mark.usefixtures("scripted")
def test_a_set_that_is_all_right_exits_with_0_and_leaves_nothing_behind(run, memory_set, home):
    known, folder = memory_set
    path = write_set(folder, *known, ingest=["memory.jsonl"])
    result = run("eval", "qa", str(path), "--json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["right"], report["total"]) == (0, 3, 3), report
    assert report["by_lang"] == {"en": {"right": 3, "total": 3}}
    assert set(report["by_kind"]) == {"memory", "nothing", "other"}
    assert list(home.iterdir()) == []


@pytest.mark.usefixtures("scripted", "light_set")
def test_wrong_answers_are_listed_with_their_reason_and_exit_with_1(run, memory_set):
    known, folder = memory_set
    wrong = {"id": "d", "question": "Which colour is the crane?", "answers": ["blue"], "sources": ["x"], "lang": "zh"}
    (folder / "prices.csv").write_text("a\n1\n")
    path = write_set(folder, *known, wrong, ingest=["memory.jsonl", "prices.csv"])
    result = run("eval", "qa", str(path))
    assert result.exit_code == 1
    assert "prices.csv is skipped: " in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["lang", "zh", "0", "1", "0.0%"] in rows
    assert ["all", "3", "4", "75.0%"] in rows
    assert any(row[:4] == ["d", "zh", "no", "accepted"] for row in rows)


@pytest.mark.usefixtures("scripted")
def test_settings_of_the_profile_hold_and_its_data_is_not_touched(run, run_json, memory_set):
    known, folder = memory_set
    run("store", "The crane is blue.", "--profile", "work")
    run("init", "--profile", "work", "--set", "retrieval.top_k=3")
    path = write_set(folder, *known, ingest=["memory.jsonl"])
    assert run_json("eval", "qa", str(path), "--profile", "work")["right"] == 3
    assert len(run_json("receipts", "--profile", "work")) == 1


@pytest.mark.usefixtures("scripted")
def test_a_memory_that_is_not_of_the_form_is_a_problem(run, memory_set):
    known, folder = memory_set
    with (folder / "memory.jsonl").open("a") as file:
        file.write('{"text": "x", "kind": "rumour"}\n["a"]\n')
    result = run("eval", "qa", str(write_set(folder, *known, ingest=["memory.jsonl"])))
    assert result.exit_code == 1
    assert "a memory has the unknown kind 'rumour' ('x')" in result.stdout
    assert "a memory is not of the form" in result.stdout


@pytest.mark.usefixtures("scripted")
def test_a_skill_that_is_not_stored_is_a_problem(run, memory_set):
    known, folder = memory_set
    (folder / "book" / "关店").mkdir(parents=True)
    (folder / "book" / "关店" / "SKILL.md").write_text("---\ndescription: How to close\n---\nLock the door.\n")
    result = run("eval", "qa", str(write_set(folder, *known, ingest=["memory.jsonl", "book"])))
    assert result.exit_code == 1
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("book ")]
    assert "SKILL.md' is not stored: skill name '关店' is not allowed." in line
    assert "a-z, 0-9 and '-'" in line


@pytest.mark.usefixtures("scripted")
def test_a_server_that_settings_name_is_left_alone(monkeypatch, tmp_path):
    from datamind_cli.state import State
    from datamind_cli.temporary import settings_with, temporary_flags

    monkeypatch.setenv("DATAMIND__DB__DSN", "postgresql://user:secret@db.example/production")
    settings = settings_with(State(), temporary_flags("eval", tmp_path))
    assert settings.db.dsn is None
    assert settings.data.base_dir == tmp_path
