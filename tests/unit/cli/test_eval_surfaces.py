"""eval memory and eval graph: files in their formats, and figures that follow from what is found."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.usefixtures("scripted")

TALK = [
    {"id": "D1:1", "speaker": "Li", "text": "I bought a green kettle.", "said_at": "2026-01-02"},
    {"id": "D1:2", "speaker": "Bo", "text": "My bicycle has a flat tyre."},
]
OTHER = [{"id": "D1:1", "speaker": "Mo", "text": "I bought a kettle too."}, {"id": "D1:2", "text": "It rained."}]
TURTLE = "@prefix : <https://example.org/> .\n:Anna :leads :Bakery .\n:Bakery :located_in :Oslo .\n:Bo :leads :Mill .\n"


@pytest.fixture
def lines(home):
    def write(*rows):
        path = home / "set.jsonl"
        path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
        return str(path)

    return write


def question(name, text, *evidence, **more):
    return {"id": name, "question": text, "evidence": list(evidence), **more}


def test_each_conversation_is_recalled_by_itself(run_json, lines):
    path = lines(
        {"conversation": TALK},
        question("a", "Who bought a kettle?", "D1:1", kind="who"),
        question("b", "What is wrong with the bicycle?", "D1:2", "D1:1"),
        {"conversation": OTHER},
        question("c", "Who bought a kettle?", "D1:1", kind="who"),
    )
    found = run_json("eval", "memory", path)
    assert found["stored"] == "4 turns of 2 conversations"
    assert {name: group["questions"] for name, group in found["groups"].items()} == {"who": 2, "all": 3}
    items = {(item["id"], item["group"]): item for item in found["items"]}
    assert items["a", "all"]["found"][0] == "D1:1"
    assert items["c", "all"]["MRR@10"] == 1.0
    assert items["b", "all"]["Recall@10"] in (0.5, 1.0)
    assert found["groups"]["all"]["MRR@10"]["low"] <= found["groups"]["all"]["MRR@10"]["mean"]


def test_the_figures_of_memory_are_shown_with_intervals(run, lines, home):
    path = lines({"conversation": TALK}, question("a", "Who bought a kettle?", "D1:1"))
    shown = run("eval", "memory", path)
    assert shown.exit_code == 0, shown.stderr
    assert "1.000 [1.000, 1.000]" in shown.stdout
    assert {entry.name for entry in home.iterdir()} == {"set.jsonl"}, "the profile's data is not touched"


def test_neighbours_and_entities_of_the_graph(run_json, run, lines, home):
    (home / "facts.ttl").write_text(TURTLE, encoding="utf-8")
    path = lines(
        {"ingest": ["facts.ttl"]},
        {"id": 1, "entity": "Bakery", "expected": ["Anna", "Oslo"]},
        {"id": 2, "entity": "Anna", "hops": 2, "expected": ["Bakery", "Oslo", "Nobody"]},
        {"id": 3, "entity": "Bakery", "relations": ["https://example.org/leads"], "expected": ["Anna", "Oslo"]},
        {"id": 4, "entity": "Nowhere", "expected": ["Anna"]},
        {"id": 5, "search": "Bakary", "expected": ["Bakery"]},
    )
    found = run_json("eval", "graph", path)
    assert found["stored"] == "3 statements"
    values = {item["id"]: (item.get("precision"), item.get("recall")) for item in found["items"]}
    assert values["1"] == (1.0, 1.0)
    assert values["2"] == (1.0, pytest.approx(2 / 3))
    assert values["3"] == (1.0, 0.5)
    assert values["4"] == (0.0, 0.0)
    assert found["groups"]["search"]["R@1"]["mean"] == 1.0
    shown = run("eval", "graph", path)
    assert "precision" in shown.stdout and "R@10" in shown.stdout


@pytest.mark.parametrize(
    ("area", "rows", "said"),
    [
        ("memory", [question("a", "x", "D1:1")], "line 1 is a question before any conversation"),
        ("memory", [{"conversation": TALK}], "has no question"),
        ("memory", [{"conversation": TALK}, question("a", "x", "D9:9")], "line 2: no turn has the id 'D9:9'"),
        ("memory", [{"conversation": [{"id": "1"}]}], "line 1: conversation.0.text"),
        ("memory", [{"conversation": TALK}, {"id": "a", "question": "x", "evidence": []}], "line 2: evidence"),
        ("graph", [{"ingest": ["x.ttl"]}], "has no question"),
        ("graph", [{"ingest": ["nowhere.ttl"]}, {"id": 1, "search": "x", "expected": ["y"]}], "does not exist"),
        ("graph", [{"ingest": ["set.jsonl"]}, {"id": 1, "expected": ["y"]}], 'either "entity" or "search"'),
        ("graph", [{"ingest": ["set.jsonl"]}, {"id": 1, "search": "x", "expected": ["y"], "hop": 2}], "line 2: hop"),
    ],
)
def test_a_line_of_another_form_is_told_by_its_number(run, lines, area, rows, said):
    refused = run("eval", area, lines(*rows))
    assert refused.exit_code != 0
    assert said in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
