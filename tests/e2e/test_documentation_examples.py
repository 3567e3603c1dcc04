"""What the documentation shows is run: Python blocks, commands and their output, page by page in one folder each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import ROOT
from tests.support.documentation import PRELOADED, Block, Reader, blocks_of
from tests.support.forks import Forks

PATTERNS = ("README*.md", "datamind-*/README.md", "docs/**/*.md")
PAGES = [path.relative_to(ROOT).as_posix() for pattern in PATTERNS for path in sorted(ROOT.glob(pattern))]


def blocks(page: str) -> list[Block]:
    return list(blocks_of((ROOT / page).read_text(encoding="utf-8")))


def runnable(page: str) -> bool:
    return any(block.language in ("python", "console") and not block.title for block in blocks(page))


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    folder = tmp_path_factory.mktemp("session")
    environment = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "STATE", "DATA", "CACHE")}
    with Forks(tmp_path_factory.mktemp("forks"), *PRELOADED) as forks:
        session = {"folder": str(folder), "environment": environment}
        forks.preload(forks.run("tests.support.documentation:modules_of_a_session", **session))
        yield forks


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)])
def test_a_page_does_what_it_shows(page, tmp_path, forks):
    reader = Reader(tmp_path, forks)
    for block in blocks(page):
        reader.follow(block)


@pytest.mark.parametrize("page", ["README.md", "README.zh.md", "docs/tutorial/first-steps.md"])
def test_the_first_pages_show_something_that_runs(page):
    assert runnable(page)


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        ("stored · 1 receipt · 0.05 s", "stored · 2 receipts · 0.05 s"),
        ("a  rcpt_01m8q66f7t1trxmavaxpxey8t3.default\n", "a  none\n"),
        ("mem_01m8q66f7t1trxmavaxpxey8t3 and mem_01m8q66f7t1trxmavaxpxey8t3", "mem_{0}1 and mem_{0}2"),
        ("first\n[…]\nlast", "first\nlast and more"),
    ],
)
def test_another_output_than_the_one_shown_is_found(shown, output, tmp_path, forks):
    with pytest.raises(AssertionError, match="shown:"):
        Reader(tmp_path, forks).compare("it", shown, 0, output.format("0" * 25))


def test_ids_times_and_paddings_may_differ(tmp_path, forks):
    reader = Reader(tmp_path, forks)
    shown = "id                              at\nmem_01m8q66f7t1trxmavaxpxey8t3  2026-11-30 21:08:57  0.05 s\n"
    output = "id    at\nmem_" + "0" * 26 + "  2027-01-01 00:00:00   1.50 s\n"
    reader.compare("it", shown, 0, output)
    assert reader.ids == {"mem_01m8q66f7t1trxmavaxpxey8t3": "mem_" + "0" * 26}
