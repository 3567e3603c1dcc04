"""Prints the page ``docs/reference/offline-grammar.md`` from the tables of the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from datamind_model_offline.commands import COMMAND_FORMS
from datamind_model_offline.grammar import QUESTION_FORMS
from datamind_model_offline.statement_forms import STATEMENT_FORMS
from datamind_model_offline.statements import parse_statement

_HEAD = """\
# Grammar of the offline model

The model client `offline` understands what fits one of these forms, in English and Chinese. Each table is tried from
the top, and the first form that fits counts. This page is written by `python -m datamind_model_offline.grammar_page`."""
_QUESTIONS = """\
## Questions

RetrieveAgent takes a question as one of twelve forms in each language. Every question has one: the last takes whatever
is left. Tables and the graph are asked behind memory and before the documents, and only where they hold something. A
form decides what is read; the words of the question, and words that may stand for them, decide what is quoted."""
_CONTENTS = (
    (
        "tables",
        "Which products cost more than 50?",
        "单价超过50的产品有哪些？",
        "`db_query_sql`, one `SELECT` over the tables and columns that are named; the cells, cited.",
    ),
    (
        "graph",
        "Where does the leader of Heron work?",
        "云杉的创始人毕业于哪里？",
        "`graph_neighbors`, or `graph_path` between two entities; the statements followed, each cited.",
    ),
)
_STRUCTURED = """\
## What tables and the graph understand

A question is put to the tables as one `SELECT`, and only when every word that says something is the name of a table or
column (or a word like it), a cell, a number, a time or a cue; otherwise the tables do not answer. Cues are words for

- counts, sums and averages (how many, total, average; `多少个`, `合计`, `平均`), also per, by and each (`每`, `各`);
- extremes with all that tie (highest, cheapest, latest; `最高`, `最便宜`) and the first few (top 3; `前三名`);
- amounts and times (more than 50, in March 2024, before May; `超过50`, `2024年3月`);
- what is not so (not paid, unpaid, except; `未付款`, `不在`, `除了`);
- whether something is so (is X paid, is X older than Y; `吗`), answered by yes or no and the cells that decide it;
- two things compared (which costs more, X or Y; `哪个更贵`), the one that has more of it first.

Two tables are joined where a column of one is the key of the other. In the graph, a question names an entity and one to
three relations, followed from the entity outwards; or two entities and how they are connected. A class of nodes says
what kind of thing is asked for ("which wines", `哪些门店`). Every statement on the way is cited."""
_COMMANDS = """\
## Commands

StoreAgent takes a message as a command when the whole message has one of these forms. "For this session" and "in all
projects" (`本次会话`, `所有项目`) choose the scope; without them it is the profile."""
_STATEMENTS = """\
## Statements

A remembered sentence of one of these forms gets a subject, an attribute and a value, and a short message that consists
of nothing else is remembered without a command. Where there is one value at a time, a later value ends the earlier one;
of sisters, friends, pets and the like there may be several, and a state ("my car is broken") ends nothing."""
_REST = """\
## Everything else

StoreAgent, in this order: a `SKILL.md` text or `skill: name` with a body becomes a skill; triples `(a, b, c)` go to the
graph; paths go to the surface of their ending, and the gate decides whether they may be read; any other text goes to
the knowledge base, or, where that is off, to memory. A question is not stored."""


def grammar_page() -> str:
    """The page as Markdown."""
    sections = [_HEAD, _QUESTIONS, _questions(), _STRUCTURED, _COMMANDS, _commands(), _STATEMENTS, _statements(), _REST]
    return "\n\n".join(sections) + "\n"


def _questions() -> str:
    rows = [(form.name.value, form.examples["en"], form.examples["zh"], form.reads) for form in QUESTION_FORMS]
    rows[-1:-1] = _CONTENTS
    return _table(("form", "English", "Chinese", "what is read"), rows)


def _commands() -> str:
    rows = [(form.name.value, form.examples["en"], form.examples["zh"], form.does) for form in COMMAND_FORMS]
    return _table(("command", "English", "Chinese", "what is written"), rows)


def _statements() -> str:
    return _table(("statement", "subject", "attribute", "value", "values at a time"), list(_statement_rows()))


def _statement_rows() -> Iterator[tuple[str, ...]]:
    for form in STATEMENT_FORMS:
        fact = parse_statement(form.example)
        assert fact is not None  # a test reads every example
        yield form.example, fact.subject, fact.attribute, fact.value, "one" if fact.functional else "several"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


if __name__ == "__main__":
    print(grammar_page(), end="")
