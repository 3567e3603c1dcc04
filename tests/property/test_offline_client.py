"""Whatever is asked and whatever the tools return, a run ends, and it quotes nothing but what was found."""

from __future__ import annotations

import asyncio
import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from datamind_model_offline.passages import shown_text
from tests.unit.offline.world import READS, WRITES, failed, found, row, run

WORDS = [
    "who",
    "what",
    "when",
    "where",
    "how",
    "many",
    "much",
    "long",
    "is",
    "the",
    "office",
    "rent",
    "of",
    "Ada",
    "E17",
    "2031",
    "days",
    "euros",
    "opens",
    "closed",
    "at",
    "9",
    "my",
    "I",
    "before",
    "live",
    "in",
    "Oslo",
    "moved",
    "to",
    "Bergen",
    "[1]",
    "[2]",
    "|",
    "-",
    "#",
    "?",
    ".",
    ":",
    "because",
    "45",
    "谁",
    "什么时候",
    "多少",
    "天",
    "年假",
    "是",
    "员工",
    "的",
    "办公室",
    "在",
    "杭州",
    "以前",
    "我",
    "住",
    "。",
    "？",
    "，",
    "remember",
    "forget",
    "skill",
    "summarise",
    "记住",
    "忘记",
    "怎么",
    "报销",
    "审核",
    "沈月华",
    "600元",
    "\n",
    "\n\n",
]
TEXT = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join) | st.text(max_size=60)
CITED = re.compile(r"(.*?) \[(\d+)\](?:\n|\Z)", re.DOTALL)


def flat(text: str) -> str:
    return " ".join(shown_text(text).split())


@settings(max_examples=150)
@given(TEXT, st.lists(TEXT, max_size=5), st.lists(TEXT, max_size=3))
def test_an_answer_is_made_of_spans_of_what_it_cites(question, passages, memories):
    rows = [row(i, text) for i, text in enumerate(passages, 1)]
    remembered = [
        row(50 + i, text, "memory", note=f"fact; profile; since 203{i}-01-01") for i, text in enumerate(memories)
    ]
    contents = {item["cite"]: item["content"] for item in rows + remembered}
    answers = {"kb_search": found(*rows), "kb_get": found(*rows[:1]), "memory_recall": found(*remembered)}
    done = asyncio.run(run(question, answers, limit=8))
    for quote, cite in CITED.findall(done.text):
        content = flat(contents[int(cite)])
        assert all(part.strip("| ") in content for part in map(flat, quote.splitlines()))


@settings(max_examples=80)
@given(TEXT, st.sampled_from(["", "{}", "[]", "{", "null"]) | TEXT)
def test_a_reader_ends_and_calls_nothing_that_writes(question, content):
    done = asyncio.run(run(question, dict.fromkeys(READS, content), limit=8))
    assert done.text
    assert not set(done.names) & set(WRITES)
    assert all(isinstance(json.loads(call.arguments), dict) for call in done.calls)


@settings(max_examples=150)
@given(TEXT, st.sampled_from([failed("store_error", "no"), {"status": "failed"}, {"status": "nothing_written"}, {}]))
def test_b39_a_writer_ends_and_never_claims_what_did_not_happen(text, result):
    done = asyncio.run(run(text, dict.fromkeys(WRITES, result), tools=WRITES, limit=2))
    assert not re.search(r"^(?:Saved|Removed|Replaced|已)", done.text, re.MULTILINE)


@settings(max_examples=40)
@given(st.sampled_from([*"x 9-.,:的/(\n#|", "ab", "1 ", "- ", "do ", "在"]), st.integers(1_000, 20_000))
def test_long_runs_are_read_in_little_time(piece, size):
    """Patterns that look back and forth would take minutes here."""
    text = (piece * size)[:size]
    asyncio.run(run(text, {"kb_search": found(row(1, text))}, limit=8))
    asyncio.run(run(text, tools=WRITES, limit=2))
