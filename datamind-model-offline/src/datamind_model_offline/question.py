"""What a question asks for: its content words and the kind of thing that would answer it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from datamind.capabilities.text.offsets import normalize_nfkc
from datamind.capabilities.text.scripts import HAN
from datamind.capabilities.text.stopwords import stop_words
from datamind.capabilities.text.tokens import tokenize_for_index
from datamind_model_offline import lexicon
from datamind_model_offline.answer_types import AnswerType as Kind

_WORD: Final = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*(?:\+\+|#)?")
_HAN_RUN: Final = re.compile(f"[{HAN}]+")
_QUOTED: Final = re.compile(r"[\"“”「『《](.+?)[\"“”」』》]")

# Words of a question that say little about what it is about.
_ASKING: Final = frozenset(
    [
        "please",
        "tell",
        "know",
        "give",
        "say",
        "show",
        "mention",
        "mentioned",
        "name",
        "names",
        "called",
        "call",
        "kind",
        "kinds",
        "type",
        "types",
        "sort",
        "many",
        "much",
        "long",
        "often",
        "old",
        "far",
        "tall",
        "big",
        "exactly",
        "currently",
        "current",
        "now",
        "right",
        "today",
        "actually",
        "again",
        "used",
        "use",
        "does",
        "did",
        "do",
        "can",
        "could",
        "would",
        "should",
        "may",
        "might",
        "will",
        "shall",
        "must",
        "need",
        "get",
        "got",
        "have",
        "has",
        "had",
        "there",
        "any",
        "some",
        "thing",
        "things",
        "way",
        "i'm",
        "i",
        "me",
        "my",
        "we",
        "our",
        "us",
        "you",
        "your",
        "it",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "according",
        "list",
        "number",
        "amount",
        "also",
        "still",
        "usually",
        "normally",
    ]
)
# Verbs that an answer often replaces by another.
_VERBS: Final = frozenset(
    [
        "take",
        "takes",
        "taken",
        "took",
        "keep",
        "keeps",
        "kept",
        "hold",
        "holds",
        "held",
        "hand",
        "handed",
        "happen",
        "happens",
        "happened",
        "make",
        "makes",
        "made",
        "put",
        "go",
        "goes",
        "going",
        "come",
        "comes",
        "came",
        "find",
        "found",
        "bring",
        "brings",
        "serve",
        "serves",
        "leave",
        "leaves",
        "look",
        "looks",
        "run",
        "runs",
        "start",
        "starts",
        "begin",
        "begins",
        "end",
        "ends",
        "choose",
        "chose",
        "chosen",
        "decide",
        "decided",
        "pick",
        "picked",
        "reject",
        "rejected",
        "add",
        "added",
        "apply",
        "applies",
        "report",
        "mean",
        "means",
        "meant",
        "want",
        "wants",
        "wanted",
        "think",
        "let",
        "set",
        "sets",
        "become",
        "became",
        "belong",
        "belongs",
        "involve",
        "involves",
        "include",
        "includes",
        "describe",
        "described",
        "consider",
        "considered",
        "refer",
        "referred",
        "allow",
        "allowed",
        "able",
        "try",
        "cause",
        "caused",
        "receive",
        "received",
        "provide",
        "provided",
        "contain",
        "contains",
        "occur",
        "occurred",
        "exist",
        "live",
        "lives",
        "lived",
        "stay",
        "stays",
        "stayed",
        "work",
        "works",
        "worked",
        "worth",
        "own",
        "owns",
        "lead",
        "leads",
        "led",
        "like",
        "likes",
        "prefer",
        "approve",
        "approves",
        "approved",
        "send",
        "sends",
        "sent",
        "pay",
        "paid",
        "pays",
        "cost",
        "costs",
    ]
)
_HAN_ASKING: Final = re.compile(
    r"请问|請問|告诉我|告訴我|我想知道|是什么时候|什么时候|什麼時候|什么时间|何时|何時|几点钟?|幾點|哪[一]?[年天月日]|几[月号]|星期几|周几"
    r"|(?:是|有)?多少(?:公里|平方|小时|分钟|个月|美元|人(?!口)|[个名位次天年月元块种条项间层岁米克斤度台张本页节倍届期家]|)"
    r"|几(?:公里|平方|小时|分钟|个月|美元|[个名位次天年月日周元块人种条项间层楼岁米克斤度台张本页节门家倍届期])|多[久长大高远重快深宽]"
    r"|是谁|由谁|谁|哪[位个些种家里儿所座部支类项条方年天]|哪|什么样的|什么样|什么|什麼|甚麼|为什么|為什麼|为何|為何|怎么样|怎么|怎麼|怎样|怎樣|如何"
    r"|何[处地种人]|何|是否|是不是|有没有|能不能|可不可以|会不会|吗|嗎|呢|吧|么"
)
_HAN_LIGHT: Final = re.compile(
    r"[的了是在和与與或就也把被让讓给給对從从个個这那很都还還又其之于於及并並所而但者地得着过過等上中下里裡有为為以由可能会會我你他她它们們一]|可以|能够|需要|应该|目前|现在|一共|大约|主要|以及"
)

_EN_KINDS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"\bhow (?:often|frequently|regularly)\b|\bwhat frequency\b", Kind.FREQUENCY),
        (r"\bhow (?:much|expensive)\b(?=.*\b(?:cost|costs|pay|paid|charge|charged|price|worth|spend|spent|fee|rent|earn|salary|money|budget)\b)", Kind.MONEY),
        (r"\bhow long\b|\bwhat (?:is|was|are) the (?:duration|length|notice period|validity)\b|\bfor how many\b", Kind.DURATION),
        (r"\bhow (?:many|much|old|far|tall|high|deep|wide|big|large|heavy|fast|hot|cold|few|thick|strong|late|early)\b", Kind.NUMBER),
        (r"\b(?:e-?mail|mail) address\b|\b(?:what|which)\b.*\be-?mail\b", Kind.EMAIL),
        (r"\b(?:phone|telephone|mobile|cell|fax|hotline|extension|emergency)\b.*\bnumber\b|\bphone\b|\bwhat number\b.*\bcall\b|\bhotline\b|\bextension\b", Kind.PHONE),
        (r"\b(?:url|website|web address|web page|link)\b", Kind.LINK),
        (r"\b(?:what|which) colou?rs?\b|\bcolou?rs? (?:is|are|was|were|does|did|do)\b", Kind.COLOR),
        (
            r"\bwhen\b(?!\s+\w+ing\b)|\b(?:what|which)(?: \w+)? (?:year|date|day|days|month|weekday|time|hour|century|decade|season)s?\b|\buntil what\b|\bhow soon\b"
            r"|\b(?:what|which|when)(?:'s| is| are| was| were)\b.*\b(?:deadline|birthday|anniversary|due date|release date|opening hours|office hours|date of birth|departure time|start date|closing time)\b",
            Kind.TIME,
        ),
        (r"\bwho(?:m|se|'s)?\b|\b(?:what|which) (?:person|doctor|manager|colleague|employee|player|author|king|president|scientist|man|woman|teacher|engineer)\b", Kind.PERSON),
        (r"\bwhy\b|\bwhat (?:is|was|are|were)? ?(?:the )?(?:reason|cause)\b|\bfor what reason\b|\bwhat caused\b|\bhow come\b", Kind.REASON),
        (
            r"\bwhere\b|\b(?:what|which)(?: \w+)? (?:city|cities|country|countries|place|town|village|room|address|location|floor|street|state|building|continent|region|province)\b"
            r"|\bwhat(?:'s| is| was)\b.*\b(?:address|location|birthplace|hometown)\b",
            Kind.PLACE,
        ),
        (
            r"\b(?:what|which)(?:'s| is| was| are| were)?\b.*\b(?:price|cost|fee|salary|budget|rent|fare|deposit|fine)\b",
            Kind.MONEY,
        ),
        (
            r"\b(?:what|which)(?:'s| is| was| are| were)?\b.*\b(?:temperature|population|percentage|percent|proportion|age|height|weight|distance|speed"
            r"|port|limit|capacity|maximum|minimum|rate|quantity|total|score|dose|dosage|size|area|elevation|ratio|average|length|width|depth)\b",
            Kind.NUMBER,
        ),
        (r"\bhow (?:do|does|did|can|could|should|is|are|was|were|to|would|will)\b", Kind.METHOD),
    )
)  # fmt: skip
_ZH_KINDS: Final = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"多久.{0,4}一次|多[长久]时间.{0,4}一次|频率|几[天周月年小].{0,6}一次|隔多久", Kind.FREQUENCY),
        (r"多少钱|多少[元块费]|几[元块]|价格|售价|费用(?:是|为)?多少|(?:工资|薪水|月薪|年薪|租金|房租|押金|预算|票价|罚款|奖金|费|金额|成本)(?:是|为)?(?:多少|几)|什么价", Kind.MONEY),
        (r"多久|多[长長]时间|多[长長]時間|几[个]?(?:小时|分钟|天|周|月|年|星期)(?!前|份|[是在])|多少(?:天|小时|分钟|年|个月|周|日)|多[长長]", Kind.DURATION),
        (r"什么时候|什麼時候|什么时间|何时|何時|几点|幾點|哪[一]?[年天月日]|哪[一]?个月|几月|几号|星期几|周几|时间是|日期|哪[一]?个?(?:世纪|年代|朝代|时期|季节)|截止|生日|期限|什么年代|什么时期|何年|何月|何日", Kind.TIME),
        (r"邮箱|电子邮件|email", Kind.EMAIL),
        (r"电话|手机号|分机|热线|号码", Kind.PHONE),
        (r"网址|链接|官网", Kind.LINK),
        (r"什么颜色|何种颜色|颜色是|哪种颜色|哪些颜色", Kind.COLOR),
        (r"为什么|為什麼|为何|為何|什么原因|原因是|何故|怎么会|何以", Kind.REASON),
        (r"谁|誰|哪位|什么人|何人|哪个人|哪些人|哪[一]?[名任位]", Kind.PERSON),
        (r"哪里|哪裡|哪儿|在哪|什么地方|什麼地方|何处|何地|(?:哪|什么)[一]?[个座些种]?(?:城市|国家|地方|地区|省份|省|市|县|区|街|楼|房间|大学|学校|城|国|洲|岛|州)|地址|位置|住址|哪[省市国州县区层楼]", Kind.PLACE),
        (r"多少|几(?=[个名位次天年月日周小分元块人种条项间层楼岁米公千台张本页节门家倍点号届期座部所])|多[大高远重快深宽厚]|(?:人口|面积|温度|身高|体重|年龄|高度|长度|海拔|距离|速度|百分比|比例|剂量|端口|上限|下限|容量|数量|总数|第几)", Kind.NUMBER),
        (r"怎么|怎麼|怎样|怎樣|如何", Kind.METHOD),
    )
)  # fmt: skip

_HOW_MANY: Final = re.compile(r"\bhow (?:many|much)\s+((?:[\w-]+\s+){0,4}?[\w-]+)(?=\s+(?:do|does|did|are|is|was|were|can|could|have|has|had|will|would|should|must|may|of|in|on|per|at|to|for|from|make|made|make|there|the|a|i|we|you)\b|[?？]|\Z)", re.IGNORECASE)  # fmt: skip
# "Which painkiller is safe?" is answered by a name, seldom by the word itself.
_CATEGORY: Final = re.compile(
    r"\b(?:which|what)\s+((?:[\w-]+\s+)?[\w-]+)\s+(?:is|are|was|were|do|does|did|can|could|has|have|had|should|must|may|will|would|to|of|in)\b"
    r"|\b(?:which|what)\s+([\w-]+)", re.IGNORECASE
)  # fmt: skip
# "石磊的电话": what stands before the last 的 names whose telephone is meant.
_HAN_OWNER: Final = re.compile(r"([\u4e00-\u9fff]{2,8})的(?!是|时候|话)(?=[\u4e00-\u9fff])")
_HAN_UNIT: Final = re.compile(r"(?:多少|几|第几)\s*(?:个(?=[\u4e00-\u9fff]))?([\u4e00-\u9fff]{1,2})")


_SAYS_SOMETHING: Final = 0.5
_MAX_QUERY_CHARS: Final = 1_500
_LISTING: Final = re.compile(
    r"\b(?:what|which) (?:are|were|\w+(?: \w+)?s (?:do|does|did|are|were|can|should|must|have))\b|\b(?:list|all|steps|ingredients|items)\b"
    r"|哪些|有什么|什么材料|步骤|清单|列出|分别|用料|食材",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing the question names: a Latin word, or one character of a run of Chinese with its neighbours.

    Attributes:
        exact: Tokens of which one must stand in a text that names the same thing.
        related: Tokens of which one may stand for it; of Chinese, words.
        others: The same as words, for a wider search.
        weak: Tokens that hint at it: the single character, or the beginning of a long word.
        start: Where it stands in the question.
        weight: How much it matters before rarity is known.
        is_name: A proper name, a number or a quotation: a text about something else does not answer.
    """

    text: str
    exact: frozenset[str]
    related: frozenset[str] = frozenset()
    others: tuple[str, ...] = ()
    weak: str = ""
    weight: float = 1.0
    is_name: bool = False
    start: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """A question, taken apart.

    Attributes:
        kind: The kind of thing asked for.
        unit: Search token of what is counted ("days" of "how many days"), or empty.
        context: Terms of the turn before, which count less.
    """

    text: str
    language: str
    kind: Kind
    terms: tuple[Term, ...]
    unit: str = ""
    context: tuple[Term, ...] = ()

    @property
    def wants_list(self) -> bool:
        """Whether several items together answer it."""
        return self.kind is Kind.METHOD or _LISTING.search(self.text) is not None

    @property
    def subject(self) -> str:
        """What the question is about: its own words from the first that says something to the last."""
        places = [term.start for term in self.terms if term.weight >= _SAYS_SOMETHING]
        if not places:
            return ""
        last = max((term for term in self.terms if term.weight >= _SAYS_SOMETHING), key=lambda term: term.start)
        return self.text[min(places) : last.start + len(last.text)]

    @property
    def wide(self) -> str:
        """The question's words and those that may stand for them, for a search that misses less."""
        words = [self.text, *(word for term in (*self.terms, *self.context) for word in term.others)]
        return " ".join(dict.fromkeys([*words, *(term.text for term in self.context)]))[:_MAX_QUERY_CHARS]


