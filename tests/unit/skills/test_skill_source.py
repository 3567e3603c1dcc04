"""The ``profile`` source on real folders: what it finds, what it refuses, and that a write is one step."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from datamind.core.errors import (
    AccessDenied,
    ConfigError,
    Conflict,
    InputInvalid,
    LimitExceeded,
    PathDenied,
    StoreError,
)
from datamind.core.protocols.skills import SkillDraft, SkillReader, SkillSource
from datamind.core.types import content_hash
from datamind.testing.providers import ProviderTarget
from datamind_skills.skill_files import FILE_NAME, MAX_FILE_BYTES, SkillLibrary, SkillRoot, read_skill_file

TEA = SkillDraft(
    name="brew-tea", description="How we brew tea.", body="# Tea\n\nBoil water first.\n", keywords=("tea",)
)


def make_target(**options: Any) -> ProviderTarget:
    return ProviderTarget(
        "skills.source", "datamind_skills.source:open_source", "datamind_skills.options:SkillSourceOptions", options
    )


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[Any]:
    opened = await make_target().open(tmp_path)
    yield opened
    await opened.aclose()
    await opened.aclose()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data" / "profiles" / "test" / "skills"


def write(folder: Path, text: str | bytes = "---\ndescription: A skill.\n---\nBody\n", name: str = FILE_NAME) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


async def names(source: Any) -> list[str]:
    return [skill.name for skill in await source.skills()]


async def problems(source: Any) -> dict[str, str]:
    return {problem.location: problem.message for problem in await source.problems()}


async def test_nothing_is_made_by_reading(source: Any, root: Path) -> None:
    assert (await names(source), await problems(source)) == ([], {})
    assert await source.search("tea", 5) == []
    assert await source.skill("tea") is None
    assert await source.remove("tea") is False
    assert not root.exists()


async def test_put_and_read_back(source: Any, root: Path) -> None:
    assert await source.put(TEA) is True
    skill = await source.skill("brew-tea")
    assert (skill.name, skill.description, skill.body, skill.keywords) == (
        TEA.name, TEA.description, TEA.body, TEA.keywords,
    )  # fmt: skip
    assert (skill.location, skill.writable, skill.files) == ("skills/brew-tea/SKILL.md", True, ())
    assert skill.checksum == content_hash((root / "brew-tea" / FILE_NAME).read_bytes())
    assert (await source.skills())[0] == skill.model_copy(update={"body": ""})
    assert isinstance(source, SkillSource)


BODIES = ["", "\n", "\n\nText", "Text\r\nmore\r\n", "  code\n", "---\nx\n---\n", "\ufeffText", "文\u2028本"]


@pytest.mark.parametrize("body", BODIES)
async def test_bodies_come_back_exactly(source: Any, body: str) -> None:
    await source.put(TEA.model_copy(update={"body": body}))
    assert (await source.skill("brew-tea")).body == body


async def test_g1_changes_on_disk_are_seen_by_the_next_call(source: Any, root: Path) -> None:
    path = write(root / "a", "---\ndescription: One.\n---\n1")
    assert (await source.skills())[0].description == "One."
    for word in ("Two.", "Six.", "Ten.") * 20:  # same size, same file, within one tick of the file system's clock
        path.write_text(f"---\ndescription: {word}\n---\n1")
        assert (await source.skills())[0].description == word
        assert [hit.skill.description for hit in await source.search(word, 5)] == [word]
    path.unlink()
    assert await names(source) == []
    assert await source.search("ten", 5) == []


def test_g1_a_change_within_one_tick_of_the_clock_is_seen(root: Path) -> None:
    library = SkillLibrary((SkillRoot(root, writable=True, shown_as="skills"),))
    path = write(root / "a")
    for number in range(100, 400):
        path.write_text(f"---\ndescription: Number {number}.\n---\n")
        assert library.scan().skills["a"].header.description == f"Number {number}."


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    folders: list[str] = []

    def counted(root: Path, folder: str) -> bytes:
        folders.append(folder)
        return read_skill_file(root, folder)

    monkeypatch.setattr("datamind_skills.skill_files.read_skill_file", counted)
    return folders


def test_g1_only_changed_files_are_read_again(root: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datamind_skills.skill_files.time.time_ns", lambda: 2**62)
    library = SkillLibrary((SkillRoot(root, writable=True, shown_as="skills"),))
    for name in ("a", "b", "broken"):
        write(root / name, "no front matter" if name == "broken" else "---\ndescription: One.\n---\n")
    library.scan()
    write(root / "b", "---\ndescription: Two, longer.\n---\n")
    assert library.scan().skills["b"].header.description == "Two, longer."
    assert reads == ["a", "b", "broken", "b"]
    write(root / "broken")
    assert list(library.scan().skills) == ["a", "b", "broken"]
    assert reads == ["a", "b", "broken", "b", "broken"]


def test_g1_a_file_that_was_just_changed_is_not_trusted_to_its_time_stamp(
    root: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = SkillLibrary((SkillRoot(root, writable=True, shown_as="skills"),))
    stamp = write(root / "a").stat().st_ctime_ns
    for now, total in ((stamp, 1), (stamp + 10**7, 2), (stamp + 10**9, 3), (stamp + 10**9, 3)):
        monkeypatch.setattr("datamind_skills.skill_files.time.time_ns", lambda now=now: now)
        library.scan()
        assert len(reads) == total


async def test_g2_one_broken_skill_hides_no_other(
    source: Any, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = write(tmp_path / "outside", "---\ndescription: Outside.\n---\nSECRET")
    for name in ("a", "z"):
        write(root / name)
    write(root / "no-description", "---\nname: x\n---\n")
    write(root / "bytes", b"\xff\xfe\x00")
    write(root / "huge", b"---\ndescription: x\n---\n" + b"x" * MAX_FILE_BYTES)
    write(root / "name", "---\nname: ../../x\ndescription: x\n---\n")
    (root / "folder" / FILE_NAME).mkdir(parents=True)
    (root / "fifo").mkdir()
    os.mkfifo(root / "fifo" / FILE_NAME)
    (root / "socket").mkdir()
    monkeypatch.chdir(root / "socket")  # the path of a socket may have 108 characters
    listener = socket.socket(socket.AF_UNIX)
    (root / "link").symlink_to(secret.parent)
    (root / "inner-link").mkdir()
    (root / "inner-link" / FILE_NAME).symlink_to(secret)
    (root / "dangling").symlink_to(tmp_path / "nowhere")
    (root / "hard").mkdir()
    os.link(secret, root / "hard" / FILE_NAME)
    os.truncate(write(root / "sparse"), 10 << 30)
    write(root, "not a folder", name="README.md")
    (root / "only-files").mkdir()
    write(root / ".hidden")
    with listener:
        listener.bind(FILE_NAME)
        assert await names(source) == ["a", "z"]
        found = await problems(source)
        hits = await source.search("Outside SECRET", 5)
    broken = {location.split("/")[1] for location in found}
    assert broken == {
        *("no-description", "bytes", "huge", "name", "folder", "fifo"),
        *("socket", "link", "inner-link", "dangling", "hard", "sparse"),
    }
    assert hits == []
    assert all(message and "\n" not in message and "SECRET" not in message for message in found.values())
    assert "symbolic link" in found["skills/link"]


async def test_p048_file_names_that_are_no_text_are_escaped(source: Any, root: Path) -> None:
    write(root / "a")
    write(root / "a", "x", name=os.fsdecode(b"\xff\xfe.txt"))
    write(root / "a", "x", name="line\nbreak\u202e.txt")
    (root / os.fsdecode(b"\xff")).mkdir()
    write(root / os.fsdecode(b"\xff"), "broken")
    skill = await source.skill("a")
    assert [name for name, _ in skill.files] == ["line\\nbreak\\u202e.txt", "\\xff\\xfe.txt"]
    skill.model_dump_json().encode("utf-8")
    for problem in await source.problems():
        problem.model_dump_json().encode("utf-8")


async def test_bundled_files_are_listed_and_not_followed(source: Any, root: Path, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", "12345", name="secret.txt")
    write(root / "a")
    write(root / "a", "abc", name="notes.md")
    write(root / "a" / "scripts", "abcdef", name="run.py")
    write(root / "a" / ".git", "x", name="config")
    write(root / "a", "x", name=".hidden")
    (root / "a" / "link.txt").symlink_to(outside)
    (root / "a" / "link-dir").symlink_to(outside.parent)
    assert (await source.skill("a")).files == (("notes.md", 3), ("scripts/run.py", 6))


async def test_a54_g3_of_two_skills_of_one_name_the_first_root_wins(tmp_path: Path, root: Path) -> None:
    extra = tmp_path / "extra"
    write(root / "a", "---\nname: same\ndescription: Mine.\n---\n")
    write(root / "b", "---\nname: same\ndescription: Second folder.\n---\n")
    write(extra / "c", "---\nname: same\ndescription: Theirs.\n---\n")
    write(extra / "d", "---\ndescription: Only there.\n---\n")
    source = await make_target(extra_dirs=[str(extra), str(tmp_path / "missing")]).open(tmp_path)
    assert {skill.name: skill.description for skill in await source.skills()} == {"same": "Mine.", "d": "Only there."}
    found = await problems(source)
    assert set(found) == {"skills/b/SKILL.md", f"{extra}/c/SKILL.md", str(tmp_path / "missing")}
    assert "skills/a/SKILL.md" in found["skills/b/SKILL.md"]
    assert (await source.skill("d")).writable is False


async def test_extra_dirs_are_only_read(tmp_path: Path, root: Path) -> None:
    theirs = write(tmp_path / "extra" / "brew-tea", "---\ndescription: Their tea.\n---\nTheirs")
    before = theirs.read_bytes()
    source = await make_target(extra_dirs=[str(tmp_path / "extra")]).open(tmp_path)
    with pytest.raises(AccessDenied):
        await source.remove("brew-tea")
    assert await source.put(TEA) is True
    assert (await source.skill("brew-tea")).description == TEA.description
    assert await source.remove("brew-tea") is True
    assert (await source.skill("brew-tea")).description == "Their tea."
    assert theirs.read_bytes() == before


async def test_a_relative_extra_dir_starts_in_the_data_folder_and_may_be_a_link(tmp_path: Path) -> None:
    team = tmp_path / "team"
    write(team / "a")
    data = tmp_path / "data" / "profiles" / "test"
    data.mkdir(parents=True)
    (data / "shared").symlink_to(team)
    source = await make_target(extra_dirs=["shared"]).open(tmp_path)
    assert await names(source) == ["a"]


async def test_a_misspelt_option_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="extra_dir"):
        await make_target(extra_dir=["x"]).open(tmp_path)


async def test_g4_a_search_that_matches_nothing_returns_nothing(source: Any) -> None:
    await source.put(TEA)
    for text in ("zebra", "", "   ", "???", "the of and", "龙"):
        assert await source.search(text, 5) == []
    with pytest.raises(InputInvalid):
        await source.search("tea", 0)


async def test_search_finds_by_name_description_keywords_and_body(source: Any) -> None:
    await source.put(TEA)
    taxes = SkillDraft(name="file-taxes", description="Prepare the yearly declaration.", body="Ask the accountant.")
    report = SkillDraft(
        name="report", description="用中文写每周的报告", body="先列出数字。", keywords=("周报", "weekly")
    )
    await source.put(taxes)
    await source.put(report)
    for text, first in [
        ("brewing", "brew-tea"),
        ("tax", "file-taxes"),
        ("declarations", "file-taxes"),
        ("accountant", "file-taxes"),
        ("weekly", "report"),
        ("周报", "report"),
        ("报告怎么写", "report"),
        ("列出数字", "report"),
    ]:
        hits = await source.search(text, 10)
        assert hits[0].skill.name == first, text
        assert all(hit.score > 0 and hit.score_meaning and not hit.skill.body for hit in hits)


async def test_search_is_deterministic_bounded_and_ties_go_by_name(source: Any) -> None:
    for name in ("c", "a", "b"):
        await source.put(SkillDraft(name=name, description="Brew tea.", body="Same."))
    hits = [hit.skill.name for hit in await source.search("brew tea", 99)]
    assert hits == ["a", "b", "c"]
    assert [hit.skill.name for hit in await source.search("brew tea", 2)] == ["a", "b"]
    assert (await source.search("tea " * 100_000, 1))[0].score == (await source.search("tea", 1))[0].score


async def test_a_description_counts_more_than_a_mention_in_a_body(source: Any) -> None:
    await source.put(SkillDraft(name="one", description="Mend a bicycle tyre.", body="Pump it."))
    body = "Take a bicycle. " + "Pack lightly. " * 20
    await source.put(SkillDraft(name="two", description="Plan a trip.", body=body))
    assert [hit.skill.name for hit in await source.search("bicycle", 5)] == ["one", "two"]


async def test_g6_putting_the_same_draft_again_changes_nothing(source: Any, root: Path) -> None:
    await source.put(TEA)
    before = (root / "brew-tea" / FILE_NAME).stat()
    assert await source.put(TEA) is False
    after = (root / "brew-tea" / FILE_NAME).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    for change in ({"body": "x"}, {"description": "x"}, {"keywords": ()}):
        assert await source.put(TEA.model_copy(update=change)) is True


async def test_replacing_keeps_foreign_keys_and_bundled_files_and_the_folder(source: Any, root: Path) -> None:
    write(root / "My Tea Folder", "---\nname: brew-tea\ndescription: Old.\nlicense: MIT\n---\nOld body")
    write(root / "My Tea Folder", "x", name="cups.csv")
    assert await source.put(TEA) is True
    text = (root / "My Tea Folder" / FILE_NAME).read_text()
    assert "\nlicense: MIT\n" in text
    assert (await source.skill("brew-tea")).files == (("cups.csv", 1),)
    assert [path.name for path in root.iterdir()] == ["My Tea Folder"]


HOSTILE_NAMES = ["../../x", "..", "", "a/b", "/abs", "A", "a_b", "con", "a" * 65, "x\n", "\x00", "茶", "\ud800"]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
async def test_g7_p068_a_name_that_is_no_folder_name_is_refused(source: Any, tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputInvalid):
        await source.put(TEA.model_copy(update={"name": name}))
    assert await source.skill(name) is None
    assert await source.remove(name) is False
    assert sorted(tmp_path.rglob("*")) == before


async def test_g7_nothing_is_written_through_a_link(source: Any, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root.mkdir(parents=True)
    (root / "brew-tea").symlink_to(outside)
    with pytest.raises(PathDenied):
        await source.put(TEA)
    (root / "brew-tea").unlink()
    (root / "brew-tea").symlink_to(tmp_path / "new")
    with pytest.raises(PathDenied):
        await source.put(TEA)
    assert list(outside.iterdir()) == []
    assert not (tmp_path / "new").exists()


async def test_another_skill_and_a_broken_one_are_not_overwritten(source: Any, root: Path) -> None:
    other = write(root / "brew-tea", "---\nname: other\ndescription: Other.\n---\n")
    with pytest.raises(Conflict):
        await source.put(TEA)
    other.write_text("broken, but somebody's work")
    with pytest.raises(Conflict):
        await source.put(TEA)
    assert other.read_text() == "broken, but somebody's work"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"description": "  "}, InputInvalid),
        ({"description": "x" * 5000}, LimitExceeded),
        ({"body": "x" * MAX_FILE_BYTES}, LimitExceeded),
        ({"body": "\ud800"}, InputInvalid),
        ({"description": "a\udfff"}, InputInvalid),
        ({"keywords": ("\ud800",)}, InputInvalid),
    ],
)
async def test_a_bad_draft_leaves_nothing(
    source: Any, root: Path, change: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await source.put(TEA.model_copy(update=change))
    assert not root.exists()


async def test_control_characters_in_a_draft_are_kept_or_refused_never_lost(source: Any) -> None:
    for char in map(chr, [*range(1, 32), 127, 0x85, 0xA0, 0x2028, 0x202E, 0xFEFF, 0xFFFF]):
        draft = TEA.model_copy(update={"description": f"a{char}b"})
        try:
            await source.put(draft)
        except InputInvalid:
            continue
        assert (await source.skill("brew-tea")).description == draft.description


async def test_g8_remove_takes_the_file_and_an_empty_folder_only(source: Any, root: Path) -> None:
    await source.put(TEA)
    assert await source.remove("brew-tea") is True
    assert list(root.iterdir()) == []
    await source.put(TEA)
    bundled = write(root / "brew-tea", "x", name="cups.csv")
    assert await source.remove("brew-tea") is True
    assert await source.remove("brew-tea") is False
    assert bundled.exists()
    assert await names(source) == []
    assert await source.put(TEA) is True
    assert (await source.skill("brew-tea")).files == (("cups.csv", 1),)


async def test_the_read_view_has_no_way_to_write(source: Any) -> None:
    view = source.read_view()
    await source.put(TEA)
    assert (await view.skill("brew-tea")).body == TEA.body
    assert isinstance(view, SkillReader)
    assert not isinstance(view, SkillSource)
    assert not [name for name in ("put", "remove", "read_view", "sync", "aclose") if hasattr(view, name)]


async def test_g9_file_and_folders_are_synced_before_the_call_returns(
    source: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def recorded_sync(descriptor: int) -> None:
        fsync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        steps.append("file" if path.name.startswith(".") else path.name)

    def recorded_replace(*args: Any, **keywords: Any) -> None:
        replace(*args, **keywords)
        steps.append("replace")

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    await source.put(TEA)
    assert steps == ["test", "skills", "file", "replace", "brew-tea"]
    steps.clear()
    await source.put(TEA.model_copy(update={"body": "new"}))
    assert steps == ["file", "replace", "brew-tea"]
    steps.clear()
    await source.remove("brew-tea")
    assert steps == ["brew-tea", "skills"]
    await source.sync()


async def test_g5_a_reader_sees_the_old_or_the_new_file(source: Any, root: Path) -> None:
    await source.put(TEA)
    path, seen, done = root / "brew-tea" / FILE_NAME, set(), threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.add(content_hash(path.read_bytes()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    written = {content_hash(path.read_bytes())}
    for size in range(0, 200_000, 4_000):
        await source.put(TEA.model_copy(update={"body": "x" * size}))
        written.add(content_hash(path.read_bytes()))
    done.set()
    watcher.join()
    assert seen <= written
    assert [entry.name for entry in (root / "brew-tea").iterdir()] == [FILE_NAME]


WRITER = """
    import asyncio, itertools, sys
    from pathlib import Path
    from datamind.core.protocols.skills import SkillDraft
    from datamind_skills.skill_files import SkillRoot
    from datamind_skills.source import ProfileSkillSource
    async def main():
        source = ProfileSkillSource((SkillRoot(Path(sys.argv[1]), writable=True, shown_as="skills"),))
        for number in itertools.count():
            await source.put(SkillDraft(name="brew-tea", description="Tea.", body=f"{number} " * 20_000))
            print(number, flush=True)
    asyncio.run(main())
