"""Running the ``datamind`` command: in this process, in one of its own, and on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.plugins import plugin_source, write_distribution

SCRIPTED_MODEL = '''
"""A model that stores what it is told in memory and answers with the first memory it finds."""
import json

from datamind.testing.models import ScriptedModel, calling


def reply(request):
    last = request.messages[-1]
    stores = "memory_save" in {tool.name for tool in request.tools}
    if last.role == "tool":
        found = json.loads(last.results[0].content).get("results", [])
        if stores:
            return "That is saved."
        return f"{found[0]['content']} [1]" if found else "Nothing is known about this."
    verb, _, rest = last.text.partition(" ")
    if not stores:
        return calling("memory_recall", {"query": last.text})
    if verb == "pretend":
        return "I saved it."
    if verb == "file":
        return calling("kb_add_file", {"path": rest})
    said = last.text.partition(": ")[2] if verb == "Remember" else last.text
    return calling("memory_save", {"text": said})


async def open_client(ctx, options):
    return ScriptedModel(reply)
'''


def install_scripted_model(site: Path) -> None:
    """A distribution whose model client ``scripted`` needs no network."""
    plugin = plugin_source(kind="model.client", provider="scripted", factory="acme_model.client:open_client")
    write_distribution(site, "acme-model", plugin, modules={"client": SCRIPTED_MODEL})


@dataclass(frozen=True)
class Datamind:
    """The command in a folder of its own, with a site of its own for plugins."""

    home: Path
    site: Path
    environ: Mapping[str, str]

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "datamind_cli", *arguments]

    def env(self, **changes: str) -> dict[str, str]:
        inherited = {key: value for key, value in os.environ.items() if not key.upper().startswith("DATAMIND")}
        own = {"PYTHONPATH": str(self.site), "PYTHONDONTWRITEBYTECODE": "1", **self.environ, **changes}
        return {key: value for key, value in {**inherited, **own}.items() if value != "(unset)"}

    def run(self, *arguments: str, stdin: str | bytes = b"", **changes: str) -> Ended:
        """Run it to its end; ``stdin`` is what is piped into it."""
        given = stdin.encode() if isinstance(stdin, str) else stdin
        result = subprocess.run(
            self.command(*arguments),
            cwd=self.home,
            env=self.env(**changes),
            input=given,
            capture_output=True,
            timeout=60,
        )
        return Ended(result.returncode, result.stdout, result.stderr)

    def start(self, *arguments: str, **changes: str) -> subprocess.Popen[bytes]:
        """Start it, for a test that interrupts it."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.home,
            env=self.env(**changes),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def on_terminal(self, *arguments: str, typed: Sequence[tuple[bytes, bytes]] = (), **changes: str) -> Ended:
        """Run it on a pseudo-terminal, where all output is one stream.

        Args:
            typed: What to type once some output has appeared, in order: ``(awaited output, keys)``.
        """
        command, environ = self.command(*arguments), self.env(**{"TERM": "xterm", **changes})
        pid, terminal = pty.fork()
        if pid == 0:  # the child
            try:
                os.chdir(self.home)
                os.execve(sys.executable, command, environ)
            finally:
                os._exit(127)
        try:
            output = _converse(terminal, list(typed))
        finally:
            os.close(terminal)
        return Ended(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), output, b"")


def _converse(terminal: int, typed: list[tuple[bytes, bytes]]) -> bytes:
    output, seen, deadline = b"", 0, time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.2)[0]:
            # Only once it is quiet: a signal between a prompt and the reading that follows it is seen after the line.
            if typed and typed[0][0] in output[seen:]:
                seen = len(output)
                os.write(terminal, typed.pop(0)[1])
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux ends a terminal so
            return output
        if not piece:
            return output
        output += piece
    raise AssertionError(f"the command did not end: {output.decode(errors='replace')}")


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        return self.stdout.decode("utf-8", "surrogateescape")

    @property
    def err(self) -> str:
        return self.stderr.decode("utf-8", "surrogateescape")
