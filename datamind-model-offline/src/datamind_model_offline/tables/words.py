"""Words of tables that the lexicon of texts does not have: the same column in both languages, units, generic parts."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from datamind.capabilities.text.tokens import tokenize_for_index
from datamind_model_offline import lexicon

# English names of a column, then what Chinese calls it.
_BILINGUAL: Final = """
    price cost rate fee fare rent: 价格 单价 售价 价钱 费用 票价 租金
    amount total value sum: 金额 总额 数额
    sales revenue turnover: 销售额 营业额 收入 销量
    quantity qty units count number: 数量 件数 个数
    stock inventory: 库存 库存量
    city town: 城市 市
    region area district zone: 地区 区域 大区
    country nation: 国家 国
    province state: 省份 省 州
    location place site venue: 地点 位置 场地
    address: 地址 住址
    department dept division: 部门
    team group: 团队 小组 组
    name: 姓名 名称 名字
    title: 标题 书名 名称 职称 片名
    date day: 日期 日子 时间
    salary wage pay: 工资 薪水 月薪 薪资
    age: 年龄 岁数
    customer client buyer: 客户 顾客 买家
    product item article: 产品 商品 货品
    order: 订单
    employee staff worker: 员工 职工 雇员 人员
    supplier vendor: 供应商
    category type kind genre: 类别 类型 种类 分类
    status state: 状态
    phone telephone mobile: 电话 手机 联系电话
    email mail: 邮箱 电子邮件
    manager boss lead head: 经理 主管 负责人
    owner: 所有者 主人 负责人
    population: 人口
    year: 年份 年度
    month: 月份
    score grade mark points: 分数 成绩 得分
    rating stars: 评分
    student pupil: 学生
    teacher instructor: 老师 教师
    course class subject: 课程 科目
    author writer: 作者
    publisher: 出版社
    book: 书 图书 书籍
    weight: 重量 体重
    height: 高度 身高
    length: 长度
    capacity seats: 容量 座位数 座位
    start begin: 开始 起始
    end finish: 结束
    budget: 预算
    project: 项目
    gender sex: 性别
    position role job: 职位 岗位
    level rank: 级别 等级
    hours duration: 时长 小时数 工时
    warehouse depot: 仓库
    store shop branch: 门店 商店 店铺
    brand make: 品牌
    model: 型号
    color colour: 颜色
    material: 材质 材料
    species: 物种 品种
    room: 房间 教室
    floor: 楼层
    station: 站点 车站
    vehicle car: 车辆
    driver: 司机
    distance: 距离
    temperature: 温度 气温
"""
_ENGLISH: Final = """
    live reside based located location city town address place site
    hire hired joined join start employed entry
    born birth birthday
    remain left stock inventory available
    earn salary wage pay
    cost price
    sell sold sale sales
    weigh weight mass
    pages page
    lead manager head boss supervisor
    teach taught teacher instructor lecturer
    write wrote written author
    publish published publication publisher
    build built construction
    price cost fee fare
    qty quantity units
    dept department
    amount sum value
    area size surface
    due deadline
    visitors visits attendance
    occupation job profession role position
    release released
    found founded established
    phone telephone mobile
    duration length
    speed velocity
    seats capacity
    employees staff headcount employee
    region area
