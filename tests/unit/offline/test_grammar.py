"""The tables of forms: every example is read as its row says, and the page shows what the code holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from datamind_model_offline import replies
from datamind_model_offline.asked_facts import asked_fact
from datamind_model_offline.commands import COMMAND_FORMS, parse_command
from datamind_model_offline.grammar import QUESTION_FORMS, FormName, parse_question
from datamind_model_offline.grammar_page import grammar_page
from datamind_model_offline.question import MAX_QUESTION_CHARS, analyse
from datamind_model_offline.statement_forms import STATEMENT_FORMS
from datamind_model_offline.statements import parse_statement

ROOT = Path(__file__).resolve().parents[3]
LANGUAGES = ("en", "zh")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", QUESTION_FORMS, ids=lambda form: form.name)
def test_every_question_example_has_its_form(form, language):
    assert parse_question(form.examples[language], language).form is form.name


def test_there_are_at_most_twelve_forms_a_language():
    assert len(QUESTION_FORMS) == len(FormName) <= 12


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", COMMAND_FORMS, ids=lambda form: form.name)
def test_every_command_example_has_its_form(form, language):
    command = parse_command(form.examples[language], language)
    assert command is not None
    assert command.name is form.name


@pytest.mark.parametrize("form", STATEMENT_FORMS, ids=lambda form: form.example)
def test_every_statement_example_is_read_by_its_own_row(form):
    first = next(other for other in STATEMENT_FORMS if other.pattern.fullmatch(form.example))
    assert first is form
    assert parse_statement(form.example) is not None


def test_the_page_is_what_the_code_holds():
    page = ROOT / "docs" / "reference" / "offline-grammar.md"
    command = "python -m datamind_model_offline.grammar_page > docs/reference/offline-grammar.md"
    assert page.read_text(encoding="utf-8") == grammar_page(), f"run {command}"


@pytest.mark.parametrize(
    ("question", "form", "parts"),
    [
        ("What is 15% of 240?", FormName.ARITHMETIC, {"expression": "15% of 240"}),
        ("how much is 7 plus 5", FormName.ARITHMETIC, {"words": "7 plus 5"}),
        ("2^10", FormName.ARITHMETIC, {"expression": "2^10"}),
        ("What is 2031-02-03?", FormName.FACTOID, {}),
        ("Convert 72 degF to degC", FormName.CONVERSION, {"value": "72", "from": "degF", "to": "degC"}),
        ("How many seats are in Gdansk?", FormName.FACTOID, {}),
        ("What is the date today?", FormName.CLOCK, {}),
        ("What time does the pool open?", FormName.FACTOID, {}),
        ("What was my address in 2024?", FormName.HISTORY, {}),
        ("How many skills do you have?", FormName.COUNT, {"what": "skills"}),
        ("How many documents must I hand in?", FormName.FACTOID, {}),
        ("What do you know about me?", FormName.LISTING, {"topic": "me"}),
    ],
)
def test_english_questions(question, form, parts):
    parsed = parse_question(question, "en")
    assert (parsed.form, dict(parsed.parts)) == (form, parts)


@pytest.mark.parametrize(
    ("question", "form", "parts"),
    [
        ("25加37等于多少？", FormName.ARITHMETIC, {"words": "25加37"}),
        ("把5斤换算成公斤", FormName.CONVERSION, {"value": "5", "from": "斤", "to": "公斤"}),
        ("今天几号？", FormName.CLOCK, {}),
        ("我2024年住在哪里？", FormName.HISTORY, {}),
        ("你记得我什么？", FormName.LISTING, {"topic": "我"}),
        ("会员卡一年最多能停多少天？", FormName.FACTOID, {}),
    ],
)
def test_chinese_questions(question, form, parts):
    parsed = parse_question(question, "zh")
    assert (parsed.form, dict(parsed.parts)) == (form, parts)


@pytest.mark.parametrize(
    "text",
    [
        "Remove the seeds and chop the peppers. Fry them for ten minutes.",
        "Set the oven to 180 degrees.",
        "Change is good for a company to survive.",
        "Note: the museum is closed on Mondays.",
        "Delete key: removes the character behind the cursor.",
        "Forget the old recipe and begin again. Knead the dough for ten minutes.",
        "Change my mind, they said. Nobody could.",
    ],
)
def test_a_text_that_begins_like_a_command_is_none(text):
    assert parse_command(text, "en") is None


def test_of_a_long_question_only_the_beginning_is_read():
    assert len(analyse("pump " * 5_000).text) <= MAX_QUESTION_CHARS


def test_a_long_text_is_never_a_command_to_forget():
    assert parse_command("Forget " + "all that was said about the old gate " * 20, "en") is None


@pytest.mark.parametrize(
    ("sentence", "subject", "attribute", "value", "functional"),
    [
        ("We moved from Oslo to Bergen last week.", "user", "residence", "Bergen", True),
        ("Since May I work for the city archive.", "user", "employer", "the city archive", True),
        ("My boss is Lena.", "user", "manager", "Lena", True),
        ("My new phone number is 555 0142.", "user", "phone number", "555 0142", True),
        ("My sister is called Marit and she teaches physics.", "user", "sister", "Marit", False),
        ("My car is broken.", "user", "car", "broken", False),
        ("Our wedding anniversary is on 17 August.", "user", "wedding anniversary", "17 August", True),
        ("The deadline for the report is Friday.", "report", "deadline", "Friday", True),
        ("我换工作了，现在在启明做数据分析。", "user", "employer", "启明", True),
        ("上个月我搬到了徐汇。", "user", "residence", "徐汇", True),
        ("我女儿叫林小满，今年上小学。", "user", "女儿", "林小满", False),
        ("我的办公室在B座。", "user", "办公室", "B座", True),
    ],
)
def test_statements(sentence, subject, attribute, value, functional):
    fact = parse_statement(sentence)
    assert fact is not None
    assert (fact.subject, fact.attribute, fact.value, fact.functional) == (subject, attribute, value, functional)


@pytest.mark.parametrize(
    "sentence", ["The bins are collected on Tuesday.", "Is my car red?", "我的车在哪里？", "x" * 400]
)
def test_other_sentences_are_no_statements(sentence):
    assert parse_statement(sentence) is None


def test_both_languages_say_the_same_things():
    texts = replies._TEXTS
    assert set(texts["en"]) == set(texts["zh"])
    for key, text in texts["en"].items():
        assert sorted(re.findall(r"{\w+}", text)) == sorted(re.findall(r"{\w+}", texts["zh"][key])), key


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Where do I live?", ("user", "residence")),
        ("Where did we live before?", ("user", "residence")),
        ("What is our home address?", ("user", "residence")),
        ("Who was my manager before?", ("user", "manager")),
        ("What was my old locker number?", ("user", "locker number")),
        ("What shoe size do I have?", ("user", "shoe size")),
        ("Where do I work now?", ("user", "employer")),
        ("What is Heron's port?", ("Heron", "port")),
        ("What is the deadline for the report?", ("report", "deadline")),
        ("我现在住在哪里？", ("user", "residence")),
        ("我以前在哪里工作？", ("user", "employer")),
        ("我的车牌号是多少？", ("user", "车牌号")),
        ("我的办公室以前在哪里？", ("user", "办公室")),
        ("Where do we stay the first night?", None),
        ("How often is the pump checked?", None),
    ],
)
def test_the_fact_a_question_asks_for(question, fact):
    assert asked_fact(question) == fact
