"""What a question asks of the things it names: who *maintains* Heron, the *wife* of Ada, where a tent is *made*."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# What is asked of something: "who VERB", "is ... VERBed by whom", "who is the NOUN of", "X's NOUN".
_RELATIONS: Final = (
    r"\bwho(?:m)? (?:(?:will|would|can|could|may|must|should|has|have|had|is|was|are|were|did|does|do|first|also) )*"
    r"(?!(?:is|are|was|were|be|been|has|have|had|do|does|did|the|a|an|my|our|your|i|we|you|they|it|not|in|on|at|to|of"
    r"|there|responsible|go|goes|went|get|gets|got|come|comes|came|look|looks|looked|make|makes|made)\b)([a-z]+)\b",
    r"\bwho (?:is|was|are|were) (?:the |my |our )?(?:[a-z]+ ){0,2}?([a-z]+) (?:of|for|at|in)\b",
    r"\bwho (?:is|was|are|were) [\w .-]+?'s? ([a-z]+)\s*\?",
    r"\bwho (?:is|was|are|were) my ([a-z]+)\s*\?",
    r"\bwhere (?:is|are|was|were) (?:[\w'-]+ )+?([a-z]+(?:ed|en|wn|ght|pt|de|ld|lt|nt|ne|ld))\s*\?",
    r"\bwhere (?:do|does|did) (?!(?:i|we|you|one)\b)(?:[\w'-]+ )+?(?!(?:go|come|take|get)\b)([a-z]+)(?: to| at| in| from)?\s*\?",
)
_ZH_RELATIONS: Final = (
    r"(?:谁|哪位|什么人)(?:来|去|能|可以|会|要|在|给|把|最|先|都|还)*(?:负责)?([\u4e00-\u9fff]{2})(?=[^？?]|[？?])(?![？?]?\Z)",
    r"(?:谁|哪位|什么人)(?:来|去|能|可以|会|要|在|给|把|最|先|都|还)*(?:负责)?([\u4e00-\u9fff]{2})的?[？?]?\Z",
    r"的([\u4e00-\u9fff]{2,3}?)(?:是|叫)(?:谁|哪位|什么人)",
    r"(?:在)?哪(?:里|儿)([\u4e00-\u9fff]{2})的?[？?]?\Z",
)


def relation_places(text: str, language: str) -> set[int]:
    """Where the words stand that say what is asked of the rest; empty for a question without such words."""
    places: set[int] = set()
    for pattern in _patterns(language):
        for match in pattern.finditer(text):
            places |= set(range(*match.span(1)))
    return places


@lru_cache(maxsize=2)
def _patterns(language: str) -> tuple[re.Pattern[str], ...]:
    # Compiled for the language that is spoken: a command starts sooner.
    patterns = _ZH_RELATIONS if language == "zh" else _RELATIONS
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)
