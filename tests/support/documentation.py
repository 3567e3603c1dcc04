"""Following a page of the documentation: its files are written, its code and commands run, its output compared."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Final

from tests.support.forks import Forks

SHOWN_FOLDER: Final = "/home/ada/notes"
"""Where the transcripts were made; it stands for the reader's own folder."""

PRELOADED: Final = (
    "datamind_cli.main",
    "datamind.agent.builder",
    "datamind.agent.loop_native",
    "datamind.sync",
    "datamind_memory_sqlite.store",
    "datamind_model_offline.client",
    "datamind_skills.source",
    "datamind_skills.tools",
    __name__,
)

_FENCE: Final = re.compile(r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^```$", re.M | re.S)
_KINDS: Final = "rcpt|trace|ev|mem|doc|src|session|call"
_VARIES: Final = {
    "id": rf"\b(?:{_KINDS})_[0-9a-hjkmnp-tv-z]{{26}}(?:\.[a-z_]+)?",
    "start": rf"\b(?:{_KINDS})_[0-9a-hjkmnp-tv-z]{{4,25}}(?:…|\b)",
    "time": r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:\+00:00)?",
    "date": r"\b\d{4}-\d\d-\d\d\b",
    "hash": r"\b[0-9a-f]{12,64}\b",
    "seconds": r"\b\d+\.\d\d ?s\b",
    "space": r" +",
}
_PART: Final = re.compile(
    "|".join(f"(?P<{name}>{pattern})" for name, pattern in _VARIES.items()) + r"|(?P<cut>\[…\]\n?)"
)
_SHELL: Final = re.compile(r"[|&;<>$()*]|^\w+=")


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
        yield command, shown


@dataclass
class Reader:
    """Somebody who follows a page from its top, in a folder of their own.

    Attributes:
        ids: What the page calls an id, and what it is here.
    """

    folder: Path
    forks: Forks
    ids: dict[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def follow(self, block: Block) -> None:
        """Do what the block says and compare what comes of it."""
        if block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
        elif block.language == "python":
            self.compare(block.body, block.shown, *self.run_python(block.body))
        elif block.language == "console":
            for command, shown in commands_of(block.body):
                self.compare(command, shown, *self.run(command))

    def run(self, command: str) -> tuple[int, str]:
        """Exit code and output of a command; only what a shell has to see goes to one."""
        command = self._here(command)
        if command.startswith("datamind ") and not _SHELL.search(command):
            return self._forked("run_datamind", argv=shlex.split(command))
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**os.environ, **self._environment()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout

    def run_python(self, code: str) -> tuple[int, str]:
        """Exit code and output of a script."""
        return self._forked("run_script", code=self._here(code))

    def compare(self, what: str, shown: str, code: int, output: str) -> None:
        """The output is what is shown; a command that fails shows why."""
        output = output.replace(str(self.folder), SHOWN_FOLDER)
        assert code == 0 or "datamind: " in shown, f"{what}\n\nexit code {code}:\n{output}"
        if shown.strip():
            match = re.fullmatch(self._pattern(shown.rstrip()), output.rstrip(), re.S)
            assert match, f"{what}\n\nshown:\n{shown}\nhere:\n{output}"
            self.ids.update({self._names[name]: own for name, own in match.groupdict().items()})

    def _forked(self, job: str, **arguments: object) -> tuple[int, str]:
        environment = {name: value for name, value in os.environ.items() if name.startswith("XDG_")}
        place = {"folder": str(self.folder), "environment": environment | self._environment()}
        child = self.forks.start(f"{__name__}:{job}", **place, **arguments)
        return child.wait(), child.printed()

    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {"PATH": path, "NO_COLOR": "1", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}

    def _here(self, text: str) -> str:
        for shown, own in self.ids.items():
            text = text.replace(shown, own)
        return text.replace(SHOWN_FOLDER, str(self.folder))

    def _pattern(self, shown: str) -> str:
        """An expression for the output: ids, times and paddings of columns differ, everything else is literal."""
        self._names = {}
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
        if name := next((name for name, shown in self._names.items() if shown == text), ""):
            return f"(?P={name})"
        name = f"id{len(self._names)}"
        self._names[name] = text
        return f"(?P<{name}>{_VARIES['id']})"


def run_datamind(folder: str, environment: Mapping[str, str], argv: list[str]) -> None:
    """The ``datamind`` command, in a process that was forked for it."""
    from datamind_cli.main import main

    _settle(folder, environment)
    sys.argv = argv
    _exit_with(main)


def modules_of_a_session(folder: str, environment: Mapping[str, str]) -> list[str]:
    """What a few commands import on their way, so that a process that forks can have it already."""
    from datamind_cli.main import cli

    _settle(folder, environment)
    for name, content in (("kiln.md", "# Kiln\n\nIt is fired on Tuesdays.\n"), ("ships.csv", "name,berth\nIda,4\n")):
        Path(name).write_text(content, encoding="utf-8")
    for argv in (["ingest", "kiln.md"], ["ingest", "ships.csv"], ["ask", "When is the kiln fired?"], ["why"]):
        with contextlib.suppress(SystemExit):
            cli.main(argv)
    # A thread of LanceDB's own starts when it is imported, and would be missing in a fork.
    return [name for name in sys.modules if not name.startswith(("lancedb", "datamind_kb_lancedb", "__mp_main__"))]


def run_script(folder: str, environment: Mapping[str, str], code: str) -> None:
    """A Python script, in a process that was forked for it."""
    _settle(folder, environment)
    _exit_with(lambda: exec(compile(code, "example.py", "exec"), {"__name__": "__main__"}))


def _settle(folder: str, environment: Mapping[str, str]) -> None:
    os.chdir(folder)
    for name in [name for name in os.environ if name.startswith("DATAMIND")]:
        del os.environ[name]
    os.environ.update(environment)
    # Fresh ones: the process forked from had read its own, which then can no longer be set up.
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", closefd=False)


def _exit_with(work: Callable[[], object]) -> None:
    code = 0
    try:
        work()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    sys.stderr.flush()
    if code:
        os._exit(code)
