"""Prints how long functions and modules are; exits 1 when one passes its limit."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

ROOT = Path(__file__).resolve().parents[2]
MAX_FUNCTION = 60
MAX_MODULE = 500


def sources(root: Path) -> Iterator[Path]:
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    for member in pyproject["tool"]["datamind"]["members"]:
        yield from sorted((root / member / "src").rglob("*.py"))


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function of a module, nested ones too, with its lines from `def` to its last."""
    for node in ast.walk(ast.parse(path.read_bytes(), filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def row(label: str, values: list[int], limit: int) -> str:
    deciles = quantiles(values, n=10, method="inclusive") if len(values) > 1 else values * 9
    return f"{label:<10} {len(values):>6} {deciles[4]:>6.0f} {deciles[8]:>6.0f} {max(values):>6} {limit:>6}"


def main() -> int:
    module_lines: list[int] = []
    function_lines: list[int] = []
    over: list[str] = []
    for path in sources(ROOT):
        where = path.relative_to(ROOT)
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines:
            module_lines.append(lines)
        if lines > MAX_MODULE:
            over.append(f"{where} has {lines} lines, more than {MAX_MODULE}")
        for name, length in functions(path):
            function_lines.append(length)
            if length > MAX_FUNCTION:
                over.append(f"{where} {name} has {length} lines, more than {MAX_FUNCTION}")
    print(f"{'lines of':<10} {'count':>6} {'p50':>6} {'p90':>6} {'max':>6} {'limit':>6}")
    print(row("functions", function_lines, MAX_FUNCTION))
    print(row("modules", module_lines, MAX_MODULE))
    print("".join(f"{line}\n" for line in over), end="")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
