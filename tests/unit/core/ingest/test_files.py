"""Opening files: beneath a granted root, by descriptor, never through a link, never more than the limit."""

from __future__ import annotations

import errno
import inspect
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from datamind.capabilities.ingest import files
from datamind.capabilities.ingest.files import (
    Located,
    NotGranted,
    PathPolicy,
    is_folder,
    locate,
    printable,
    read_file,
    walk,
)
from datamind.core.errors import DataMindError, LimitExceeded, NotFound, PathDenied, SourceUnreadable
from tests.support.forks import Forks
from tests.support.path_cases import APART, EXPECTED_TEXT, LATER, SECRET, PathCase, build, read_cases

LIMIT = 1 << 20
CASES = read_cases()
NOW = [case for case in CASES if case.id not in LATER and case.id not in APART]


def by_id(name: str) -> PathCase:
    return next(case for case in CASES if case.id == name)


def read(root: Path, path: str, *, limit: int = LIMIT) -> bytes:
    return read_file(locate(path, PathPolicy(root)), max_bytes=limit)


def names(root: Path) -> list[str]:
    return ["/".join(located.parts) for located in walk(Located(root, ()))]


def test_every_case_is_driven_here_or_named_as_another_operations() -> None:
    assert {case.id for case in CASES} == {case.id for case in NOW} | set(LATER) | set(APART)
    assert {case.operation for case in NOW} == {"read"}
    assert not {case.operation for case in CASES if case.id in LATER} - {"write", "ingest", "profile"}


@pytest.mark.parametrize("case", NOW, ids=lambda case: case.id)
def test_path_case(case: PathCase, tmp_path: Path) -> None:
    root = build(case, tmp_path)
    path = case.input.replace("{A}", str(root))
    if case.expected == "ok":
        text = read(root, path).decode()
        assert text == EXPECTED_TEXT.get(case.id, f"text of {Path(path).name}")
        return
    answers: list[BaseException | bytes] = []

    def attempt() -> None:
        try:
            answers.append(read(root, path))
        except BaseException as error:
            answers.append(error)

    thread = threading.Thread(target=attempt, daemon=True)  # a FIFO opened wrongly would never answer
    thread.start()
    thread.join(1.0)
    assert len(answers) == 1, "no answer within a second"
    assert isinstance(answers[0], PathDenied | NotFound), answers[0]
    assert SECRET not in str(answers[0])
    assert "\n" not in str(answers[0])


@pytest.mark.parametrize("name", ["P-012", "P-013"])
def test_what_looks_like_a_traversal_is_a_plain_name(name: str, tmp_path: Path) -> None:
    case = by_id(name)
    root = build(case, tmp_path)
    target = root / case.input
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("an odd name", encoding="utf-8")
    assert read(root, case.input) == b"an odd name"


def test_p023_and_its_kin_are_no_local_paths(tmp_path: Path) -> None:
    for raw in ("//server/share/x", "\\\\server\\share\\x", "~/x", "~root/x", "file:x", "HTTP://h/x", "C:\\x", "c:x"):
        with pytest.raises(PathDenied) as caught:
            locate(raw, PathPolicy(tmp_path))
        assert caught.value.code == "path_denied.not_local", raw


@pytest.mark.parametrize("raw", ["", "a\0b", "x" * 5000])
def test_malformed_paths_are_refused(raw: str, tmp_path: Path) -> None:
    with pytest.raises(PathDenied) as caught:
        locate(raw, PathPolicy(tmp_path))
    assert caught.value.code == "path_denied.malformed"


def test_roots_are_compared_by_parts(tmp_path: Path) -> None:
    policy = PathPolicy(tmp_path / "p1", roots=(tmp_path / "granted", tmp_path / "one.txt"))
    assert locate(str(tmp_path / "granted" / "x"), policy) == Located(tmp_path / "granted", ("x",))
    assert locate(str(tmp_path / "one.txt"), policy) == Located(tmp_path / "one.txt", ())
    for outside in ("granted-not/x", "one.txt2", "p1-evil/x", ""):
        with pytest.raises(NotGranted):
            locate(str(tmp_path / outside), policy)


