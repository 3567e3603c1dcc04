"""What is asked of the row that another row points to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from datamind_model_offline.tables.asked import ASKED, ORDERS
from datamind_model_offline.tables.conditions import is_unique
from datamind_model_offline.tables.linking import Mention
from datamind_model_offline.tables.query import Query
from datamind_model_offline.tables.reading import Reading
from datamind_model_offline.tables.references import Reference, is_followed, reference_of


def followed_reference(reading: Reading, free: Sequence[Mention]) -> Reference | None:
    """The reference to another row of the table that the question goes through."""
    for name in free:
        table = reading.relation.table(name.table)
        found = reference_of(table, reading.column(name))
        is_number = found is not None and found.column.is_key
        if found is not None and (is_followed(reading, name, free) or (is_number and _asks_who(reading, name))):
            return found
    return None


def _asks_who(reading: Reading, name: Mention) -> bool:
    """Whether the row is meant, and not the number that stands for it."""
    said = reading.text.low[name.start : name.end + 4]
    return re.search(r"\bids?\b|\bnumber|编号|号", said) is None


def of_the_other(reading: Reading, free: Sequence[Mention], through: Reference, base: Query) -> Query | None:
    """The cells of the row that one named row points to; anything else that goes through a reference is not said."""
    places = [name for name in free if reading.column(name) == through.column]
    singled = len(base.filters) == 1 and len(base.filters[0].values) == 1 and is_unique(reading, base.filters[0].column)
    others = [one for one in dict.fromkeys(reading.column(name) for name in free) if one != through.column]
    asks_more = reading.cue("more", "fewer", "yes_no", "average", "sum", "count", "top", "group", *ORDERS) is not None
    asks_more = asks_more or (not others and reading.cue("when", *ASKED) not in (None, reading.cue("who")))
    if not singled or base.filters[0].is_negated or len(places) != 1 or asks_more or len(reading.relation.tables) > 1:
        return None
    if len(others) > 1 or base.filters[0].column == through.column:
        return None
    label = reading.relation.tables[0].label()
    shown = tuple(one for one in others if one != label)
    return replace(base, shown=shown or (label,), label=label if shown else None, through=through)
