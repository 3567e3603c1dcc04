"""How questions ask: the words that only ask, and the kind of thing asked for."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from datamind.capabilities.text.tokens import tokenize_for_index
from datamind.core.lazy_pattern import lazy_pattern
from datamind_model_offline.answer_types import AnswerType as Kind

# They say little about what a question is about.
_ASKING_WORDS: Final = """
    please tell know give say show mention mentioned name names named called kind kinds type types sort many much
    exactly currently current now right today actually again use uses used does did do can could would should may might
    will shall must need needs get gets got have has had there any some thing things way it is are was were be been
    being according list also still usually normally me i'm per each via within without upon among across toward towards
    every one ones else us before previously formerly earlier originally previous former
"""
# Verbs that an answer often replaces by another.
_LOOSE_VERBS: Final = """
    take takes taken took keep keeps kept hold holds held hand handed happen happens happened make makes made put go
    goes going come comes came find found bring brings serve serves leave leaves look looks run runs start starts begin
    begins begin end ends choose chose chosen decide decided pick picked reject rejected add added apply applies report
    mean means meant want wants wanted think let set sets become became belong belongs involve involves include
    includes describe described consider considered refer referred allow allowed able try cause caused receive received
    provide provided contain contains occur occurred exist live lives lived stay stays stayed work works worked worth
    own owns lead leads led like likes prefer approve approves approved send sends sent pay paid pays cost costs write
    written wrote handle handles deal manage manages buy bought sell sold hear heard see seen teach teaches taught
    turn turns carry carries wear wears part place case order event way help helps
    new old main general overall whole own other another same different actual
