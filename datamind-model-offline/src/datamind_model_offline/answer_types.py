"""What kind of thing a question asks for, and how that kind looks in text."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final


class AnswerType(StrEnum):
    """The kind of thing asked for."""

    NUMBER = "number"
    MONEY = "money"
    TIME = "time"
    DURATION = "duration"
    FREQUENCY = "frequency"
    PERSON = "person"
    PLACE = "place"
    REASON = "reason"
    METHOD = "method"
    PHONE = "phone"
    EMAIL = "email"
    LINK = "link"
    COLOR = "color"
    NAME = "name"
    AGE = "age"
    ANY = "any"


FIRM: Final = frozenset(
    {
        AnswerType.NUMBER,
        AnswerType.MONEY,
        AnswerType.TIME,
        AnswerType.DURATION,
        AnswerType.FREQUENCY,
        AnswerType.PHONE,
        AnswerType.EMAIL,
        AnswerType.LINK,
        AnswerType.COLOR,
        AnswerType.PERSON,
        AnswerType.PLACE,
        AnswerType.NAME,
        AnswerType.AGE,
    }
)
"""Kinds that can be told by their form: text without one does not answer."""

_WORD_NUMBER: Final = (
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion"
    r"|dozen|half|once|twice|both|single|couple|no|none|zero|first|second|third|fourth|fifth|several|few|pair"
)
_HAN_NUMBER: Final = r"[零〇一二两三四五六七八九十百千万亿半几数双]+"
_MEASURE: Final = (
    r"[个個名位次天年月日周週小时時分秒元块塊万亿人种種条條项項间間层層楼樓岁歲度米厘公千克斤杯勺片颗件套台辆本页章节"
    r"步支组張张座所家倍成半点點号號届期级級枚只隻口遍股部架艘顿頓站排打盒瓶袋包份轮门首篇句段字集季票克毫升里平]"
)
_MONTH: Final = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?"
)
_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|tue|wed|thu|fri|sat|sun)(?=\W)"
_PERIOD: Final = (
    r"(?:second|minute|hour|day|night|week|fortnight|month|quarter|season|semester|year|decade|centur(?:y|ie))s?"
)
_HAN_PERIOD: Final = (
    r"(?:秒|分钟|分鐘|小时|小時|个小时|天|日|晚|周|週|星期|个星期|礼拜|个月|個月|月|季度|学期|年|年代|世纪|世紀)"
)
_CURRENCY: Final = (
    r"[$€£¥￥]|\b(?:usd|eur|gbp|cny|rmb|jpy|chf|nok|sek|dkk|kr|dollars?|euros?|pounds?|cents?|yuan|yen"
    r"|kroner|kronor|rupees?"
    r"|francs?|pence|penny|kronor?|rub|zloty|won|baht|pesos?)\b|元|块钱|人民币|美金|欧|万|免费|\bfree\b"
)

_HAN_SURNAMES: Final = (
    "王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮于董萧蕭程曹袁邓鄧许許傅沈曾"
    "彭吕呂苏蘇卢盧蒋蔣蔡贾賈丁魏薛叶葉阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙龍万"
    "段雷钱汤尹黎易常武乔贺赖龚文欧司纪舒屈项祝阮蓝闵席季童颜梅盛刁骆樊凌霍虞柯莫房裘缪宗宣郁单杭洪诸左吉邢裴荣翁荀"
    "甄曲封芮靳焦巴牧车仲伊宫宁仇栾甘厉祖符景詹束幸韶蔺屠蒙池阴胥闻党翟贡劳姬申冉雍桑桂牛寿边燕尚农温庄晏柴瞿慕茹习"
    "艾容古戈庾衡耿匡寇阙聂晁敖冷辛阚那简饶沙鞠丰巢查荆游权盖葛穆卓苗韦成井路娄解岳齐凤花柳鲍水窦章云奚鲁昌"
)
_DURATION: Final = (
        rf"(?:\d|\b(?:{_WORD_NUMBER}|a|an)\b)[\d.,\s–-]*(?:(?:and|to|or|a|half|business|working|calendar"
            rf"|full|-)[\s-]*)*{_PERIOD}\b|\d\s*(?:min|hrs?|h|mins|secs?|s|ms|m|km|cm|mm|ft|feet|miles?"
            rf"|met(?:er|re)s?|kilomet(?:er|re)s?|inch(?:es)?|yards?|pages?)\b"
        rf"|\b(?:overnight|forever|permanent(?:ly)?|indefinitely|since|until|lifelong)\b|(?:\d"
            rf"|{_HAN_NUMBER})[\d.,～~至到-]*\s*多?(?:个)?(?:半)?{_HAN_PERIOD}|(?:\d|{_HAN_NUMBER})\s*(?:公里"
            rf"|千米|米|厘米|毫米|里|丈|尺|寸|页|集)|[一半]年|永久|长期|终身|到|从"
    )  # fmt: skip

_HAN_NAME: Final = rf"[{_HAN_SURNAMES}][\u4e00-\u9fff]{{1,2}}"
_NAME_BEFORE: Final = r"(?<=[是由为叫：:、，,。；;和与及跟找给人理任师长员生友名请\s（(])|\A"
_NAME_AFTER: Final = (
    r"\Z|[，,。、；;：:（()和与及的\s]|负责|担任|主持|先生|女士|老师|医生|师傅|签|提交|带|授课|承担|管|导"
    r"|审|保管|说|在|等|联系"
)

_FORMS: Final = {
    AnswerType.NUMBER:
        rf"\d|\b(?:{_WORD_NUMBER})\b|{_HAN_NUMBER}{_MEASURE}|第{_HAN_NUMBER}"
        rf"|[一二两三四五六七八九十百千万]{{2,}}|唯一|单[个一]",
    AnswerType.DURATION: rf"{_DURATION}|\d|{_HAN_NUMBER}{_MEASURE}",
    AnswerType.MONEY:
        rf"{_CURRENCY}|\d[\d.,]*(?!\d|[.,]\d|[:./-]\d|\s*(?:{_MONTH}|{_PERIOD}|%|percent|people|[ap]m"
        rf"|[年月日号点时天])\b)",
    AnswerType.TIME: (
        rf"\b\d{{1,2}}[:.]\d{{2}}\b|\b\d{{1,2}}\s*[ap]\.?m\b|\b[12]\d{{3}}s?\b|\b(?:{_MONTH})\b"
            rf"|\b(?:{_DAY})|\d{{1,2}}(?:st|nd|rd|th)\b"
        rf"|\b(?:noon|midnight|midday|morning|afternoon|evening|night|tonight|today|tomorrow|yesterday"
            rf"|weekends?|weekdays?"
        rf"|spring|summer|autumn|winter|christmas|easter|dawn|dusk|sunrise|sunset|daily|weekly|monthly"
            rf"|annually|o'clock)\b"
        rf"|\b(?:{_WORD_NUMBER}|\d+|next|last|every|each|this|per|a|an|following|previous|early|late"
            rf"|mid)[\s-]+(?:\w+[\s-]+)?{_PERIOD}\b"
        r"|\b(?:at|from|until|till|by|between|before|after)\s+\d{1,2}\b(?!\s*(?:%|percent|euros?|pounds?|dollars?|kg|km|°))"
        r"|\b(?:before|after|once|as soon as|when|until|while|during|immediately|at once|at the end"
            r"|at the beginning)\b"
        rf"|\d[\d,]*\s*(?:years?\s+ago|bce?|ad|ce)\b|\d+\s*{_HAN_PERIOD}|[12]\d{{3}}"
            rf"|{_HAN_NUMBER}{_HAN_PERIOD}|\d+\s*[号日点點时時]|{_HAN_NUMBER}[号日点點时時]"
        r"|(?:周|週|星期|礼拜)[一二三四五六日天末]|早上|上午|中午|下午|傍晚|晚上|晚间|凌晨|夜|清晨|春|夏|秋"
            r"|冬|每[天日周月年晚早]"
        r"|世纪|年代|时期|时代|初|末|期间|[前后後]|今[天年日]|明[天年日]|昨[天日]|去年|工作日|节假?日?|朝"
    ),
    AnswerType.FREQUENCY: (
        rf"\b(?:every|each|per|once|twice|thrice|daily|hourly|nightly|weekly|biweekly|fortnightly|monthly"
            rf"|quarterly|yearly|annual(?:ly)?|times|always|never|usually|rarely|sometimes|regularly|{_DAY})\b"
        r"|\ba\s+(?:day|week|month|year)\b|每|一次|两次|\d次|[一二两三四五六七八九十]次|[天日周月年]次|经常|从不|定期"
    ),
    AnswerType.PHONE: r"\+?\d[\d\s()./-]{4,}\d|\b(?:ext\.?|extension|分机|x)\s*\d{2,5}|\b\d{3,}\b",
    AnswerType.EMAIL: r"[\w.+-]+@[\w-]+\.[\w.-]+",
    AnswerType.LINK: r"https?://\S+|\bwww\.\S+|\b[\w-]+\.(?:com|org|net|io|cn|dev|example|local|internal|edu|gov)\b",
    AnswerType.COLOR: (
        r"\b(?:red|blue|green|yellow|black|white|gr[ae]y|brown|orange|purple|violet|pink|gold(?:en)?|silver"
            r"|beige|teal|navy|turquoise"
        r"|maroon|cream|crimson|olive|dark|light|colou?rs?)\b|[红蓝绿黄黑白灰棕橙紫粉金银褐青]色?|色"
    ),
    AnswerType.PERSON: (
        rf"(?:{_NAME_BEFORE}){_HAN_NAME}|{_HAN_NAME}(?={_NAME_AFTER})|[\u4e00-\u9fff]+·[\u4e00-\u9fff]+"
            rf"|[小老阿][{_HAN_SURNAMES}]"
        r"|经理|主任|医生|老师|教授|总监|主管|先生|女士|妈|爸|哥|姐|弟|妹|妻|丈夫|朋友|导演|皇帝|[帝王公侯]"
            r"|总统|将军|博士|工程师|团队|公司"
        r"|婆|爷爷|奶奶|舅|叔|姨|姑|邻居|同学|同事|学生|孩子|负责人|承租人|出租人|家长|财务部|人事部|房东|业主"
        r"|者|人员|人士|儿童|老人|会员|居民|顾客|游客"
        r"|\b(?:manager|owner|author|teacher|lecturer|professor|doctor|nurse|player|driver|director|editor"
            r"|landlord|tenant|parent|child|children"
        r"|student|pupil|member|neighbou?r|guest|host|visitor|customer|client|supplier|employee|joiner"
            r"|staff|team|volunteer|officer|engineer"
        r"|designer|developer|maintainer|user|people|person|everyone|everybody|anyone|nobody|someone|man"
            r"|woman|boy|girl|adult|senior|mother"
        r"|father|sister|brother|aunt|uncle|grand\w+|wife|husband|friend|boss|company|committee|group|i|we"
            r"|you|he|she|they)s?\b"
    ),
    AnswerType.AGE: (
        r"\b\d{1,3}[- ]years?\b|\byears?\b|\baged?\b|\bborn\b|\b[12]\d{3}\b|[(,]\s?\d{1,3}[),]|岁|出生|生于"
            r"|[12]\d{3}年"
    ),
    AnswerType.NAME: (
        r"\b(?:called|named|names?|nicknamed|titled|known as)\b\W+\w+|[“\"「『《]|(?:叫|名|称|为|是"
            r"|[:：])[^\s什么]{1,3}"
        r"|(?-i:\b[A-Z][a-z]\w*)"
    ),
    AnswerType.REASON: (
        r"\b(?:because|since|due to|owing to|so that|in order to|as a result|therefore|thus|to avoid"
            r"|to prevent|to keep|to protect|to reduce"
        r"|to save|to allow|to make|caused|reason|otherwise|so)\b|因为|因|由于|由於|为了|為了|以便|以免"
            r"|所以|原因|导致|導致|使得|以防|避免|故|否则|便于|为"
    ),
    AnswerType.METHOD: (
        r"\b(?:by|using|use|with|via|through|first|then|call|click|run|send|go to|open|press|ask|fill|contact)\b"
        r"|通过|通過|使用|利用|方法|方式|先|然后|用|按|打开|点击|拨打|联系|提交|以"
    ),
    AnswerType.PLACE: (
        r"\b(?:in|at|on|near|to|from|behind|under|beside|next to|opposite|inside|outside|between|above"
            r"|below|around|across|via)\b\s+\S"
        r"|市|省|县|縣|区|區|国|國|州|镇|村|路|街|楼|室|层|库|站|馆|店|厅|院|岛|山|河|湖|海|洲|地|港|旁"
            r"|附近|北|南|东|西|(?:在|位于|位於|到|至|去|于|从)[^\s哪什，。？?]{2}|\b(?-i:[A-Z][a-z]\w+)"
    ),
}  # fmt: skip


@lru_cache(maxsize=32)
def form_of(kind: AnswerType) -> re.Pattern[str]:
    """How things of this kind look in text."""
    return re.compile(_FORMS[kind], re.IGNORECASE)


_CLEAR: dict[AnswerType, str] = {
    AnswerType.NAME: r"called|named|name|titled|known|叫|名|称|[“\"「『《]|[:：]",
    AnswerType.PERSON: rf"\A{_HAN_NAME}\Z|·|[小老阿][{_HAN_SURNAMES}]",
    AnswerType.MONEY: _CURRENCY,
    AnswerType.DURATION: _DURATION,
    AnswerType.TIME: (
        rf"\d{{1,2}}[:.]\d{{2}}|\d\s*[ap]\.?m|[12]\d{{3}}|^(?:{_MONTH})$|^(?:{_DAY})$|\d(?:st|nd|rd|th)\b"
        rf"|noon|midnight|morning|evening"
        r"|spring|summer|autumn|winter|weekend|\d+\s*[月日号点點时時年]|(?:周|週|星期"
        r"|礼拜)[一二三四五六日天末]|[一二三四五六七八九十]+[月日号点點]|世纪|朝|每"
    ),
}
# "in the morning" is no place.
_CLEAR[AnswerType.PLACE] = (
    r"(?-i:(?:in|at|on|near|to|from|behind|under|beside|opposite|inside|above|below|via)\s+(?:the\s+)?[A-Za-z])"
    r"|在|位于|市|省|县|区|国|路|街|楼|室|层|馆|店|厅|园|站|校|家"
)
_CUES: Final = {
    AnswerType.PLACE: r"\b(?:address|location|located|situated|room|street|place|venue)\b"
    r"|地址|地点|位于|位置|住址|坐落",
    AnswerType.TIME: r"\b(?:date|time|deadline|due|schedule|opening hours|until|by|on|at|from|since|in)\b|时间|日期|截止"
    r"|期限|定在|于",
    AnswerType.MONEY: rf"{_CURRENCY}|\b(?:price|cost|costs|fee|salary|budget)\b|价|费|工资",
    AnswerType.PERSON: r"\b(?:by|name|called|mr|mrs|ms|dr|prof|owner|lead|manager|director|head|chair)\b"
    r"|由|叫|是|负责|担任",
    AnswerType.PHONE: r"\b(?:phone|tel|telephone|call|dial|extension|hotline|number|mobile)\b|电话|热线|手机|分机|拨打",
    AnswerType.NUMBER: r"\b(?:at most|at least|up to|maximum|minimum|about|total|number|per)\b|最多|至少|不超过|共|约",
    AnswerType.DURATION: r"\b(?:for|lasts?|takes?|within|after|long|until|during)\b|需|约|共|保留|持续|为期|内",
}
_NOTHING: Final = re.compile(r"(?!)")


@lru_cache(maxsize=32)
def cue_of(kind: AnswerType) -> re.Pattern[str]:
    """Words that announce a thing of this kind."""
    return re.compile(_CUES[kind], re.IGNORECASE) if kind in _CUES else _NOTHING


@lru_cache(maxsize=32)
def _clear_form(kind: AnswerType) -> re.Pattern[str] | None:
    return re.compile(_CLEAR[kind], re.IGNORECASE) if kind in _CLEAR else None


def is_clear(kind: AnswerType, match: str) -> bool:
    """Whether what was found cannot be anything else, as a date is and "ten days" is not."""
    clear = _clear_form(kind)
    return clear is None or clear.search(match) is not None