"""


async def test_a_killed_writer_leaves_a_whole_file(source: Any, root: Path) -> None:
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), str(root)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        acknowledged = 0
        while acknowledged < 5:
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
        acknowledged = max([acknowledged, *map(int, rest)])
        body = (await source.skill("brew-tea")).body
        number = int(body.split()[0])
        assert body == f"{number} " * 20_000
        assert number in (acknowledged, acknowledged + 1)
        assert (await source.skill("brew-tea")).files == ()


async def test_what_a_killed_writer_left_is_cleared_by_a_later_one(source: Any, root: Path) -> None:
    await source.put(TEA)
    old, young = (write(root / "brew-tea", "x", name=f".{FILE_NAME}.{age}") for age in ("old", "young"))
    os.utime(old, (time.time() - 7200,) * 2)
    await source.put(TEA.model_copy(update={"body": "new"}))
    assert (old.exists(), young.exists()) == (False, True)


async def test_p074_a_full_disk_leaves_the_old_file_and_no_other(source: Any, root: Path) -> None:
    await source.put(TEA)
    script = f"""
        import asyncio, resource
        from pathlib import Path
        from datamind.core.errors import StoreError
        from datamind.core.protocols.skills import SkillDraft
        from datamind_skills.skill_files import SkillRoot
        from datamind_skills.source import ProfileSkillSource
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        source = ProfileSkillSource((SkillRoot(Path({str(root)!r}), writable=True, shown_as="skills"),))
        for name in ("brew-tea", "new"):
            try:
                asyncio.run(source.put(SkillDraft(name=name, description="Tea.", body="x" * 100_000)))
            except StoreError as error:
                print(error.code)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["store_error", "store_error"]
    assert (await source.skill("brew-tea")).body == TEA.body
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*")) == ["brew-tea", f"brew-tea/{FILE_NAME}"]


