"""Which stored fact a question asks for, by the names the statement grammar gives subject and attribute."""

from __future__ import annotations

import re
from typing import Final

from datamind.capabilities.text.offsets import normalize_nfkc
from datamind_model_offline.statement_forms import USER
from datamind_model_offline.statements import attribute_name, subject_name

_AUX: Final = r"(?:do|does|did|have|had|am|are|was|were)"
_ZH_WHEN: Final = r"(?:现在|目前|以前|之前|原来|曾经|过去|从前)*"
_ASKED: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), subject, attribute)
    for pattern, subject, attribute in (
        (
            rf"\bwhere {_AUX} (?:i|we) (?:\w+ ){{0,2}}?(?:live|lived|living|reside|residing)\b|\bwhere (?:is|was) (?:my|our) home\b"
            rf"|我(?:们|家)?{_ZH_WHEN}是?住在?(?:哪|什么地方|何处)|我家{_ZH_WHEN}[住在]*哪",
            USER,
            "residence",
        ),
        (
            rf"\b(?:where|which company|who) {_AUX} (?:i|we) (?:\w+ ){{0,2}}?(?:work|worked|working|employed)\b(?! on\b| with\b)"
            rf"|我{_ZH_WHEN}是?在哪(?:里|儿|个公司|家公司)?(?:工作|上班|任职)",
            USER,
            "employer",
        ),
        (r"\bhow old (?:am|was) i\b|我.*(?:多大|几岁)", USER, "age"),
        (
            r"\b(?:what|who|which|when|how) (?:is|was|are|were)(?: the)? (?:my"
            r"|our) (?P<attribute>[\w' -]+?)(?: (?:before|previously|until|in|as of|back|at|called"
            r"|now)\b.*)?[?.]*\Z",
            USER,
            "",
        ),
        (r"\bwhat (?P<attribute>[\w' -]+?) (?:do|did) (?:i|we) (?:have|use|prefer)\b", USER, ""),
        (
            r"\b(?:what|who|which|when|where) (?:is|was|are"
            r"|were) (?P<subject>[\w. -]+?)'s? (?P<attribute>[\w' -]+?)(?: (?:before|previously|until|in"
            r"|as of)\b.*)?[?.]*\Z",
            "",
            "",
        ),
        (
            r"\b(?:what|who|which|when|where) (?:is|was|are|were) the (?P<attribute>[\w' -]+?) (?:of"
            r"|for) (?:the )?(?P<subject>[\w. -]+?)(?: (?:before|previously|until|in|as of)\b.*)?[?.]*\Z",
            "",
            "",
        ),
        (
            r"我(?:们|家)?(?:以前|之前|原来|曾经|过去|当时|现在|目前)*的?(?:旧|老|前"
            r"|上一个)?(?P<attribute>[^\s是叫在的？?，,]{1,8}?)(?:以前|之前|原来|现在)*(?:是|叫|为|在)(?:什么"
            r"|谁|多少|哪|几)",
            USER,
            "",
        ),
        (
            r"(?P<subject>[^我\s的？?，,]{1,16}?)(?:以前|之前|原来|曾经|过去|从前|当时|现在|目前)*的(?:旧|老"
            r"|前)?(?P<attribute>[^\s是叫在的？?，,]{1,8}?)(?:以前|之前|原来|现在)*(?:是|叫|为|在)(?:什么|谁"
            r"|多少|哪|几)",
            "",
            "",
        ),
        (
            r"\A(?:what|when|where|which) (?:is|was|are|were) (?:the|our) (?P<subject>(?!.*\b(?:of|for)\b)[\w' -]+?)"
            r"(?: (?:before|previously|until|in|as of|now|at the moment)\b.*)?[?.]*\Z",
            "",
            "value",
        ),
        (
            rf"\A(?P<subject>[^我你他她它\s的？?，,]{{2,12}}?){_ZH_WHEN}(?:是|为|在)(?:什么|哪|几|多少|星期几|周几)",
            "",
            "value",
        ),
    )
)


_MAX_CHARS: Final = 300


def asked_fact(question: str) -> tuple[str, str] | None:
    """Subject and attribute a question asks for, by the names the statement grammar gives them."""
    text = " ".join(normalize_nfkc(question[:_MAX_CHARS]).replace("’", "'").split())
    for pattern, subject, attribute in _ASKED:
        match = pattern.search(text)
        if match is None:
            continue
        groups = match.groupdict()
        named = attribute or attribute_name(groups.get("attribute") or "")
        if named:
            return subject or subject_name(groups.get("subject") or ""), named
    return None
