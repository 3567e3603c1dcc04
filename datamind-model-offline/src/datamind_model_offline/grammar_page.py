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

RetrieveAgent takes a question as one of twelve forms. Every question has one: the last two take whatever is left.
Tables and the graph are asked behind memory and before the documents, whatever the form, and only where they hold
something: see below. A form decides what else is read. The words of the question, and words that may stand for them, decide what is quoted."""
_STRUCTURED = """\
## Tables and the graph

A question is put to the tables as one `SELECT`, and only when every word that says something is the name of a table or
column (or a word like it), a cell, a number, a time or one of these cues; otherwise the tables do not answer.

| cue | English | Chinese | statement |
|---|---|---|---|
| one cell | What is the price of X? | X 的价格是多少？ | `SELECT column WHERE cell = X` |
| rows | Which products cost more than 50? | 单价超过50的产品有哪些？ | `SELECT label WHERE column > 50` |
| how many, total, average | Total amount in March 2024 | 2024年3月的金额合计 | `COUNT`, `SUM`, `AVG`, filters |
| per, by, each | Number of orders per region | 各地区的平均金额 | `GROUP BY` |
| highest, cheapest, latest | Which lamp is the cheapest? | 哪个产品的单价最高？ | `MIN`, `MAX` with all that tie |
| top 3 | Top 3 products by price | 单价最高的三个产品 | `ORDER BY … LIMIT 3` |

Two tables are joined where a column of one is the key of the other. In the graph, a question names an entity and one to
three relations, followed from the entity outwards ("Where does the leader of X work?", `X的创始人毕业于哪里？`); or two
entities and how they are connected. Every statement on the way is cited."""
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
