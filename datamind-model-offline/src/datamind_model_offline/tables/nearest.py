"""What a table does hold, where a question asks for something that none of its columns is called."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Final

from datamind_model_offline.tables.linking import Mention, name_mentions, value_mentions
from datamind_model_offline.tables.plan import Asked, looked_up_cells
from datamind_model_offline.tables.reading import Reading, read
from datamind_model_offline.tables.relations import Relation
from datamind_model_offline.tables.schema import Table

_SHOWN: Final = 6
_SURELY: Final = 0.8
_WORDS: Final = 2


def nearest_columns(asked: Asked) -> tuple[str, str, list[str]] | None:
    """A word of the question that nothing is called, the table that is meant, and its columns, the nearest first."""
    tables = asked.tables
    cells = looked_up_cells(asked, tables) if tables else ()
    mentions = [*name_mentions(asked.text, tables), *value_mentions(asked.text, cells)]
    readings = [(table, read(asked.text, Relation((table,)), mentions)) for table in tables]
    meant = [(table, reading) for table, reading in readings if _is_meant(reading)]
    if not meant:
        return None
    table, reading = max(meant, key=lambda one: one[1].score)
    if not 0 < len(reading.unexplained) <= _WORDS:
        return None
    word = reading.unexplained[0]
    return word, table.name, _nearest(word, table)[:_SHOWN]


def _is_meant(reading: Reading) -> bool:
    def is_sure(one: Mention) -> bool:
        return one.score >= _SURELY

    return any(map(is_sure, reading.values)) or any(one.kind == "table" and is_sure(one) for one in reading.names)


def _nearest(word: str, table: Table) -> list[str]:
    names = [column.name for column in table.columns]
    return sorted(names, key=lambda name: -SequenceMatcher(None, word, name.lower()).ratio())