"""
ASKING_WORDS: Final = frozenset(_ASKING_WORDS.split())
LOOSE_VERBS: Final = frozenset(_LOOSE_VERBS.split())

# What the form of the answer says by itself: "45 euros" needs no "price".
_SAID_BY_FORM: Final = {
    Kind.MONEY: "cost costs price pay paid fee charge expensive worth money much",
    Kind.NUMBER: "number amount quantity count total",
    Kind.TIME: "time date day year month hour take place",
    Kind.DURATION: "long last lasts take takes duration time period",
    Kind.FREQUENCY: "often frequently frequency",
    Kind.PERSON: "person name people",
    Kind.PLACE: "place location located situated city town country",
    Kind.AGE: "old age",
    Kind.YEAR: "year",
    Kind.CLOCK: "time",
    Kind.WEIGHT: "weigh weight weighs heavy",
    Kind.LENGTH: "far tall high deep wide thick height distance",
    Kind.PHONE: "phone telephone number call dial mobile reach",
    Kind.EMAIL: "email address mail",
    Kind.LINK: "website url link address site",
    Kind.COLOR: "color colour",
    Kind.NAME: "name names called",
    Kind.REASON: "reason cause",
}
_HAN_SAID_BY_FORM: Final = {
    Kind.MONEY: "价格|价钱|费用|多少钱|钱|花费|收费|交费|交|付|费",
    Kind.NUMBER: "数量|人数|总数|数",
    Kind.TIME: "时间|日期|时候|开始|哪天|最晚|最早",
    Kind.DURATION: "时间|时长|持续|期限|需要",
    Kind.FREQUENCY: "频率|间隔",
    Kind.PERSON: "名字|人",
    Kind.PLACE: "地方|地点",
    Kind.AGE: "年纪|年龄|岁数|多大",
    Kind.CLOCK: "时间|开始|开|关|最晚|最早",
    Kind.WEIGHT: "重量|体重",
    Kind.LENGTH: "身高|高度|距离|深度|宽度",
    Kind.PHONE: "电话|号码|手机",
    Kind.EMAIL: "邮箱|邮件",
    Kind.LINK: "网址|网站",
    Kind.COLOR: "颜色",
    Kind.NAME: "名字|叫|名称|姓名",
    Kind.REASON: "原因",
}
SAID_BY_FORM: Final = {kind: frozenset(words.split()) for kind, words in _SAID_BY_FORM.items()}
HAN_SAID_BY_FORM: Final = {kind: lazy_pattern(words) for kind, words in _HAN_SAID_BY_FORM.items()}

# "What does it cost", "can I borrow", "be renewed": an answer often has another verb.
VERB_SLOT: Final = lazy_pattern(
    r"\b(?:which|what)\s+[\w-]+\s+([a-z]+s)\b|"
    r"\bwho\s+(?:(?:has|had|have|will|can|could|may|must|should)\s+)?([a-z]+)\b|\b(?:i|you|we|they|he|she"
    r"|it|one|to)\s+(?:have\s+to\s+)?([a-z]+)\b"
    r"|\b(?:do|does|did)\s+(?!(?:i|you|we|they|he|she|it)\b)(?:[\w'-]+\s+)*?"
    r"(?!(?:the|an?|my|our|your|of|in|on|for|to|at|with|by|from)\s)[\w'-]+\s+([a-z]+)\s*[?？]?\s*\Z"
    r"|\b(?:be|been|is|are|was|were|get|gets)\b.*?\s([a-z]+(?:ed|en|wn|ght|pt|de))\b",
    re.IGNORECASE,
)

HOW_ADJECTIVE: Final = lazy_pattern(
    r"\bhow (?:long|often|old|far|tall|big|high|deep|wide|large|heavy|fast|hot|cold|thick|strong|late|early"
    r"|soon|expensive|bad|good|close|near)\b",
    re.IGNORECASE,
)

HAN_MEASURES: Final = (
    "个名位次天年月日周元块人种条项间层楼岁米克斤度台张本页节门家倍点号届期级分句只件杯片瓶把根双副顶辆座盒罐袋串"
)
"""Words between a number and what is counted."""

_UNITS: Final = f"公里|平方|小时|分钟|个月|美元|星期|[{HAN_MEASURES}]"
HAN_ASKING: Final = lazy_pattern(
    rf"请问|請問|告诉我|告訴我|我想知道|是什么时候|什么时候|什麼時候|什么时间|何时|何時|几点钟?|幾點"
    rf"|哪一?[年天月日]|几[月号]|星期几|周几"
    rf"|(?:是|有)?多少(?:{_UNITS})?(?!口)|(?:是|有)?多少|几(?:{_UNITS})|多[久长大高远重快深宽厚]|是谁|由谁"
    rf"|谁|哪[位个些种家里儿所座部支类项条方年天本只张件款样]|哪"
    r"|什么样的?|什么|什麼|甚麼|为什么|為什麼|为何|為何|怎么样|怎么|怎麼|怎样|怎樣|如何|何[处地种人]|何"
    r"|是否|是不是|有没有|能不能|可不可以|会不会"
    r"|以前|之前|从前|此前|曾经|当时"
    r"|吗|嗎|呢|吧|么"
)
HAN_LIGHT: Final = lazy_pattern(
    r"可以|能够|需要|应该|目前|现在|一共|总共|大约|主要|以及|意思|怎么办|名字|表示|代表"
    r"|[的了是在和与與或就也把被让讓给給对對从從个個这這那很都还還又其之于於及并並所而但者地得着过過等上中"
    r"下里裡有为為以由可能会會我你他她它们們一两要来去叫找]"
)

_AUX: Final = r"(?:is|are|was|were|do|does|did|will|can|could|should|must|has|have|had|may|might|shall|would|'s)"
_EN_KINDS: Final = (
    (Kind.FREQUENCY, r"\bhow (?:often|frequently|regularly)\b|\bwhat frequency\b|\bat what intervals?\b"),
    (
        Kind.MONEY,
        r"\bhow (?:much|expensive|high|large|big)\b(?=.*\b(?:cost|costs|pay|paid|charged?|price|worth|spend"
        r"|spent|fee|rent|earn|salary|money"
        r"|budget|deposit|fine|bill|fare|discount|grant|bonus|allowance|limit|tax)\b)|\bhow expensive\b|\bhow much (?:is|are"
        r"|was|were) (?!.*\b(?:of|percent)\b)",
    ),
    (
        Kind.DURATION,
        r"\bhow long\b|\bwhat (?:is|was|are) the (?:duration|length|notice period|validity)\b|\bfor how many\b"
        r"|\bhow many (?:minutes|hours|days|weeks|months|years|seconds|nights)\b",
    ),
    (Kind.AGE, r"\bhow old\b|\b(?:what|which) age\b|\bwhat (?:is|was)\b.*\bage\b"),
    (Kind.WEIGHT, r"\bhow heavy\b|\bhow much (?:do|does|did|can) .* weigh\b|\bwhat (?:is|was|are) .*\bweight\b"),
    (Kind.LENGTH, r"\bhow (?:far|tall|high|deep|wide|thick)\b|\bwhat (?:is|was) .*\b(?:distance|height|width|depth)\b"),
    (Kind.NUMBER, r"\bhow (?:many|much|big|large|fast|hot|cold|few|strong)\b"),
    (Kind.EMAIL, r"\b(?:e-?mail|mail) address\b|\b(?:what|which)\b.*\be-?mail\b"),
    (
        Kind.PHONE,
        r"\b(?:phone|telephone|mobile|cell|fax|hotline|extension|emergency)\b.*\bnumber\b|\bphone of\b"
        r"|\b(?:what|which)\b.*\b(?:phone|extension|hotline)\b|\b(?:what|which) number\b.*\b(?:call|dial|ring)\b",
    ),
    (Kind.LINK, r"\bwhat(?:'s| is) the (?:[\w ]+ )?(?:url|website|web address|link)\b|\burl\b|\bweb address\b"),
    (Kind.COLOR, r"\b(?:what|which) colou?rs?\b|\bcolou?rs? (?:is|are|was|were|does|did|do)\b"),
    (Kind.YEAR, r"\b(?:what|which) year\b"),
    (Kind.CLOCK, r"\b(?:what|which) time\b|\bat what (?:time|hour)\b|\bhow (?:late|early)\b"),
    (
        Kind.TIME,
        rf"\A(?:and |so |but )?when(?:\s*[?？]|\s+(?:exactly )?{_AUX}\b|'s)|\b(?:since|until|till|by"
        rf"|from) when\b|\bhow (?:soon|late|early)\b"
        r"|\b(?:what|which)(?: \w+)? (?:year|date|day|days|month|weekday|time|hour|century|decade"
        r"|season)s?\b|\buntil what\b"
        r"|\b(?:what|which|when)(?:'s| is| are| was| were)\b.*\b(?:deadline|birthday|anniversary|due date"
        r"|release date|opening hours|office hours"
        r"|date of birth|departure time|start date|closing time|core hours)\b",
    ),
    (
        Kind.PERSON,
        r"\bwho(?:m|se|'s)?\b|\b(?:what|which) (?:person|people|doctor|manager|colleague|employee|player"
        r"|author|king|president|scientist|man|woman"
        r"|teacher|engineer|nurse|artist|director)s?\b|\bwhat(?:'s| is| was) the name of\b.*\b(?:owner"
        r"|author|director|manager|nurse|doctor|teacher|wife|husband|person)\b",
    ),
    (
        Kind.NAME,
        r"\bwhat(?:'s| is| was| are)? (?:the |my |our |your )?(?:[\w' ]+ )?names?\b|\b(?:what|which) name\b"
        r"|\bwhat (?:is|was|are|do|does|did)\b.* called\b",
    ),
    (
        Kind.REASON,
        r"\bwhy\b|\bwhat (?:is|was|are|were)? ?(?:the )?(?:reason|cause)\b|\bfor what reason\b"
        r"|\bwhat caused\b|\bhow come\b",
    ),
    (
        Kind.PLACE,
        r"\bwhere\b|\b(?:what|which)(?: \w+)? (?:city|cities|country|countries|place|town|village|room"
        r"|address|location|floor|street|state"
        r"|building|continent|region|province)\b|\bwhat(?:'s| is| was)\b.*\b(?:address|location|birthplace"
        r"|hometown)\b",
    ),
    (
        Kind.MONEY,
        r"\b(?:what|which)(?:'s| is| was| are| were)?\b.*\b(?:price|cost|fee|salary|budget|rent|fare|deposit|fine)\b",
    ),
    (
        Kind.NUMBER,
        r"\b(?:what|which)(?:'s| is| was| are| were)?\b.*\b(?:temperature|population|percentage|percent"
        r"|proportion|age|height|weight|distance"
        r"|speed|port|limit|capacity|maximum|minimum|rate|quantity|total|score|dose|dosage|size|area"
        r"|elevation|ratio|average|length|width|depth)\b",
    ),
    (Kind.METHOD, r"\bhow (?:do|does|did|can|could|should|is|are|was|were|to|would|will)\b"),
)
_ZH_KINDS: Final = (
    (Kind.WEIGHT, r"多重|重量(?:是|为|有)|体重(?:是|为|有)"),
    (Kind.LENGTH, r"多[高远深宽厚]|(?:身高|高度|距离|深度|宽度)(?:是|为|有)"),
    (Kind.AGE, r"几岁|多少岁|多大年[纪龄]|多大岁数|多大了|今年多大|年龄是|年纪"),
    (Kind.FREQUENCY, r"多久.{0,4}一次|多[长久]时间.{0,4}一次|频率|几[天周月年小].{0,6}一次|隔多久|每隔"),
    (
        Kind.MONEY,
        r"多少钱|多少[元块费]|几[元块]|价格|售价|什么价"
        r"|(?:工资|薪水|月薪|年薪|租金|房租|押金|预算|票价|罚款|奖金|费用|费|金额|成本|补贴"
        r"|津贴)(?:标准)?(?:是|为|有)?(?:多少|几)",
    ),
    (
        Kind.DURATION,
        r"多久|多[长長]时间|多[长長]時間|几个?(?:小时|分钟|天|周|月|年|星期)(?!前|份|[是在])|多少(?:天|小时"
        r"|分钟|年|个月|周|日)|多[长長]",
    ),
    (Kind.YEAR, r"哪一?年|何年|几几年"),
    (Kind.CLOCK, r"几点|幾點"),
    (
        Kind.TIME,
        r"什么时候|什麼時候|什么时间|何时|何時|几点|幾點|哪一?[年天月日]|哪一?个月|几月|几号(?![房楼线门座桌室院])|星期几|周几"
        r"|时间是|日期|截止|生日|期限|什么年代"
        r"|哪一?个?(?:世纪|年代|朝代|时期|季节)|什么时期|何年|何月|何日",
    ),
    (Kind.METHOD, r"怎么(?!样的|会)|怎麼|怎样|怎樣|如何"),
    (Kind.EMAIL, r"邮箱|电子邮件|email"),
    (Kind.PHONE, r"电话|手机号|分机|热线"),
    (Kind.LINK, r"网址|链接|官网"),
    (Kind.COLOR, r"什么颜色|何种颜色|颜色是|哪种颜色|哪些颜色"),
    (Kind.NAME, r"叫什么|什么名字|名字是|名称是|叫做什么|何名"),
    (Kind.REASON, r"为什么|為什麼|为何|為何|什么原因|原因是|何故|怎么会|何以"),
    (Kind.PERSON, r"谁|誰|哪位|什么人|何人|哪个人|哪些人|哪一?[名任位]"),
    (
        Kind.PLACE,
        r"哪里|哪裡|哪儿|在哪|什么地方|什麼地方|何处|何地|地址|位置|住址|哪[省市国州县区层楼]"
        r"|(?:哪|什么)[一]?[个座些种]?(?:城市|国家|地方|地区|省份|省|市|县|区|街|楼|房间|大学|学校|城|国|洲|岛|州)",
    ),
    (
        Kind.NUMBER,
        rf"多少|几(?:{_UNITS})|多[大高远重快深宽厚]|第几"
        r"|(?:人口|面积|温度|身高|体重|年龄|高度|长度|海拔|距离|速度|百分比|比例|剂量|端口|上限|下限|容量"
        r"|数量|总数)(?:是|为|有)",
    ),
)
_KINDS: Final = {"en": _EN_KINDS, "zh": _ZH_KINDS}
_HOW_MANY: Final = lazy_pattern(
    rf"\bhow many\s+((?:[\w-]+\s+){{0,4}}?[\w-]+)"
    rf"(?=\s+(?:{_AUX}|of|in|on|per|at|to|for|from|make|made|there|the|a|i|we|you)\b|\s*[?？]|\s*\Z)",
    re.IGNORECASE,
)
HAN_CATEGORY: Final = lazy_pattern(
    r"(?:什么样的|什么|哪(?:个|种|家|些|本|款|类|所|门|座|条"
    r"|支)?)([\u4e00-\u9fff]{1,3}?)(?=[的是在由有要能可会？?，,]|\Z)"
)
_ANY_COUNT: Final = "个種种位次些钱号"
_HAN_UNIT: Final = lazy_pattern(r"(?:多少|几|第几)\s*(?:个(?=[\u4e00-\u9fff]))?([\u4e00-\u9fff]{1,2})")
_COUNTED: Final = frozenset({Kind.NUMBER, Kind.DURATION, Kind.MONEY, Kind.TIME})


def kind_asked(text: str, language: str) -> Kind:
    """The kind of thing a question asks for."""
    return next((kind for kind, pattern in _kinds(language) if pattern.search(text)), Kind.ANY)


@lru_cache(maxsize=2)
def _kinds(language: str) -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    # Compiled for the language that is spoken: a command starts sooner.
    return tuple((kind, lazy_pattern(pattern, re.IGNORECASE)) for kind, pattern in _KINDS[language])


def unit_asked(text: str, language: str, kind: Kind) -> str:
    """What is counted: the search token of "days" in "how many days", or a Chinese character; else empty."""
    if kind not in _COUNTED:
        return ""
    if language == "zh":
        found = _HAN_UNIT.search(text)
        return found[1][0] if found and found[1][0] not in _ANY_COUNT else ""
    found = _HOW_MANY.search(text)
    tokens = tokenize_for_index(found[1]) if found else []
    return tokens[-1] if tokens else ""
