"""What the documentation shows is run: Python blocks, commands and their output, page by page in one folder each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = [
    str(path.relative_to(ROOT))
    for pattern in ("README*.md", "datamind-*/README.md", "docs/**/*.md")
    for path in sorted(ROOT.glob(pattern))
]
SHOWN_FOLDER = "/home/ada/notes"
"""Where the transcripts were made; here it stands for the folder of the test."""

_FENCE = re.compile(r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^```$", re.M | re.S)
_VARIES = {
    "id": r"\b(?:rcpt|trace|ev|mem|doc|src|session)_[0-9a-hjkmnp-tv-z]{26}(?:\.[a-z_]+)?",
    "start": r"\b[a-z]+_[0-9a-hjkmnp-tv-z]{4,25}…",
    "time": r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:\+00:00)?",
    "date": r"\b\d{4}-\d\d-\d\d\b",
    "hash": r"\b[0-9a-f]{12,64}\b",
    "seconds": r"\b\d+\.\d\d ?s\b",
    "free": r"[\d,]+ MB free",
    "space": r" +",
}
_PART = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _VARIES.items()) + r"|(?P<cut>\[…\]\n?)")


@dataclass(frozen=True)
class Block:
    """One fenced block: what it is, and the output that is shown for it."""

    language: str
    title: str
    body: str
    shown: str = ""


def blocks_of(text: str) -> Iterator[Block]:
    """The blocks of a page; one of ``text`` right behind Python is what that prints."""
    found = list(_FENCE.finditer(text))
    for block, after in zip_longest(found, found[1:]):
        shown = ""
        if after and after["language"] == "text" and not text[block.end() : after.start()].strip():
            shown = after["body"]
        yield Block(block["language"], block["title"] or "", block["body"], shown)


def commands_of(body: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with the output shown below it."""
    for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = command.removesuffix("\\") + more.removeprefix("> ")
        yield command, shown


@dataclass
class Reader:
    """Somebody who follows a page from its top.

    Attributes:
        ids: What the page calls an id, and what it is here.
    """

    folder: Path
    ids: dict[str, str] = field(default_factory=dict)

    def follow(self, block: Block) -> None:
        """Do what the block says and compare what comes of it."""
        if block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
        elif block.language == "python":
            self.compare(block.body, block.shown, self.run(sys.executable, "-c", self.here(block.body)))
        elif block.language == "console":
            for command, shown in commands_of(block.body):
                self.compare(command, shown, self.run("bash", "-c", self.here(command)))

    def here(self, text: str) -> str:
        """A command of the page with the ids and the folder of this run."""
        for shown, own in self.ids.items():
            text = text.replace(shown, own)
        return text.replace(SHOWN_FOLDER, str(self.folder))

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Standard output and error as one, as on a terminal."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, "PATH": path, "NO_COLOR": "1", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )

    def compare(self, what: str, shown: str, run: subprocess.CompletedProcess[str]) -> None:
        """The output is what is shown; a command that fails shows why."""
        output = run.stdout.replace(str(self.folder), SHOWN_FOLDER)
        assert run.returncode == 0 or "datamind: " in shown, f"{what}\n\n{output}"
        if shown.strip():
            match = re.fullmatch(self.pattern(shown.rstrip()), output.rstrip(), re.S)
            assert match, f"{what}\n\nshown:\n{shown}\nhere:\n{output}"
            self.ids.update({self._names[name]: own for name, own in match.groupdict().items()})

    def pattern(self, shown: str) -> str:
        """An expression for the output: ids, times and paddings of columns differ, everything else is literal."""
        self._names: dict[str, str] = {}
        parts: list[str] = []
        end = 0
        for match in _PART.finditer(shown):
            parts += [re.escape(shown[end : match.start()]), self._part(match)]
            end = match.end()
        return "".join([*parts, re.escape(shown[end:])])

    def _part(self, match: re.Match[str]) -> str:
        kind, text = match.lastgroup or "", match[0]
        if kind == "cut":
            return ".*?"
        if kind != "id":
            return _VARIES[kind]
        if text in self.ids:
            return re.escape(self.ids[text])
        known = next((name for name, shown in self._names.items() if shown == text), "")
        if known:
            return f"(?P={known})"
        self._names[f"id{len(self._names)}"] = text
        return f"(?P<id{len(self._names) - 1}>{_VARIES['id']})"


def runnable(page: str) -> bool:
    blocks = blocks_of((ROOT / page).read_text(encoding="utf-8"))
    return any(block.language in ("python", "console") and not block.title for block in blocks)


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)])
def test_a_page_does_what_it_shows(page, tmp_path):
    reader = Reader(tmp_path)
    for block in blocks_of((ROOT / page).read_text(encoding="utf-8")):
        reader.follow(block)


@pytest.mark.parametrize(
    "page", ["README.md", "README.zh.md", "docs/tutorial/first-steps.md", "docs/tutorial/first-steps.zh.md"]
)
def test_the_first_pages_show_something_that_runs(page):
    assert runnable(page)
