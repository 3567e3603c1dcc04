from __future__ import annotations

import pytest

from datamind.capabilities.text.language import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What did the committee decide?", "en"),
        ("委员会决定了什么？", "zh"),
        ("API网关的超时是多少", "zh"),
        ("用Python怎么sort一个list", "zh"),
        ("What does 北京 mean?", "en"),
        ("委員会は何を決めましたか", "ja"),
        ("カタカナ", "ja"),
        ("위원회는 무엇을 결정했습니까", "ko"),
        ("Was hat der Ausschuss beschlossen und warum?", "de"),
        ("Qu'est-ce que le comité a décidé dans cette réunion ?", "fr"),
        ("¿Qué decidió el comité en la reunión?", "es"),
        ("Che cosa ha deciso il comitato nella riunione?", "it"),
        ("O que o comité decidiu na reunião com os outros?", "pt"),
        ("Wat heeft de commissie op het einde besloten?", "nl"),
        ("Что решил комитет?", "ru"),
        ("Τι αποφάσισε η επιτροπή;", "el"),
        ("ماذا قررت اللجنة", "ar"),
        ("מה החליטה הוועדה", "he"),
        ("समिति ने क्या निर्णय लिया", "hi"),
        ("คณะกรรมการตัดสินใจอะไร", "th"),
        ("GPU 4090", "en"),
        ("12345", "en"),
        ("", "en"),
    ],
)
def test_the_language_of_a_question(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_a_quoted_kana_does_not_make_chinese_japanese() -> None:
    assert detect_language("这家店的名字里有一个の字，大家都觉得很有意思，所以记住了它。") == "zh"
