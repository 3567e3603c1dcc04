"""The utility tools: pure, bounded, and citable by what they computed from which arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from datamind.core.context import ToolContext
from datamind.core.evidence import Evidence, ToolLocator
from datamind.core.source import SourceRef
from datamind.core.tools import ToolOutput, ToolSpec
from datamind.core.types import DataSurface, ToolEffect
from datamind_skills import calculator_reader, text_analysis, unit_reader
from datamind_skills.calculator import calculate
from datamind_skills.clock import current_time
from datamind_skills.text_analysis import analyze_text
from datamind_skills.units import convert_units

_MAX_TEXT_CHARS = 50_000  # evidence holds the arguments, and evidence is stored with the answer


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class CalculatorArguments(_Arguments):
    """One expression."""

    expression: str = Field(
        min_length=1,
        max_length=calculator_reader.MAX_CHARS,
        description="Arithmetic such as (1.10 * 3 - 2) / 7, 15% of 200, round(2/3, 4) or mean([1, 2, 4]).",
    )


class UnitConvertArguments(_Arguments):
    """An amount and two units."""

    value: int | float | str = Field(description="The amount, as a number or as exact decimal text.")
    from_unit: str = Field(min_length=1, max_length=unit_reader.MAX_CHARS, description="Such as km/h, degF or 斤.")
    to_unit: str = Field(min_length=1, max_length=unit_reader.MAX_CHARS, description="Such as m/s, degC or 公斤.")


class CurrentTimeArguments(_Arguments):
    """A place, or none."""

    timezone: str | None = Field(
        None, max_length=64, description="IANA zone, city or offset such as UTC+8; this machine's zone if left out."
    )


class AnalyzeTextArguments(_Arguments):
    """A text."""

    text: str = Field(max_length=_MAX_TEXT_CHARS, description="The text to count in.")
    max_terms: int = Field(10, ge=0, le=text_analysis.MAX_TERMS, description="How many frequent terms to list.")


async def _calculator(args: CalculatorArguments, ctx: ToolContext) -> ToolOutput:
    result = calculate(args.expression)
    sign = "=" if result.exact else "≈"
    expression = " ".join(result.expression.split())
    line = f"{expression} {sign} {result.value}" + (f" (exactly {result.fraction})" if result.fraction else "")
    return _output("calculator", args, ctx, asdict(result), line)


async def _unit_convert(args: UnitConvertArguments, ctx: ToolContext) -> ToolOutput:
    # The first conversion loads the unit library, which takes about half a second.
    result = await asyncio.to_thread(convert_units, args.value, args.from_unit, args.to_unit)
    line = f"{result.value} {result.from_unit} = {result.result} {result.to_unit}"
    return _output("unit_convert", args, ctx, asdict(result), line)


async def _current_time(args: CurrentTimeArguments, ctx: ToolContext) -> ToolOutput:
    reading = current_time(args.timezone)
    line = f"{reading.weekday} {reading.iso} ({reading.zone}), {reading.utc} in UTC"
    return _output("get_current_time", args, ctx, asdict(reading), line, repeatable=False)


async def _analyze_text(args: AnalyzeTextArguments, ctx: ToolContext) -> ToolOutput:
    counted = asdict(await asyncio.to_thread(analyze_text, args.text, max_terms=args.max_terms))
    counted["terms"] = [{"term": term, "count": count} for term, count in counted["terms"]]
    line = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in counted.items() if name != "terms")
    return _output("analyze_text", args, ctx, counted, line)


def _output(
    tool: str, args: BaseModel, ctx: ToolContext, data: Mapping[str, Any], line: str, *, repeatable: bool = True
) -> ToolOutput:
    source = SourceRef.of_content(
        "tool",
        f"tool:{tool}",
        line.encode("utf-8"),
        media_type="text/plain",
        profile=ctx.request.profile,
        origin="derived",
    )
    locator = ToolLocator(tool=tool, arguments=args.model_dump(mode="json"), repeatable=repeatable)
    return ToolOutput(data, (Evidence.of(DataSurface.UTILITY, source, locator, line),))


def utility_tools() -> list[ToolSpec]:
    """Calculator, unit conversion, clock and text counts; they touch no data and need no service."""
    pure: dict[str, Any] = {"effect": ToolEffect.PURE, "surface": DataSurface.UTILITY}
    return [
        ToolSpec.of(
            CalculatorArguments,
            _calculator,
            name="calculator",
            description=(
                "Compute one arithmetic expression, exactly where that is possible. ^ and ** are powers, round() takes"
                " halves away from zero, log() is natural unless given a base, angles are radians. Functions: abs,"
                " round, floor, ceil, sqrt, min, max, sum, mean, median, gcd, lcm, factorial, log, ln, log2, log10,"
                " exp, sin and so on, percent_of(rate, whole), percent_change(old, new)."
            ),
            **pure,
        ),
        ToolSpec.of(
            UnitConvertArguments,
            _unit_convert,
            name="unit_convert",
            description="Convert an amount between units, in English or Chinese; not between currencies.",
            **pure,
        ),
        ToolSpec.of(
            CurrentTimeArguments,
            _current_time,
            name="get_current_time",
            description="The date, weekday and time now, in a zone or city.",
            **pure,
        ),
        ToolSpec.of(
            AnalyzeTextArguments,
            _analyze_text,
            name="analyze_text",
            description="Count words, CJK characters, sentences, lines, reading time and frequent terms of a text.",
            **pure,
        ),
    ]
