"""What is found in a folder, and what is passed over and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from datamind.capabilities.ingest import files
from datamind.capabilities.ingest.files import Located, PathPolicy, read_file
from datamind.capabilities.ingest.folder import survey
from datamind.core.errors import SourceUnreadable


def fill(folder: Path, *names: str, text: str = "words\n") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found(folder: Path, **policy: object) -> tuple[list[str], dict[str, str]]:
    seen = survey(Located(folder, ()), PathPolicy(folder, **policy))
    documents = ["/".join(located.parts) for located in seen.of("kb")]
    told = [seen.told(located, code) for located, code in seen.skipped]
    return documents, {skipped.path: skipped.code.removeprefix("skipped.") for skipped in told}


def test_everything_that_is_no_document_has_its_reason(tmp_path: Path) -> None:
    fill(tmp_path, "a.md", "b/c.txt", "b/.secret", ".git/config", "node_modules/x/readme.md", "~$a.docx", "draft.md~")
    fill(tmp_path, "store/kb.txt", "datamind.toml", "Thumbs.db", "b/__pycache__/a.pyc")
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    (tmp_path / "out").symlink_to("/")
    os.mkfifo(tmp_path / "pipe")
    documents, skipped = found(tmp_path, forbidden=(tmp_path / "store",))
    assert documents == ["a.md", "b/c.txt"]
    assert skipped == {
        **dict.fromkeys([".git", "b/.secret"], "hidden"),
        **dict.fromkeys(["node_modules", "~$a.docx", "draft.md~", "Thumbs.db", "b/__pycache__"], "junk"),
        **dict.fromkeys(["link.md", "b/loop", "out"], "link"),
        "store": "storage",
        "datamind.toml": "settings",
        "photo.jpg": "no_loader",
        "pipe": "special",
    }


def test_ignore_files_hold_from_their_folder_down_and_the_nearest_decides(tmp_path: Path) -> None:
    fill(
        tmp_path, "a.md", "a.log", "keep.log", "build/x.md", "docs/build/y.md", "docs/b.log", "docs/c.md", "docs/d.tex"
    )
    fill(tmp_path, ".gitignore", text="# logs\n*.log\n!keep.log\n/build/\n")
    fill(tmp_path, "docs/.datamindignore", text="!b.log\n*.tex\n")
    documents, skipped = found(tmp_path)
    assert documents == ["a.md", "docs/b.log", "docs/build/y.md", "docs/c.md", "keep.log"]
    assert {path for path, code in skipped.items() if code == "ignored"} == {"a.log", "build", "docs/d.tex"}


@pytest.mark.parametrize("text", ["", "\ufeff*.log\n", "[\n(\\\n***/\n!\n", "a\0b\n"])
def test_an_odd_ignore_file_leaves_the_rest_alone(tmp_path: Path, text: str) -> None:
    fill(tmp_path, "a.md")
    fill(tmp_path, ".gitignore", text=text)
    assert found(tmp_path)[0] == ["a.md"]


def test_what_belongs_to_a_skill_is_no_document(tmp_path: Path) -> None:
    fill(tmp_path, "refund/SKILL.md", "refund/forms/a.md", "other.md")
    seen = survey(Located(tmp_path, ()), PathPolicy(tmp_path))
    assert ["/".join(located.parts) for located in seen.of("skills")] == ["refund/SKILL.md"]
    assert found(tmp_path) == (["other.md"], {"refund/forms/a.md": "bundled"})


def test_a_very_deep_folder_and_names_in_any_encoding(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(300):
        deep /= "d"
    fill(deep, "end.md")
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("words")
    (tmp_path / "报告.md").write_text("words")
    documents, _ = found(tmp_path)
    assert documents == [os.fsdecode(b"caf\xe9.md"), "/".join(["d"] * 300 + ["end.md"]), "报告.md"]


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, "log.txt", text="one\n")
    path, reads = tmp_path / "log.txt", []

    def slices(descriptor: int, *_: object):
        reads.append(content := os.read(descriptor, 1 << 20))
        if len(reads) < changes:
            path.write_text("one\n" * (len(reads) + 1))
        yield content

    monkeypatch.setattr(files, "_slices", slices)
    changes = 2
    assert read_file(Located(tmp_path, ("log.txt",)), max_bytes=100) == b"one\none\n"
    reads.clear()
    changes = 99
    with pytest.raises(SourceUnreadable, match="changes while it is read") as raised:
        read_file(Located(tmp_path, ("log.txt",)), max_bytes=100)
    assert (raised.value.code, raised.value.retryable, len(reads)) == ("source_unreadable.changed", True, 3)
