"""The acceptance cases of paths: what is in the file, and how each is set up in a folder."""

from __future__ import annotations

import csv
import json
import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "cases" / "path_cases.tsv"
SECRET = "canary-7f3a: the secret outside"

LATER = {
    "P-026": "writing files by name",
    "P-037": "writing files by name",
    "P-053": "writing files by name",
    "P-054": "writing files by name",
    "P-074": "writing files by name",
    "P-058": "archives",
    "P-060": "archives",
    "P-061": "archives",
    "P-063": "office files",
    "P-064": "XML",
    "P-068": "skill files",
    "P-070": "profile names",
    "P-072": "profile names",
}
"""Cases of other operations, each tested where that operation is."""

APART = {
    "P-038": "a race, run many times",
    "P-048": "a listing",
    "P-055": "needs another user",
    "P-056": "needs a process of its own to measure",
    "P-057": "a file that grows while it is read",
    "P-066": "three files with three outcomes",
}
"""Cases that need a test of their own."""


@dataclass(frozen=True)
class PathCase:
    """One row; ``input`` is decoded, with bytes that are not UTF-8 as surrogate escapes."""

    id: str
    setup: str
    input: str
    operation: str
    expected: str


def read_cases() -> list[PathCase]:
    """Every row of the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    names = ("id", "setup", "input", "operation", "expected")
    return [PathCase(*(_decoded(row[name]) if name == "input" else row[name] for name in names)) for row in rows]


def _decoded(text: str) -> str:
    body = re.sub(r"(?<!\\)((?:\\\\)*)\\x([0-9a-fA-F]{2})", r"\1\\udc\2", text)
    decoded: str = json.loads(f'"{body}"')
    return decoded


def build(case: PathCase, base: Path) -> Path:
    """Make a case's files below ``base``; returns the root, a folder called p1."""
    root = base / "p1"
    for folder in (root / "sub" / "etc", base / "p1-evil"):
        folder.mkdir(parents=True)
    for path in (root / "a.txt", root / "sub" / "b.txt", root / "a b;$(x).txt"):
        path.write_text(f"text of {path.name}", encoding="utf-8")
    (base / "secret.txt").write_text(SECRET, encoding="utf-8")
    (base / "p1-evil" / "x.txt").write_text(SECRET, encoding="utf-8")
    if case.id in _MORE:
        _MORE[case.id](root, base / "secret.txt")
    return root


def _socket(root: Path, secret: Path) -> None:
    # Bound from inside: the whole path may be longer than an address can be.
    here = Path.cwd()
    os.chdir(root)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("sock")
    finally:
        os.chdir(here)


def _two_forms(root: Path, secret: Path) -> None:
    (root / "e\u0301.txt").write_text("decomposed", encoding="utf-8")
    (root / "\u00e9.txt").write_text("composed", encoding="utf-8")


def _chain(root: Path, secret: Path) -> None:
    (root / "l1").symlink_to("l2")
    (root / "l2").symlink_to(secret)


_MORE: dict[str, Callable[[Path, Path], object]] = {
    "P-033": lambda root, secret: (root / "link").symlink_to(secret),
    "P-035": _chain,
    "P-039": lambda root, secret: (root / "hard").hardlink_to(secret),
    "P-042": lambda root, secret: (root / "fdl").symlink_to("/proc/self/fd/3"),
    "P-045": lambda root, secret: os.mkfifo(root / "fifo"),
    "P-046": _socket,
    "P-048": lambda root, secret: Path(os.fsdecode(os.fsencode(root) + b"/\xff\xfe.txt")).write_text("named"),
    "P-049": _two_forms,
    "P-050": lambda root, secret: (root / "A.TXT").write_text("text of A.TXT"),
}
EXPECTED_TEXT = {"P-049": "composed", "P-001": "text of a.txt", "P-050": "text of A.TXT"}
