"""From what people call a place to the name of its time zone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Final

CITIES: Final = {
    "beijing": "Asia/Shanghai", "shenzhen": "Asia/Shanghai", "guangzhou": "Asia/Shanghai", "hangzhou": "Asia/Shanghai",
    "chengdu": "Asia/Shanghai", "wuhan": "Asia/Shanghai", "nanjing": "Asia/Shanghai", "xi'an": "Asia/Shanghai",
    "china": "Asia/Shanghai", "osaka": "Asia/Tokyo", "kyoto": "Asia/Tokyo", "hanoi": "Asia/Bangkok",
    "mumbai": "Asia/Kolkata", "delhi": "Asia/Kolkata", "new delhi": "Asia/Kolkata", "bangalore": "Asia/Kolkata",
    "bengaluru": "Asia/Kolkata", "chennai": "Asia/Kolkata", "india": "Asia/Kolkata", "islamabad": "Asia/Karachi",
    "abu dhabi": "Asia/Dubai", "tel aviv": "Asia/Jerusalem", "ankara": "Europe/Istanbul",
    "st petersburg": "Europe/Moscow", "saint petersburg": "Europe/Moscow", "munich": "Europe/Berlin",
    "hamburg": "Europe/Berlin", "frankfurt": "Europe/Berlin", "cologne": "Europe/Berlin", "germany": "Europe/Berlin",
    "france": "Europe/Paris", "lyon": "Europe/Paris", "geneva": "Europe/Zurich", "milan": "Europe/Rome",
    "barcelona": "Europe/Madrid", "edinburgh": "Europe/London", "manchester": "Europe/London", "uk": "Europe/London",
    "san francisco": "America/Los_Angeles", "seattle": "America/Los_Angeles", "san diego": "America/Los_Angeles",
    "las vegas": "America/Los_Angeles", "silicon valley": "America/Los_Angeles", "boston": "America/New_York",
    "washington": "America/New_York", "washington dc": "America/New_York", "philadelphia": "America/New_York",
    "miami": "America/New_York", "atlanta": "America/New_York", "nyc": "America/New_York", "dallas": "America/Chicago",
    "houston": "America/Chicago", "austin": "America/Chicago", "montreal": "America/Toronto",
    "ottawa": "America/Toronto", "buenos aires": "America/Argentina/Buenos_Aires",
    "indianapolis": "America/Indiana/Indianapolis",
    "rio de janeiro": "America/Sao_Paulo", "brasilia": "America/Sao_Paulo",
    "cape town": "Africa/Johannesburg", "canberra": "Australia/Sydney", "wellington": "Pacific/Auckland",
    "pacific time": "America/Los_Angeles", "mountain time": "America/Denver", "central time": "America/Chicago",
    "eastern time": "America/New_York", "pst": "America/Los_Angeles", "pdt": "America/Los_Angeles",
    "edt": "America/New_York", "cest": "Europe/Paris", "bst": "Europe/London", "jst": "Asia/Tokyo", "z": "UTC",
    "北京": "Asia/Shanghai", "上海": "Asia/Shanghai", "深圳": "Asia/Shanghai", "广州": "Asia/Shanghai",
    "杭州": "Asia/Shanghai", "成都": "Asia/Shanghai", "武汉": "Asia/Shanghai", "南京": "Asia/Shanghai",
    "西安": "Asia/Shanghai", "重庆": "Asia/Shanghai", "天津": "Asia/Shanghai", "中国": "Asia/Shanghai",
    "乌鲁木齐": "Asia/Urumqi", "香港": "Asia/Hong_Kong", "澳门": "Asia/Macau", "台北": "Asia/Taipei",
    "东京": "Asia/Tokyo", "大阪": "Asia/Tokyo", "京都": "Asia/Tokyo", "日本": "Asia/Tokyo", "首尔": "Asia/Seoul",
    "平壤": "Asia/Pyongyang", "新加坡": "Asia/Singapore", "吉隆坡": "Asia/Kuala_Lumpur", "曼谷": "Asia/Bangkok",
    "雅加达": "Asia/Jakarta", "马尼拉": "Asia/Manila", "河内": "Asia/Bangkok", "胡志明市": "Asia/Ho_Chi_Minh",
    "孟买": "Asia/Kolkata", "新德里": "Asia/Kolkata", "德里": "Asia/Kolkata", "迪拜": "Asia/Dubai",
    "德黑兰": "Asia/Tehran", "耶路撒冷": "Asia/Jerusalem", "伊斯坦布尔": "Europe/Istanbul", "莫斯科": "Europe/Moscow",
    "伦敦": "Europe/London", "巴黎": "Europe/Paris", "柏林": "Europe/Berlin", "慕尼黑": "Europe/Berlin",
    "法兰克福": "Europe/Berlin", "罗马": "Europe/Rome", "米兰": "Europe/Rome", "马德里": "Europe/Madrid",
    "巴塞罗那": "Europe/Madrid", "阿姆斯特丹": "Europe/Amsterdam", "布鲁塞尔": "Europe/Brussels",
    "维也纳": "Europe/Vienna", "苏黎世": "Europe/Zurich", "日内瓦": "Europe/Zurich", "雅典": "Europe/Athens",
    "斯德哥尔摩": "Europe/Stockholm", "哥本哈根": "Europe/Copenhagen", "奥斯陆": "Europe/Oslo",
    "赫尔辛基": "Europe/Helsinki", "华沙": "Europe/Warsaw", "布拉格": "Europe/Prague", "里斯本": "Europe/Lisbon",
    "都柏林": "Europe/Dublin", "开罗": "Africa/Cairo", "约翰内斯堡": "Africa/Johannesburg", "内罗毕": "Africa/Nairobi",
    "纽约": "America/New_York", "华盛顿": "America/New_York", "波士顿": "America/New_York", "芝加哥": "America/Chicago",
    "休斯敦": "America/Chicago", "丹佛": "America/Denver", "洛杉矶": "America/Los_Angeles",
    "旧金山": "America/Los_Angeles", "西雅图": "America/Los_Angeles", "温哥华": "America/Vancouver",
    "多伦多": "America/Toronto", "墨西哥城": "America/Mexico_City", "圣保罗": "America/Sao_Paulo",
    "布宜诺斯艾利斯": "America/Argentina/Buenos_Aires", "悉尼": "Australia/Sydney", "墨尔本": "Australia/Melbourne",
    "奥克兰": "Pacific/Auckland", "火奴鲁鲁": "Pacific/Honolulu", "檀香山": "Pacific/Honolulu",
}  # fmt: skip

AMBIGUOUS: Final = {
    "cst": "China (Asia/Shanghai) or the central United States (America/Chicago)",
    "ist": "India (Asia/Kolkata), Israel (Asia/Jerusalem) or Ireland (Europe/Dublin)",
    "美国": "New York, Chicago, Denver or Los Angeles",
    "usa": "New York, Chicago, Denver or Los Angeles",
    "russia": "Moscow or one of ten other zones",
    "australia": "Sydney, Brisbane, Adelaide or Perth",
}


@lru_cache(maxsize=1)
def zone_names() -> Mapping[str, str]:
    """Every IANA zone by its lower-case name and, where no other zone shares it, by its last part (``tokyo``)."""
    listed = files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    names = {name.lower(): name for name in listed}
    by_city: dict[str, list[str]] = {}
    for name in listed:
        if "/" in name and not name.startswith(("Etc/", "US/", "Canada/", "Brazil/", "Chile/", "Mexico/")):
            by_city.setdefault(name.rpartition("/")[2].lower().replace("_", " "), []).append(name)
    return names | {city: zones[0] for city, zones in by_city.items() if len(zones) == 1 and city not in names}