def analyse(text: str) -> Question:
    """Take a question apart."""
    normal = normalize_nfkc(text).strip()
    language = "zh" if _HAN_RUN.search(normal) else "en"
    kind = _kind_of(normal, language)
    terms = tuple([*_latin_terms(normal, language), *_han_terms(normal)])
    return Question(normal, language, kind, terms, _unit_of(normal, language, kind))


def with_context(question: Question, earlier: Question) -> Question:
    """A follow-up, read with the question before it."""
    known = {key for term in question.terms for key in term.exact}
    context = tuple(replace(term, is_name=False) for term in earlier.terms if not term.exact & known)
    keeps_kind = question.kind is not Kind.ANY
    return replace(
        question,
        kind=question.kind if keeps_kind else earlier.kind,
        unit=question.unit if keeps_kind else earlier.unit,
        context=context,
    )


def _kind_of(text: str, language: str) -> Kind:
    kinds = _ZH_KINDS if language == "zh" else _EN_KINDS
    return next((kind for pattern, kind in kinds if pattern.search(text)), Kind.ANY)


def _unit_of(text: str, language: str, kind: Kind) -> str:
    if kind not in (Kind.NUMBER, Kind.DURATION, Kind.MONEY, Kind.TIME):
        return ""
    if language == "zh":
        found = _HAN_UNIT.search(text)
        return found[1][0] if found else ""
    found = _HOW_MANY.search(text)
    if not found:
        return ""
    tokens = tokenize_for_index(found[1])
    return tokens[-1] if tokens else ""


