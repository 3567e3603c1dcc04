"""``python -m tests.support.renew_transcripts [PAGE …]``: put today's output into pages whose transcripts differ.

What is shown is what was printed. A shown part ``[…]`` cannot be renewed and is reported instead.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests.e2e.test_documentation_examples import PAGES, blocks, runnable
from tests.support.documentation import PRELOADED, SHOWN_FOLDER, Block, Reader, commands_of
from tests.support.forks import Forks


def renew(page: Path, forks: Forks, folder: Path) -> bool:
    """Follow one page; returns whether it was written anew."""
    reader = Reader(folder, forks)
    text = before = page.read_text(encoding="utf-8")
    for block in blocks(str(page)):
        text = _renewed(text, block, reader)
    if text != before:
        page.write_text(text, encoding="utf-8")
    return text != before


def _renewed(text: str, block: Block, reader: Reader) -> str:
    if block.title:
        reader.follow(block)
    elif block.language == "python":
        code, output = reader.run_python(block.body)
        text = _compared(text, reader, block.body, block.shown, code, output)
    elif block.language == "console":
        for command, shown in commands_of(block.body):
            code, output = reader.run(command)
            text = _compared(text, reader, command, shown, code, output)
    return text


def _compared(text: str, reader: Reader, what: str, shown: str, code: int, output: str) -> str:
    try:
        reader.compare(what, shown, code, output)
        return text
    except AssertionError as difference:
        if "[…]" in shown or text.count(shown) != 1 or (code and "datamind: " not in output):
            print(f"to be done by hand: {difference}", file=sys.stderr)
            return text
    today = output.replace(str(reader.folder), SHOWN_FOLDER)
    for name, own in reader.ids.items():
        today = today.replace(own, name)
    today = today.rstrip("\n") + shown[len(shown.rstrip("\n")) :]
    reader.compare(what, today, code, output)
    return text.replace(shown, today)


@contextmanager
def _reader_folder() -> Iterator[Path]:
    # As long as the one that is shown, so that columns of paths keep their width.
    width = len(SHOWN_FOLDER) - len("/tmp/")
    folder = next(path for number in count() if not (path := Path("/tmp", f"{number:0{width}d}")).exists())
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def main() -> None:
    """Renew the pages that are named, or all."""
    with tempfile.TemporaryDirectory() as work, Forks(Path(work) / "forks", *PRELOADED) as forks:
        for page in sys.argv[1:] or [page for page in PAGES if runnable(page)]:
            with _reader_folder() as folder:
                if renew(Path(page), forks, folder):
                    print(f"renewed {page}")


if __name__ == "__main__":
    main()
