"""Stems in C and in Python are the same, so that a store is searched alike wherever it was written."""

from __future__ import annotations

import importlib

import pytest
import Stemmer

from datamind.capabilities.text.stopwords import stop_words
from datamind.capabilities.text.tokens import _SNOWBALL

ROOTS = (
    "organi",
    "bewohn",
    "nation",
    "cantar",
    "läuf",
    "généra",
    "ørken",
    "kirjasto",
    "работа",
    "γραφ",
    "relat",
    "happ",
)
ENDINGS = (
    *("", "s", "es", "ed", "ing", "ization", "isation", "fulness", "ational", "ously", "ly", "ness", "y", "ies"),
    *("er", "ern", "ung", "ungen", "heit", "keit", "ement", "euse", "issait", "ación", "amente", "zione", "ção"),
    *("lijk", "heter", "erne", "issa", "ista", "kkal", "ului", "lardan", "ность", "ами", "ικός", "ων"),
)


@pytest.mark.parametrize("name", sorted(set(_SNOWBALL.values())))
def test_stems_do_not_depend_on_who_makes_them(name):
    in_python = getattr(importlib.import_module(f"snowballstemmer.{name}_stemmer"), f"{name.capitalize()}Stemmer")()
    in_c = Stemmer.Stemmer(name)
    words = {root + ending for root in ROOTS for ending in ENDINGS}
    words |= set().union(*(stop_words(language) for language in ("en", "de", "fr", "es", "it", "pt", "nl")))
    assert {word: in_c.stemWord(word) for word in words} == {word: in_python.stemWord(word) for word in words}