def test_a14_stores_and_hidden_files_are_refused_whatever_was_granted(tmp_path: Path) -> None:
    policy = PathPolicy(tmp_path / "data", roots=(tmp_path,), forbidden=(tmp_path / "storage",))
    for raw, code in (("storage/control.db", "storage"), ("storage", "storage"), ("x/.env", "hidden"), (".", "")):
        if not code:
            assert locate(str(tmp_path / raw), policy).path == tmp_path
            continue
        with pytest.raises(PathDenied) as caught:
            locate(str(tmp_path / raw), policy)
        assert caught.value.code == f"path_denied.{code}"


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/null", "/dev/tty"])
def test_p044_a_device_is_refused_even_when_the_user_names_it(target: str) -> None:
    with pytest.raises((PathDenied, NotFound, SourceUnreadable)):
        read_file(Located(Path(target), ()), max_bytes=LIMIT)


def test_p039_a_hard_link_is_refused_in_a_folder_and_read_when_the_user_names_it(tmp_path: Path) -> None:
    root = build(by_id("P-039"), tmp_path)
    with pytest.raises(PathDenied) as caught:
        read(root, "hard")
    assert caught.value.code == "path_denied.hard_link"
    assert read_file(Located(root / "hard", ()), max_bytes=LIMIT) == SECRET.encode()


def test_a_link_in_any_part_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.txt").write_text("x")
    root = tmp_path / "p1"
    root.mkdir()
    (root / "folder").symlink_to(tmp_path / "real")
    for path in ("folder/x.txt", "folder"):
        with pytest.raises(PathDenied) as caught:
            read(root, path)
        assert caught.value.code == "path_denied.link"
    assert not is_folder(Located(root, ("folder",)))
    with pytest.raises(PathDenied):
        read_file(Located(root / "folder", ()), max_bytes=LIMIT)


def test_p038_a_folder_swapped_for_a_link_never_leaks(tmp_path: Path) -> None:
    root, stop = tmp_path / "p1", threading.Event()
    (root / "sub" / "etc").mkdir(parents=True)
    (root / "sub" / "etc" / "passwd").write_text("mine")
    (root / "link").symlink_to("/")

    def swap() -> None:
        while not stop.is_set():
            (root / "sub").rename(root / "aside")
            (root / "link").rename(root / "sub")
            (root / "sub").rename(root / "link")
            (root / "aside").rename(root / "sub")

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: dict[str, int] = {}
    try:
        for _ in range(2_000):
            try:
                answer = read(root, "sub/etc/passwd").decode()
            except (PathDenied, NotFound) as error:
                answer = error.code
            seen[answer] = seen.get(answer, 0) + 1
    finally:
        stop.set()
        swapper.join()
    assert set(seen) <= {"mine", "path_denied.link", "not_found.file"}, seen
    assert "path_denied.link" in seen, "the race was never run"


def test_p048_names_that_are_not_utf_8_are_listed_and_shown_escaped(tmp_path: Path) -> None:
    root = build(by_id("P-048"), tmp_path)
    found = [located for located in walk(Located(root, ())) if not located.path.name.isascii()]
    assert [printable(located.path.name) for located in found] == ["\\xff\\xfe.txt"]
    assert read_file(found[0], max_bytes=LIMIT) == b"named"
    json.dumps(printable(found[0].path)).encode("utf-8")


def test_names_that_differ_are_shown_differently() -> None:
    raw = [
        "a\x85b",
        "a\udc85b",
        "a\U000e0001b",
        "a\nb",
        "a\\nb",
        "a\\\\nb",
        "a\udcffb",
        "a\\xffb",
        "a\xffb",
        "a\u202eb",
        "a\\u202eb",
        "e\u0301",
        "\u00e9",
    ]
    shown = [printable(name) for name in raw]
    assert len(set(shown)) == len(raw), shown
    assert all(char.isprintable() for name in shown for char in name)


def test_ordinary_names_are_shown_as_they_are() -> None:
    for name in ("notes/a b;$(x).txt", "云杉项目周报.txt", "e\u0301.txt", "naïve-2.md"):
        assert printable(name) == name


def test_p055_a_file_of_another_user_is_a_clean_refusal(forks: Forks, open_folder: Path) -> None:
    (open_folder / "p1").mkdir(mode=0o755)
    secret = open_folder / "p1" / "secret.txt"
    secret.write_text(SECRET)
    secret.chmod(0)
    code, message = forks.run("tests.support.path_jobs:read_as_nobody", root=str(open_folder / "p1"), path="secret.txt")
    assert code == "path_denied.permission"
    assert message == "'secret.txt' may not be read"


