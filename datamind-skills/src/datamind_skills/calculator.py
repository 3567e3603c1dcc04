"""Arithmetic that is exact where it can be and bounded everywhere."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Final

from datamind.core.errors import InputInvalid, LimitExceeded
from datamind_skills.calculator_functions import CONSTANTS, FUNCTIONS, power
from datamind_skills.calculator_reader import MAX_DEPTH, read_expression
from datamind_skills.exact import Number, bounded, shown, write_number


def _floor_divided(left: Number, right: Number) -> Number:
    whole = left // right
    return Fraction(whole) if isinstance(whole, int) else whole  # of fractions it is an int, which is no Number


_BINARY: Final[dict[type[ast.operator], Callable[[Number, Number], Number]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: _floor_divided,
    ast.Mod: operator.mod,
    ast.Pow: power,
}


@dataclass(frozen=True, slots=True)
class Calculation:
    """What an expression comes to.

    Attributes:
        value: Decimal text, at most 1,000 digits before the point.
        exact: Whether ``value`` is exact: ``0.1 + 0.2`` is, ``1 / 3`` and ``sqrt(2)`` are rounded.
        fraction: ``p/q`` of an exact result that has no short decimal form, else None.
    """

    expression: str
    value: str
    exact: bool
    fraction: str | None = None


def calculate(expression: str) -> Calculation:
    """Evaluate one arithmetic expression.

    Numbers and ``+ - * / // %``, powers as ``**`` or ``^``, brackets, the functions of ``FUNCTIONS`` and the
    constants ``pi``, ``e``, ``tau``. ``round`` rounds halves away from zero; ``log`` is natural unless given a
    base; angles are radians. Source, nesting and the digits of every intermediate result are bounded, and a
    power or factorial is sized before it is computed.

    Raises:
        InputInvalid: Not arithmetic, an unknown name, a wrong number of arguments, or outside a domain.
        LimitExceeded: Too long, too deeply nested, or a number of too many digits.
    """
    tree, numbers = read_expression(expression)
    try:
        written = write_number(_Evaluation(numbers).value_of(tree))
    except ZeroDivisionError:
        raise InputInvalid(f"{shown(expression)} divides by zero") from None
    except OverflowError:
        raise LimitExceeded(f"{shown(expression)} passes 1.8e308 on the way", hint="Use smaller numbers.") from None
    except ValueError:
        raise InputInvalid(
            f"{shown(expression)} leaves the domain of a function", hint="Roots and logarithms need positive numbers."
        ) from None
    return Calculation(expression, written.text, written.exact, written.fraction)


@dataclass(frozen=True, slots=True)
class _Evaluation:
    numbers: Sequence[Fraction]

    def value_of(self, node: ast.expr, depth: int = 0) -> Number:
        if depth > MAX_DEPTH:
            raise LimitExceeded(f"the expression nests deeper than {MAX_DEPTH}", hint="Compute it in steps.")
        match node:
            case ast.Constant(value=index) if type(index) is int:  # True and None are constants too
                return self.numbers[index]
            case ast.Name(id=name):
                return _constant(name)
            case ast.UnaryOp(op=ast.UAdd() | ast.USub()):
                value = self.value_of(node.operand, depth + 1)
                return -value if isinstance(node.op, ast.USub) else value
            case ast.BinOp():
                return self._chain(node, depth)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, arguments, depth)
        raise InputInvalid(
            f"{type(node).__name__} is not arithmetic",
            hint="Only numbers, operators and the named functions are evaluated.",
        )

    def _chain(self, node: ast.expr, depth: int) -> Number:
        # a + b + c leans to the left: a loop over it lets a long sum be wide without being deep.
        steps: list[ast.BinOp] = []
        while isinstance(node, ast.BinOp):
            steps.append(node)
            node = node.left
        value = self.value_of(node, depth + 1)
        for step in reversed(steps):
            compute = _BINARY.get(type(step.op))
            if compute is None:
                raise InputInvalid(f"{type(step.op).__name__} is not arithmetic")
            value = bounded(compute(value, self.value_of(step.right, depth + 1)))
        return value

    def _call(self, name: str, arguments: list[ast.expr], depth: int) -> Number:
        function = FUNCTIONS.get(name)
        if function is None:
            raise _unknown(name, "function", FUNCTIONS)
        if function.variadic:
            arguments = [item for argument in arguments for item in _items(argument)]
        values = [self.value_of(argument, depth + 1) for argument in arguments]
        if len(values) < function.least or (function.most is not None and len(values) > function.most):
            raise InputInvalid(
                f"{name} takes {function.arity} number(s), not {len(values)}",
                hint="Inside a function a comma separates arguments.",
            )
        return bounded(function.compute(*values))


def _items(argument: ast.expr) -> list[ast.expr]:
    return argument.elts if isinstance(argument, ast.List) else [argument]


def _constant(name: str) -> Number:
    if name not in CONSTANTS:
        raise _unknown(name, "name", CONSTANTS)
    return CONSTANTS[name]


def _unknown(name: str, kind: str, known: Iterable[str]) -> InputInvalid:
    near = get_close_matches(name[:40], known, n=3)
    return InputInvalid(f"the calculator has no {kind} {shown(name, 40)}", hint=f"Near: {', '.join(near or known)}.")