def _latin_terms(text: str, language: str) -> Iterator[Term]:
    quoted = [match.span(1) for match in _QUOTED.finditer(text)]
    categories = {
        found.start()
        for asked in _CATEGORY.finditer(text)
        for found in _WORD.finditer(text, *asked.span(asked.lastindex or 0))
    }
    for number, match in enumerate(_WORD.finditer(_HAN_RUN.sub(lambda run: " " * len(run[0]), text))):
        word = match[0]
        folded = word.casefold().replace("’", "'").removesuffix("'s")
        is_quoted = any(start <= match.start() < end for start, end in quoted)
        if not is_quoted and folded.replace("'", "") in stop_words("en") and word != "US":
            continue
        tokens = tokenize_for_index(word)
        if not tokens:
            continue
        is_number = any(char.isdigit() for char in word)
        is_name = is_number or is_quoted or (word[0].isupper() and number > 0) or (word.isupper() and len(word) > 1)
        is_light = folded in _ASKING and not (is_quoted or is_number)
        others = lexicon.english().get(tokens[0], ())
        related = frozenset(lexicon.token_of(other) for other in others)
        is_category = match.start() in categories
        weight = (
            0.4 if is_category else 0.3 if is_light else (1.6 if is_name else 0.6 if _is_verb_like(folded) else 1.0)
        )
        if language == "zh":
            weight *= 2.5
        yield Term(
            word,
            frozenset(tokens[:1]),
            related,
            others,
            folded[:5] if len(folded) > 6 else "",
            weight,
            is_name,
            match.start(),
        )