def test_p056_a_sparse_file_over_the_limit_is_refused_before_reading(forks: Forks, tmp_path: Path) -> None:
    with (tmp_path / "big.txt").open("wb") as file:
        file.truncate(10 << 30)
    code, grown = forks.run(
        "tests.support.path_jobs:read_and_measure", root=str(tmp_path), path="big.txt", limit=100 << 20
    )
    assert code == "limit_exceeded"
    assert grown < 50 << 20


def test_p057_a_file_that_grows_while_it_is_read_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "grow.txt"
    path.write_bytes(b"x" * (LIMIT // 2))
    really_read, taken = os.read, []

    def read_and_grow(descriptor: int, size: int) -> bytes:
        with path.open("ab") as file:
            file.write(b"x" * (LIMIT // 4))
        piece = really_read(descriptor, size)
        taken.append(len(piece))
        return piece

    monkeypatch.setattr(os, "read", read_and_grow)
    with pytest.raises(LimitExceeded, match=r"grow\.txt"):
        read(tmp_path, "grow.txt")
    assert sum(taken) <= LIMIT + 1


@pytest.mark.parametrize("size", [0, 1, LIMIT - 1, LIMIT])
def test_up_to_the_limit_a_file_is_read_whole(tmp_path: Path, size: int) -> None:
    (tmp_path / "x").write_bytes(b"x" * size)
    assert len(read(tmp_path, "x")) == size


def test_one_byte_over_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * (LIMIT + 1))
    with pytest.raises(LimitExceeded):
        read(tmp_path, "x")


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    for path in ("x", "sub/x", "x" * 300):
        with pytest.raises(NotFound) as caught:
            read(tmp_path, path)
        assert caught.value.code == "not_found.file"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    with pytest.raises(PathDenied) as caught:
        read(tmp_path, "sub")
    assert caught.value.code == "path_denied.not_a_file"


@pytest.mark.parametrize("call", ["open", "read"])
def test_a_failing_disk_or_a_full_descriptor_table_is_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (tmp_path / "x").write_text("x")
    number = errno.EMFILE if call == "open" else errno.EIO

    def fail(*args: object, **more: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, call, fail)
        with pytest.raises(SourceUnreadable) as caught:
            read(tmp_path, "x")
    assert os.strerror(number) in str(caught.value)


def test_descriptors_are_closed_whatever_happens(tmp_path: Path) -> None:
    root = build(by_id("P-035"), tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("a.txt", "l1", "sub", "nowhere/x", "sub/b.txt/x"):
        try:
            read(root, path)
        except DataMindError:
            continue
    names(root)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_walk_gives_plain_files_in_order_and_passes_over_hidden_ones_and_links(tmp_path: Path) -> None:
    for path in ("b.txt", "a/z.txt", "a/y/x.txt", ".hidden", ".git/config", "a/.b"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / "c").symlink_to(tmp_path / "a")
    (tmp_path / "d").symlink_to(tmp_path / "b.txt")
    os.mkfifo(tmp_path / "e")
    assert names(tmp_path) == ["a/y/x.txt", "a/z.txt", "b.txt"]


def test_a_deep_tree_is_walked_without_a_stack_of_calls(tmp_path: Path) -> None:
    depth = 200
    deepest = tmp_path.joinpath(*"d" * depth)
    deepest.mkdir(parents=True)
    (deepest / "x.txt").write_text("x")
    (tmp_path / "z.txt").write_text("z")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 100)
    try:
        found = list(walk(Located(tmp_path, ())))
    finally:
        sys.setrecursionlimit(limit)
    assert [len(located.parts) for located in found] == [depth + 1, 1]


def test_a_folder_that_cannot_be_opened_is_given_as_it_is_so_that_reading_says_why(
    forks: Forks, open_folder: Path
) -> None:
    for path in ("p1/closed/x.txt", "p1/open.txt"):
        (open_folder / path).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        (open_folder / path).write_text("x")
    (open_folder / "p1" / "closed").chmod(0)
    found = forks.run("tests.support.path_jobs:walk_as_nobody", root=str(open_folder / "p1"))
    assert found == [["closed", "path_denied.permission"], ["open.txt", "x"]]
    (open_folder / "p1" / "closed").chmod(0o755)


def test_a_folder_that_vanishes_during_a_walk_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text("x")
    walking = walk(Located(tmp_path, ()))
    assert next(walking).parts == ("a", "x.txt")
    (tmp_path / "b" / "x.txt").unlink()
    (tmp_path / "b").rmdir()
    assert list(walking) == []


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    with Forks(tmp_path_factory.mktemp("forks"), "tests.support.path_jobs") as running:
        yield running
