"""Awkward CSV files of DATAMIND_BENCH_DATA: what becomes of each, beside Python's csv with the annotated dialect."""

from __future__ import annotations

import asyncio
import csv
import gzip
import os
import re
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from datamind.core.errors import DataMindError
from datamind.core.protocols.database import TableOutcome
from datamind.testing.database_data import load, make_table_import
from datamind.testing.providers import ProviderTarget

TARGET = ProviderTarget(
    "db.dialect", "datamind_db_duckdb.dialect:open_dialect", "datamind_db_duckdb.options:DuckDBOptions"
)
SIGNS = {"comma": ",", "semicolon": ";", "tab": "\t", "vslash": "|", "pipe": "|", "space": " ", "colon": ":"}
SIGNS |= {"doublequote": '"', "singlequote": "'", "backslash": "\\", "": ""}
ANNOTATIONS = (
    ("CSV", "ground truth/CCSV-manual_Dialect_Annotation.txt"),
    ("W3C-CSVW", "ground truth/W3C-CSVW-dialect_annotations.txt"),
)
PAGE = 1_000
Cell = Any


@dataclass(frozen=True)
class Annotated:
    """A file and how a person says it is read."""

    path: Path
    encoding: str
    delimiter: str
    quote: str
    escape: str


@dataclass(frozen=True)
class Verdict:
    """What became of a file: ``equal``, ``reported``, ``refused``, ``other dialect`` or ``silent``."""

    path: Path
    word: str
    why: str


def rows() -> Iterator[str]:
    given = os.environ.get("DATAMIND_BENCH_DATA")
    if not given:
        yield "skipped: DATAMIND_BENCH_DATA names no folder"
        return
    data = Path(given)
    shown = os.environ.get("DATAMIND_BENCH_SHOW", "").split(",")
    for name, files in (
        ("files-csvsniffer", list(annotated(data / "files-csvsniffer"))),
        ("files-duckdb-csv", list(guessed(data / "files-duckdb-csv"))),
    ):
        verdicts = asyncio.run(judge_all(files))
        counts = Counter(verdict.word for verdict in verdicts)
        told = ", ".join(f"{count} {word} ({count / len(verdicts):.1%})" for word, count in counts.most_common())
        yield f"{name:<20} {len(verdicts)} files: {told}"
        for verdict in verdicts:
            if verdict.word in ("silent", *shown):
                yield f"  {verdict.word}: {verdict.path.relative_to(data)}: {verdict.why}"


def annotated(folder: Path) -> Iterator[Annotated]:
    for below, notes in ANNOTATIONS:
        lines = (folder / notes).read_text(encoding="utf-8-sig").splitlines()
        table = csv.DictReader([line for line in lines if not line.startswith("#")], delimiter="|")
        for note in table:
            path = folder / below / note["file_name"]
            if path.is_file():
                yield Annotated(
                    path,
                    note["encoding"],
                    SIGNS.get(note["fields_delimiter"], note["fields_delimiter"]),
                    SIGNS.get(note["quotechar"], note["quotechar"]),
                    SIGNS.get(note["escapechar"], note["escapechar"]),
                )