def _is_verb_like(folded: str) -> bool:
    return folded in _VERBS or (len(folded) > 5 and folded.endswith("ly"))


def _han_terms(text: str) -> Iterator[Term]:
    quoted = [match.span(1) for match in _QUOTED.finditer(text)]
    asking = {i for match in _HAN_ASKING.finditer(text) for i in range(*match.span())}
    owners = {i for match in _HAN_OWNER.finditer(text) for i in range(*match.span(1))}
    if owners & asking:
        owners = set()
    light = {i for match in _HAN_LIGHT.finditer(text) for i in range(*match.span())}
    for run in _HAN_RUN.finditer(text):
        words = _known_words(run[0], run.start())
        for i in range(*run.span()):
            is_quoted = any(start <= i < end for start, end in quoted)
            if i in asking and not is_quoted:
                continue
            left = text[i - 1 : i + 1] if i > run.start() and (i - 1 not in asking or is_quoted) else ""
            right = text[i : i + 2] if i + 1 < run.end() and (i + 1 not in asking or is_quoted) else ""
            exact = frozenset(pair for pair in (left, right) if pair) or frozenset([text[i]])
            is_light = i in light and not is_quoted
            yield Term(
                text[i],
                exact,
                frozenset(words.get(i, ())),
                words.get(i, ()),
                text[i],
                0.25 if is_light else 1.0,
                is_quoted or (i in owners and not is_light),
                i,
            )


def _known_words(run: str, offset: int) -> dict[int, tuple[str, ...]]:
    """Words that may stand for what each character of the run is part of."""
    table = lexicon.chinese()
    found: dict[int, tuple[str, ...]] = {}
    for size in (1, 2, 3, 4):
        for i in range(len(run) - size + 1):
            others = table.get(run[i : i + size])
            if others:
                found |= dict.fromkeys(range(offset + i, offset + i + size), others)
    return found
