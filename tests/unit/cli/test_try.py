"""try: questions made from one's own files, and only those that these files answer."""

from __future__ import annotations

import pytest

from datamind_cli.trying import _of_relation

GUIDE = (
    "# Harbour guide\n\nWelcome.\n\n## Opening hours\n\nThe harbour office is open from 7:00 to 18:00 on weekdays.\n\n"
    "## Mooring fees\n\nA night costs 24 euros for boats up to ten metres.\n\n"
    "## Spring tides\n\nSpring tides rise 4.2 metres above the chart datum.\n"
)
SALES = "product,region,amount\nLamp,North,120\nChair,South,45\nDesk,North,300\n"
HANDBOOK = (
    "# 员工手册\n\n## 报销流程\n\n报销单由部门经理审核，每月25日前提交。\n\n"
    "## 年假\n\n入职满一年的员工每年有十天年假。\n"
)
TURTLE = "@prefix : <https://example.org/> .\n:Anna :leads :Bakery .\n:Bakery :locatedIn :Oslo .\n"


@pytest.fixture
def files(home):
    folder = home / "files"
    folder.mkdir()

    def place(**named):
        for name, text in named.items():
            stem, _, ending = name.rpartition("_")
            (folder / f"{stem}.{ending}").write_text(text, encoding="utf-8")
        return "files"

    return place


def asked(result):
    return [line[2:] for line in result.stdout.splitlines() if line.startswith("? ")]


def test_a_folder_of_documents(run, files, home, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    result = run("try", files(guide_md=GUIDE))
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[0] == "1 document"
    assert asked(result) == ["What are opening hours?", "What are mooring fees?", "What are spring tides?"]
    assert "**The harbour office is open from 7:00 to 18:00 on weekdays.**" in result.stdout
    assert "## Mooring fees" in result.stdout, "the span stands in its context"
    assert "datamind ingest files" in result.stdout.splitlines()[-1]
    assert {path.name for path in home.iterdir()} == {"files"}, "nothing is left behind"


def test_a_folder_of_tables(run, files):
    result = run("try", files(sales_csv=SALES))
    assert result.exit_code == 0, result.stderr
    assert asked(result)[0] == "Which product has the highest amount?"
    assert "Desk" in result.stdout
    assert len(asked(result)) == 3


def test_a_chinese_folder(run, files):
    result = run("try", files(手册_md=HANDBOOK))
    assert result.exit_code == 0, result.stderr
    assert "报销流程是什么？" in asked(result)
    assert "部门经理审核" in result.stdout


def test_questions_are_of_every_kind_that_is_there(run_json, files):
    found = run_json("try", files(guide_md=GUIDE, sales_csv=SALES, facts_ttl=TURTLE))
    surfaces = [{item["surface"] for item in question["result"]["evidence"]} for question in found["questions"]]
    assert len(surfaces) == 3
    assert all(question["result"]["citations"] for question in found["questions"])
    assert {"kb", "db", "graph"} <= set().union(*surfaces)
    assert found["shown"]["span"]


def test_a_folder_with_nothing_in_it_is_said(run, files, home):
    files()
    result = run("try", "files")
    assert result.exit_code == 1
    assert result.stdout == "There is nothing in files that can be stored.\n"
    (home / "files" / ".hidden.md").write_text("x")
    assert run("try", "files").stdout == "There is nothing in files that can be stored; passed over: 1.\n"
    assert run("try", "nowhere").exit_code != 0


def test_what_gives_no_question_is_said(run, files):
    result = run("try", files(note_md="# ..\n\n..\n"))
    assert result.exit_code == 1
    assert "ask one: datamind ask" in result.stdout


def test_with_a_profile_it_is_kept(run, run_json, files):
    result = run("try", files(guide_md=GUIDE), "--profile", "harbour")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1] == 'Next: datamind ask "..." --profile harbour'
    assert run_json("kb", "status", "--profile", "harbour")["documents"] == 1


@pytest.mark.parametrize(
    ("relation", "question"),
    [
        ("leads", "What does Anna lead?"),
        ("located in", "What is Anna located in?"),
        ("works at", "What does Anna work at?"),
        ("has mother", "What is the mother of Anna?"),
        ("birth place", "What is the birth place of Anna?"),
        ("母亲", "Anna的母亲是什么？"),
    ],
)
def test_relations_make_questions(relation, question):
    assert list(_of_relation("Anna", relation)) == [question]


def test_a_type_makes_none():
    assert list(_of_relation("Anna", "type")) == []
