"""How results look: tables and dim text on a terminal, plain text in a pipe, JSON when asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from datamind_cli.state import State
from datamind_cli.streams import can_show, echo, is_terminal, printable, printable_json, printable_line

if TYPE_CHECKING:
    from datamind.core.logging import Redactor


class Output:
    """Writes to the standard streams of this moment; no text can fail to be written, or act on a terminal."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def is_json(self) -> bool:
        """Whether JSON was asked for."""
        return self._state.as_json

    @property
    def verbosity(self) -> int:
        """How often -v was given."""
        return self._state.verbosity

    def line(self, text: str = "", *, dim: bool = False) -> None:
        """Text on standard output, lines kept."""
        self._write(text, dim=dim, err=False)

    def note(self, text: str) -> None:
        """A dim line on standard error: what a person should know and a script need not read."""
        if not self.is_json:
            self._write(printable_line(text), dim=True, err=True)

    def json(self, value: Any) -> None:
        """One JSON value; a Record is dumped as it is served elsewhere."""
        body = json.dumps(plain(value), ensure_ascii=False, indent=2)
        if not can_show(body, sys.stdout):
            body = json.dumps(plain(value), ensure_ascii=True, indent=2)
        echo(printable_json(self.hidden(body)))

    def json_line(self, value: Any) -> None:
        """One JSON value on one line, for streams of them."""
        echo(self.hidden(json.dumps(plain(value), ensure_ascii=True)))

    def highlight(self, before: str, span: str, after: str) -> None:
        """A span in bold between what stands around it; with marks where there are no styles."""
        before, span, after = (printable(self.hidden(part)) for part in (before, span, after))
        marked = click.style(span, bold=True) if self._is_rich() else f"**{span}**"
        echo(f"{before}{marked}{after}".strip("\n"))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Rows below a header; nothing when there are none."""
        cells = [[printable_line(self.hidden(cell)) for cell in row] for row in rows]
        if not cells:
            return
        if self._is_rich():
            _rich_table(columns, cells)
        else:
            echo("\n".join(_plain_table(columns, cells)))

    @property
    def draws(self) -> bool:
        """Whether standard output has arrows and the lines of boxes."""
        return can_show("├─└│→←", sys.stdout)

    def join(self, parts: Iterable[str]) -> str:
        """Parts on one line, with a separator that the stream has."""
        return (" · " if can_show("·", sys.stdout) else " | ").join(part for part in parts if part)

    def _is_rich(self) -> bool:
        return self._state.use_color and is_terminal(sys.stdout) and os.environ.get("TERM") != "dumb"

    def _write(self, text: str, *, dim: bool, err: bool) -> None:
        text = printable(self.hidden(text))
        # echo takes styles out again where no person reads.
        echo(click.style(text, dim=True) if dim and self._state.use_color else text, err=err)

    @property
    def longest_secret(self) -> int:
        """Characters of the longest text that ``hidden`` replaces; 1 when there is none."""
        return self._redactor().longest if self._state.secrets else 1

    def hidden(self, text: str) -> str:
        """The text without the secrets of the settings, in whatever form."""
        return self._redactor().known(text) if self._state.secrets else text

    def _redactor(self) -> Redactor:
        from datamind.core.logging import Redactor

        return Redactor(self._state.secrets)


class TextStream:
    """Text that arrives in pieces: a secret is hidden even where it is split between two of them."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._held = ""
        self._started = False

    def feed(self, piece: str) -> None:
        """Print what is certain to hold no part of a secret."""
        self._held = self._out.hidden(self._held + piece)
        cut = max(0, len(self._held) - self._out.longest_secret + 1)
        if cut:
            self._print(self._held[:cut])
            self._held = self._held[cut:]

    def end(self) -> None:
        """Print the rest, and end the line if there was one."""
        if self._held:
            self._print(self._out.hidden(self._held))
        if self._started:
            echo()
        self._held, self._started = "", False

    def _print(self, text: str) -> None:
        echo(printable(text), nl=False)
        self._started = True


def plain(value: Any) -> Any:
    """A JSON value of Records, mappings and lists of them."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def shorten(text: str, max_chars: int) -> str:
    """Blanks and line breaks as one blank each; cut with an ellipsis."""
    flat = " ".join(text.split())
    if len(flat) <= max_chars:
        return flat
    mark = "…" if can_show("…", sys.stdout) else "..."
    return flat[: max_chars - len(mark)].rstrip() + mark


def count_of(number: int, noun: str) -> str:
    """``1 receipt``, ``2 receipts``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # Text: stored content is no markup
    Console(file=sys.stdout, highlight=False).print(table)


def _plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    from rich.cells import cell_len

    lines = [list(columns), *rows]
    widths = [max(cell_len(line[index]) for line in lines) for index in range(len(columns))]
    return [
        "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