"""
UNITS: Final = frozenset(
    [
        "eur",
        "usd",
        "gbp",
        "cny",
        "rmb",
        "chf",
        "jpy",
        "euro",
        "euros",
        "dollars",
        "kg",
        "g",
        "mg",
        "t",
        "km",
        "m",
        "cm",
        "mm",
        "ha",
        "sqm",
        "m2",
        "m3",
        "l",
        "ml",
        "h",
        "hrs",
        "min",
        "mins",
        "minutes",
        "sec",
        "s",
        "kwh",
        "kw",
        "mw",
        "pct",
        "percent",
        "c",
        "f",
        "kmh",
        "mph",
        "nights",
        "days",
    ]
)
"""Ends of column names that only say in what is measured."""

GENERIC: Final = frozenset("name id no nr number code date at on by type time day key title label full".split())  # noqa: SIM905
"""Parts of column names beside which another word says what it is about."""

HAN_ENDS: Final = (
    "名称",
    "姓名",
    "状态",
    "编号",
    "日期",
    "时间",
    "代码",
    "名字",
    "号码",
    "名",
    "号",
    "年份",
    "数量",
    "数",
    "量",
    "额",
)
HAN_FRONTS: Final = ("所在", "所属", "目前", "当前", "主要")
ADDITIVE: Final = frozenset(
    [
        "amount",
        "sale",
        "sales",
        "revenue",
        "quantity",
        "qty",
        "unit",
        "units",
        "sold",
        "total",
        "cost",
        "profit",
        "expense",
        "income",
        "order",
        "spending",
        "visits",
        "visitors",
        "tickets",
        "passengers",
        "donation",
        "hours",
        "tonnes",
        "output",
        "production",
        "yield",
        "budget",
        "turnover",
        "count",
        "pounds",
        "euros",
        "dollars",
        "yuan",
    ]
)
"""Measures of which several rows make a sum; of others the largest row is meant."""

HAN_ADDITIVE: Final = (
    "金额",
    "销售",
    "销量",
    "数量",
    "收入",
    "利润",
    "成本",
    "人次",
    "产量",
    "支出",
    "费用",
    "额",
    "量",
)

EACH: Final = frozenset({"price", "rate", "per", "average", "avg", "mean", "percent", "wage", "salary", "age"})
"""Parts of names of measures that are said of one thing, so that rows make no sum."""

HAN_EACH: Final = ("单价", "均价", "价格", "平均", "比例", "率")
YES: Final = frozenset({"yes", "true", "y", "t", "1", "是", "有", "已"})
NO: Final = frozenset({"no", "false", "n", "f", "0", "否", "无", "未"})
"""Cells that answer a yes-or-no question by themselves."""

ADJECTIVES: Final = {
    "long": ("length", "duration", "hours", "minutes", "days"), "short": ("length", "duration", "hours", "minutes"),
    "tall": ("height", "elevation"), "high": ("height", "elevation"), "heav": ("weight", "mass"), "light": ("weight",),
    "fast": ("speed",), "slow": ("speed",), "old": ("age",), "young": ("age",), "larg": ("area", "size", "capacity"),
    "bigg": ("area", "size", "capacity"), "small": ("area", "size", "capacity"), "cheap": ("price", "cost", "fee"),
}  # fmt: skip
"""What a comparison is about when it does not say it."""

_MONEY: Final = """
    salary wage price cost fee amount revenue sale sales budget income pay earn rate charge fare rent
"""
_APART: Final = frozenset({"rate", "order", "place", "state", "paid", "pay"})


def is_money(word: str) -> bool:
    """Whether a stem asks for an amount, which a column of texts does not hold."""
    return word in {stem(one) for one in _MONEY.split()}


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """The form in which a Latin word is compared: its search token, or itself for a word that searches leave out."""
    tokens = tokenize_for_index(word)
    return tokens[0] if len(tokens) == 1 else word.casefold()


@lru_cache(maxsize=1)
def _bilingual() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    to_han: dict[str, set[str]] = {}
    to_latin: dict[str, set[str]] = {}
    for line in filter(None, map(str.strip, _BILINGUAL.splitlines())):
        latin, _, han = line.partition(":")
        for word in latin.split():
            to_han.setdefault(stem(word), set()).update(han.split())
        for word in han.split():
            to_latin.setdefault(word, set()).update(map(stem, latin.split()))
    return to_han, to_latin


@lru_cache(maxsize=1)
def _groups() -> dict[str, set[str]]:
    groups: dict[str, set[str]] = {}
    for line in filter(None, map(str.strip, _ENGLISH.splitlines())):
        words = set(map(stem, line.split()))
        for word in words:
            groups.setdefault(word, set()).update(words - {word})
    return groups


@lru_cache(maxsize=4096)
def like(token: str) -> frozenset[str]:
    """Stems that may stand for a stem."""
    wide = () if token in _APART else lexicon.english(token)
    return frozenset({*map(stem, wide), *_groups().get(token, ())} - {token, "rate"})


def in_han(token: str) -> frozenset[str]:
    """What Chinese calls an English column word, given as its stem."""
    return frozenset(_bilingual()[0].get(token, ()))


def han_like(word: str) -> frozenset[str]:
    """Chinese words that may stand for a Chinese word."""
    latin = _bilingual()[1].get(word, ())
    same = {other for token in latin for other in _bilingual()[0][token]}
    return frozenset({*lexicon.chinese().get(word, ()), *same} - {word})


# A table of deeds is asked for by its verb too: "What did Ann book?", "How many crates were delivered?"
VERBS: Final = {
    stem(noun): stem(verb)
    for noun, verb in (
        ("delivery", "deliver"), ("payment", "pay"), ("sale", "sell"), ("shipment", "ship"), ("donation", "donate"),
        ("registration", "register"), ("reservation", "reserve"), ("subscription", "subscribe"), ("loan", "lend"),
        ("rental", "rent"), ("booking", "book"), ("enrolment", "enrol"), ("enrollment", "enroll"),
        ("inspection", "inspect"), ("installation", "install"), ("application", "apply"), ("repair", "repair"),
    )
}  # fmt: skip
