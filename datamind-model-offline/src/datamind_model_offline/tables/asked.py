"""What comparisons and question words ask for, and what kinds of columns there are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from datamind_model_offline.tables import words
from datamind_model_offline.tables.linking import Mention
from datamind_model_offline.tables.reading import Reading
from datamind_model_offline.tables.schema import Column, name_words

ORDERS: Final = {
    "up": 1, "down": -1, "price_up": 1, "price_down": -1, "late": 1, "early": -1, "old": 1, "young": -1,
}  # fmt: skip
# What "where", "who" and the like ask for, in words of column names.
ASKED: Final = {
    "where": ("city", "location", "place", "address", "office", "country", "region", "site", "venue", "town", "城市", "地点", "地址", "位置", "所在地", "地区"),
    "who": ("manager", "owner", "author", "lead", "head", "leader", "person", "teacher", "name", "customer", "employee", "负责人", "经理", "作者", "老师", "姓名", "客户"),
    "price": ("price", "cost", "fee", "fare", "amount", "salary", "rent", "total", "pounds", "euros", "dollars", "yuan", "价格", "单价", "售价", "金额", "费用", "票价", "价"),
    "howold": ("age", "年龄"),
    "howlong": ("length", "duration", "hours", "minutes", "days", "时长", "长度", "天数", "小时"),
    "howbig": ("area", "size", "面积"),
    "howtall": ("height", "elevation", "高度", "身高", "海拔"),
    "howheavy": ("weight", "mass", "重量", "体重"),
    "howfar": ("distance", "距离", "里程"),
}  # fmt: skip
COMPARED: Final = {
    "long": ASKED["howlong"], "short": ASKED["howlong"], "tall": ASKED["howtall"], "heav": ASKED["howheavy"],
    "light": ASKED["howheavy"], "fast": ("speed",), "slow": ("speed",), "old": ("age",), "young": ("age",),
    "larg": ("area", "size", "population", "capacity"), "big": ("area", "size", "population", "capacity"),
    "small": ("area", "size", "population", "capacity"), "hot": ("temperature",), "cold": ("temperature",),
    "deep": ("depth",), "cheap": ASKED["price"], "more expensive": ASKED["price"], "less expensive": ASKED["price"], "best": ("rating", "score"), "worst": ("rating", "score"),
    "最长": ASKED["howlong"], "最短": ASKED["howlong"], "最重": ("重量", "体重"), "最轻": ("重量", "体重"),
    "最贵": ASKED["price"], "最便宜": ASKED["price"], "最高": ("高度", "身高", "海拔"), "最快": ("速度",),
    "最大": ("面积", "人口", "容量"), "最小": ("面积", "人口", "容量"), "最热": ("温度", "气温"), "最冷": ("温度", "气温"),
}  # fmt: skip


def is_compound(reading: Reading, free: Sequence[Mention]) -> bool:
    """Whether two columns stand side by side as one noun, "adoption fee", which is neither of them."""
    return any(
        reading.text.language == "en"
        and second.start - first.end == 1
        and reading.column(first) != reading.column(second)
        and min(first.score, second.score) < 1
        for first, second in pairwise(free)
    )


def is_mistaken(reading: Reading, name: Mention) -> bool:
    """Whether a word for an amount was linked, by a word like it, to a column of something else."""
    said = words.stem(reading.text.low[name.start : name.end])
    return name.score < 0.85 and words.is_money(said) and reading.column(name).kind != "number"


def is_of_people(column: Column) -> bool:
    """Whether its cells name people."""
    people = ("name", "employee", "person", "customer", "student", "patient", "player", "member", "doctor", "teacher")
    return bool({words.stem(one) for one in people} & set(name_words(column.name))) or "姓名" in column.name


def repeats(column: Column, reading: Reading) -> bool:
    """Whether several rows share its cells."""
    rows = reading.relation.tables[0].rows
    return len(reading.relation.tables) > 1 or 0 < column.distinct < rows


def is_birth(column: Column) -> bool:
    """Whether a later value of it means younger."""
    return column.kind == "date" or any(
        word in column.name.lower() for word in ("birth", "born", "year", "founded", "built", "出生", "年")
    )
