"""Start of the command line, beside the least that a command written with click costs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator

from measure import Row, medians_s

BARE = "import click\n@click.command()\ndef bare(): pass\nbare(['--help'], standalone_mode=False)"


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:

        def python(*arguments: str) -> None:
            subprocess.run([sys.executable, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)

        peer_s, help_s, plugins_s = medians_s(
            [
                lambda: python("-c", BARE),
                lambda: python("-m", "datamind_cli", "--help"),
                lambda: python("-m", "datamind_cli", "plugins"),
            ]
        )
    yield Row("datamind --help", help_s, "bare python + click", peer_s, max_ratio=2)
    yield Row("datamind plugins", plugins_s, "bare python + click", peer_s, max_ratio=4)
