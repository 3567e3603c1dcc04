"""Questions that a utility computes."""

from __future__ import annotations

import re
from typing import Final

from datamind_model_offline.grammar import FormName, Parsed
from datamind_model_offline.planning import PlannedCall

_OPERATORS: Final = (
    (r"(.+?)的?(\d+)次方", r"\1^\2"),
    (r"([\d.]+)的平方根", r"sqrt(\1)"),
    (r"the square root of ([\d.,]+)", r"sqrt(\1)"),
    (r"([\d.]+)的百分之([\d.]+)", r"\2% of \1"),
    (r"\bplus\b|加上?", "+"),
    (r"\bminus\b|减去?", "-"),
    (r"\bto the power of\b", "^"),
    (r"\bpercent of\b", "% of"),
    (r"\bmultiplied by\b|\btimes\b|乘以?", "*"),
    (r"\bdivided by\b|除以", "/"),
)


def utility_call(parsed: Parsed) -> PlannedCall | None:
    """The call that computes the answer, for the forms that have one."""
    parts = parsed.parts
    if parsed.form is FormName.ARITHMETIC:
        return PlannedCall("calculator", {"expression": _expression(parts)})
    if parsed.form is FormName.CONVERSION:
        value = parts["value"].replace(",", "") if parts["value"][0].isdigit() or parts["value"][0] == "-" else "1"
        return PlannedCall("unit_convert", {"value": value, "from_unit": parts["from"], "to_unit": parts["to"]})
    if parsed.form is FormName.CLOCK:
        return PlannedCall("get_current_time", {"zone": parts.get("zone", ""), "timezone": parts.get("zone", "")})
    if parsed.form is FormName.TEXT_ANALYSIS:
        return PlannedCall("analyze_text", {"text": parts["text"]})
    return None


def _expression(parts: dict[str, str] | object) -> str:
    assert isinstance(parts, dict)
    expression: str = parts.get("expression") or parts["words"]
    for pattern, replacement in _OPERATORS:
        expression = re.sub(pattern, replacement, expression)
    return expression.strip()
