"""eval kb: the metrics, the layout of the folder, and the figures of a search through the gate."""

from __future__ import annotations

import json
import math

import pytest

from datamind.core.errors import InputInvalid, SourceUnreadable
from datamind_cli.evaluation.beir import read_beir
from datamind_cli.evaluation.metrics import estimate, ndcg, recall, reciprocal_rank

PASSAGES = [
    {"_id": "buoy", "title": "Buoys", "text": "Buoy 4 is red."},
    {"_id": "crane/2", "title": "", "text": "The crane lifts 40 tonnes."},
    {"_id": "灯塔", "text": "灯塔每晚六点亮灯。"},
]
QUERIES = [
    {"_id": "q1", "text": "Which colour is buoy 4?"},
    {"_id": "q2", "text": "灯塔几点亮灯?"},
    {"_id": "q3", "text": "Who walks the herons?"},
    {"_id": "of another split", "text": "What else?"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tbuoy\t2\nq1\tcrane/2\t0\nq2\t灯塔\t1\nq3\tcrane/2\t1\n"


@pytest.fixture
def beir(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    write_lines(folder / "corpus.jsonl", *PASSAGES)
    write_lines(folder / "queries.jsonl", *QUERIES)
    (folder / "qrels.tsv").write_text(QRELS, encoding="utf-8")
    return folder


def write_lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_ndcg_is_what_is_computed_by_hand():
    gains = {"a": 3, "b": 2, "c": 1}
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert ndcg(["a", "b", "c"], gains, 10) == 1
    assert ndcg(["x", "c", "a"], gains, 10) == pytest.approx((1 / math.log2(3) + 3 / 2) / ideal)
    assert ndcg(["x", "a"], gains, 1) == 0
    assert ndcg(["b"], gains, 1) == pytest.approx(2 / 3)
    assert ndcg([], gains, 10) == 0
    # One relevant passage in third place: 1 / log2(4).
    assert ndcg(["x", "y", "a"], {"a": 1}, 10) == pytest.approx(0.5)


def test_recall_and_reciprocal_rank_are_what_is_computed_by_hand():
    assert recall(["a", "x", "b"], {"a", "b", "c", "d"}, 2) == 0.25
    assert recall(["a", "x", "b"], {"a", "b", "c", "d"}, 3) == 0.5
    assert reciprocal_rank(["x", "y", "z", "a"], {"a", "b"}, 10) == 0.25
    assert reciprocal_rank(["x", "y", "z", "a"], {"a"}, 3) == 0


def test_an_interval_holds_its_mean_is_repeatable_and_shrinks_with_more_values():
    few, many = estimate([0.0, 1.0] * 10), estimate([0.0, 1.0] * 250)
    assert few == estimate([0.0, 1.0] * 10)
    assert few.mean == many.mean == 0.5
    # The normal approximation: 0.5 -+ 1.96 * 0.5 / sqrt(n).
    assert many.low == pytest.approx(0.456, abs=0.01)
    assert many.high == pytest.approx(0.544, abs=0.01)
    assert few.high - few.low > 3 * (many.high - many.low)
    assert estimate([1.0]) == (1, 1, 1)


def test_a_folder_is_read_with_either_place_of_the_judgements(beir):
    read = read_beir(beir)
    assert list(read.queries) == ["q1", "q2", "q3"]
    assert read.gains == {"q1": {"buoy": 2}, "q2": {"灯塔": 1}, "q3": {"crane/2": 1}}
    (beir / "qrels").mkdir()
    (beir / "qrels.tsv").rename(beir / "qrels" / "test.tsv")
    assert read_beir(beir) == read


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("corpus.jsonl", '{"_id": "a", "text": "x"}\nno\n', "corpus.jsonl, line 2 is not JSON"),
        ("corpus.jsonl", '{"id": "a", "text": "x"}\n', 'corpus.jsonl, line 1 is not an object with an "_id"'),
        ("corpus.jsonl", '{"_id": "a"}\n', 'corpus.jsonl, line 1: "text" is not a text'),
        ("corpus.jsonl", '{"_id": "a", "text": "x"}\n' * 2, "line 2: the id 'a' is there already"),
        ("queries.jsonl", '\n{"_id": "a", "text": 4}\n', 'queries.jsonl, line 2: "text" is not a text'),
        ("qrels.tsv", "q1\tbuoy\n", "qrels.tsv, line 1 is not query-id, corpus-id and a whole number"),
        ("qrels.tsv", "q1\tbuoy\tmuch\n", "qrels.tsv, line 1 is not query-id"),
        ("qrels.tsv", "q1\tbuoy\t1\nq9\tbuoy\t1\n", "qrels.tsv, line 2: 'q9' is not in queries.jsonl"),
        ("qrels.tsv", "q1\tb\t1\n", "qrels.tsv, line 1: 'b' is not in corpus.jsonl"),
        ("qrels.tsv", "q1\tbuoy\t0\n", "is relevant to a query"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said_with_its_line(beir, file, content, said):
    (beir / file).write_text(content, encoding="utf-8")
    with pytest.raises(InputInvalid) as caught:
        read_beir(beir)
    assert said in str(caught.value)


@pytest.mark.parametrize("file", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_file_that_is_missing_is_said(run, beir, file):
    (beir / file).unlink()
    with pytest.raises(SourceUnreadable, match=r"qrels\.tsv" if file == "qrels.tsv" else file):
        read_beir(beir)
    result = run("eval", "kb", str(beir))
    assert (result.exit_code, file in result.stderr) == (2, True)


@pytest.mark.usefixtures("scripted")
def test_figures_are_by_language_and_nothing_is_left_behind(run, run_json, beir, home):
    report = run_json("eval", "kb", str(beir), "--set", "retrieval.strategy=lexical", "--min-ndcg", "0.6")
    assert (report["passages"], report["strategy"], report["vectors"]) == (3, "lexical", "0 of 3")
    groups = report["groups"]
    assert {name: group["queries"] for name, group in groups.items()} == {"en": 2, "zh": 1, "all": 3}
    assert groups["zh"]["nDCG@10"] == {"mean": 1, "low": 1, "high": 1}
    assert groups["en"]["Recall@5"]["mean"] == 0.5
    assert groups["all"]["MRR@10"]["mean"] == pytest.approx(2 / 3)
    assert [item["found"][:1] for item in report["items"]] == [["buoy"], ["灯塔"], []]
    result = run("eval", "kb", str(beir), "--set", "retrieval.strategy=lexical", "--min-ndcg", "0.7")
    assert (result.exit_code, "nDCG@10 is below 0.7" in result.stderr) == (1, True)
    assert "1.000 [1.000, 1.000]" in result.stdout
    assert list(home.iterdir()) == []


@pytest.mark.usefixtures("scripted")
def test_vectors_are_made_before_the_first_search(run_json, beir):
    report = run_json("eval", "kb", str(beir), "--set", "embedding.provider=hashing")
    assert (report["strategy"], report["vectors"], report["problems"]) == ("hybrid", "3 of 3", [])