def guessed(folder: Path) -> Iterator[Annotated]:
    """Nobody says how these are read: what the product says of each is given to the independent reader."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and re.search(r"\.(csv|tsv|tbl|txt)(\.gz)?$", path.name):
            yield Annotated(path, "", "", '"', "")


async def judge_all(files: Sequence[Annotated]) -> list[Verdict]:
    with tempfile.TemporaryDirectory() as folder:
        database = await TARGET.open(Path(folder))
        try:
            return [await judge(database, file) for file in files]
        finally:
            await database.aclose()


async def judge(database: Any, file: Annotated) -> Verdict:
    content = file.path.read_bytes()
    if file.path.suffix == ".gz":
        content = gzip.decompress(content)
    request = make_table_import("t", content, mode="replace")
    try:
        outcome = await load(database, request, content)
    except DataMindError as error:
        return Verdict(file.path, "refused", f"{error.code}: {error}")
    ours = await stored(database)
    try:
        theirs = list(independent(file, content, outcome))
    except (csv.Error, UnicodeError, LookupError, TypeError) as error:
        return Verdict(file.path, "no reference", str(error))
    return compare(file, outcome, ours, theirs)


async def stored(database: Any) -> list[list[Cell]]:
    """Names, then rows as text; None for NULL."""
    table = next(table for table in await database.tables() if table.name == "t")
    found: list[list[Cell]] = [[column.name for column in table.columns]]
    more = True
    while more:
        from datamind.core.protocols.database import TableQuery

        page = await database.query(
            TableQuery(statement="SELECT * FROM t", offset=len(found) - 1, limit=PAGE, max_bytes=64 << 20)
        )
        found += [list(row) for row in page.rows]
        more = page.more
    return found


def independent(file: Annotated, content: bytes, outcome: TableOutcome) -> Iterator[list[str]]:
    """The records of the file, blank lines left out."""
    detected = outcome.detected
    try:
        text = content.decode(file.encoding or detected.encoding)
    except (UnicodeError, LookupError):  # the annotation is wrong
        text = content.decode(detected.encoding, "surrogateescape")
    text = text.removeprefix("\ufeff")
    delimiter = file.delimiter or detected.delimiter
    if text[:4].lower() == "sep=":
        text = text.split("\n", 1)[1]
    escape = file.escape if file.delimiter else detected.escape
    doubled = escape in ("", '"')
    reader = csv.reader(
        re.split(r"(?<=\n)|(?<=\r)(?!\n)", text),
        delimiter=delimiter,
        quotechar=file.quote or '"',
        quoting=csv.QUOTE_MINIMAL if file.quote else csv.QUOTE_NONE,
        doublequote=doubled,
        escapechar=None if doubled else escape,
    )
    return (record for record in reader if len(record) > 1 or (record and record[0].strip()))


def compare(file: Annotated, outcome: TableOutcome, ours: list[list[Cell]], theirs: list[list[str]]) -> Verdict:
    detected = outcome.detected
    names = ours[0] if detected.header else None
    body = ours[1:]
    if names is not None:
        names = [detected.renamed.get(name, name) for name in names]
    expected = theirs[1:] if names is not None else theirs
    header_is_equal = names is None or (bool(theirs) and same_names(names, theirs[0]))
    if header_is_equal and len(body) == len(expected) and all(map(same, body, expected)):
        return Verdict(file.path, "equal", "")
    why = difference(names, body, theirs, expected)
    if detected.rejected_total:
        left = missing(names, body, theirs)
        if left is not None and left <= detected.rejected_total:
            return Verdict(file.path, "reported", f"{detected.rejected_total} rejected, {why}")
    if file.delimiter and (detected.delimiter, '"') != (file.delimiter, file.quote or '"'):
        dialects = f'{detected.delimiter}" for {file.delimiter}{file.quote}'
        return Verdict(file.path, "other dialect", f"{dialects}: {why}")
    return Verdict(file.path, "silent", f"{detected.rejected_total} rejected, {why}")


def missing(names: list[str] | None, body: list[list[Cell]], theirs: list[list[str]]) -> int | None:
    """How many of their records are not ours; None if one of ours is not theirs, in order."""
    left, waiting = 0, iter(theirs)
    if names is not None:
        for record in waiting:
            if same_names(names, record):
                break
            left += 1
        else:
            return None
    for row in body:
        for record in waiting:
            if same(row, record):
                break
            left += 1
        else:
            return None
    return left + sum(1 for _ in waiting)


def difference(
    names: list[str] | None, body: list[list[Cell]], theirs: list[list[str]], expected: list[list[str]]
) -> str:
    if names is not None and (not theirs or not same_names(names, theirs[0])):
        return f"header {names[:6]} / {theirs[0][:6] if theirs else None}"
    for place, (row, record) in enumerate(zip(body, expected, strict=False)):
        if not same(row, record):
            pairs = [(ours, text) for ours, text in zip(row, record, strict=False) if not same_cell(ours, text)]
            return f"row {place} {str(row)[:90]} / {str(record)[:90]} {str(pairs[:2])[:90]}"
    return f"{len(body)} rows / {len(expected)}"


def same_names(names: Sequence[str], record: Sequence[str]) -> bool:
    given = [plain(field) for field in record]
    while len(given) > len(names) and not given[-1]:
        given.pop()
    return len(names) == len(given) and all(plain(name) == field for name, field in zip(names, given, strict=True))


def plain(name: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFC", name) if char.isprintable()).strip()[:128].strip()


def same(row: Sequence[Cell], record: Sequence[str]) -> bool:
    given = list(record)
    while len(given) > len(row) and not given[-1].strip():
        given.pop()
    return len(row) == len(given) and all(map(same_cell, row, given))


def same_cell(cell: Cell, text: str) -> bool:
    stripped = text.strip(" \t")
    match cell:
        case None:
            return not stripped
        case bool():
            return stripped.lower() == str(cell).lower()
        case int() | float():
            return any(number == Decimal(str(cell)) for number in readings(stripped))
    return cell == text or same_number(cell, stripped) or same_moment(cell, stripped)


def same_number(cell: str, text: str) -> bool:
    try:
        return Decimal(cell) in readings(text)
    except InvalidOperation:
        return False


def readings(text: str) -> list[Decimal]:
    """A number as it stands, with a decimal comma, or with grouped digits."""
    found = []
    for plain_text in (text, text.replace(".", "").replace(",", "."), text.replace(",", "")):
        try:
            found.append(Decimal(plain_text))
        except InvalidOperation:
            continue
    return found


def same_moment(cell: str, text: str) -> bool:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d([T ].*)?", cell) or re.search(r"[A-Za-z]", text.replace("T", "")):
        return False
    return numbers_in(cell) == numbers_in(text)


def numbers_in(moment: str) -> list[float]:
    """Those that are not zero, smallest first; a fraction of a second stays with its second."""
    return sorted(float(part) for part in re.findall(r"(?<=:)\d\d\.\d+|\d+", moment) if float(part))


if __name__ == "__main__":
    for line in rows():
        print(line)
    sys.exit()