async def test_a_file_where_a_folder_should_be_is_a_store_error(source: Any, root: Path) -> None:
    root.parent.mkdir(parents=True, exist_ok=True)
    root.write_text("in the way")
    with pytest.raises(StoreError):
        await source.put(TEA)
    assert "cannot be read" in (await problems(source))["skills"]


async def test_many_folders_are_bounded_and_said(source: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datamind_skills.skill_files.MAX_SKILLS", 3)
    for name in "abcde":
        write(root / name)
    assert await names(source) == ["a", "b", "c"]
    assert "first 3 of 5" in (await problems(source))["skills"]


def test_a_source_loads_its_libraries_on_use(tmp_path: Path) -> None:
    script = f"""
        import asyncio, sys
        from pathlib import Path
        from datamind_skills.skill_files import SkillRoot
        from datamind_skills.source import ProfileSkillSource
        heavy = lambda: sorted(m for m in ("bm25s", "numpy", "yaml", "pint") if m in sys.modules)
        source = ProfileSkillSource((SkillRoot(Path({str(tmp_path)!r}), writable=True, shown_as="skills"),))
        asyncio.run(source.search("tea", 5))
        print(heavy())
        (Path({str(tmp_path)!r}) / "a").mkdir()
        (Path({str(tmp_path)!r}) / "a" / "SKILL.md").write_text("---\\ndescription: Tea.\\n---\\n")
        asyncio.run(source.skills())
        print(heavy())
        asyncio.run(source.search("tea", 5))
        print(heavy())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['yaml']", "['bm25s', 'numpy', 'yaml']"]
