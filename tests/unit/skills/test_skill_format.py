"""The SKILL.md format as people write it, and as somebody hostile would."""

from __future__ import annotations

import pytest

from datamind.core.errors import DataMindError, InputInvalid, SourceUnreadable
from datamind_skills.skill_format import SkillHeader, check_skill_name, read_skill, write_skill


def test_a_plain_file() -> None:
    header, body = read_skill(b"---\nname: brew-tea\ndescription: How we brew tea.\n---\n\n# Tea\n\nBoil.\n", "tea")
    assert (header.name, header.description, header.keywords) == ("brew-tea", "How we brew tea.", ())
    assert body == "# Tea\n\nBoil.\n"


@pytest.mark.parametrize(
    ("front", "name", "description", "keywords"),
    [
        ("description: |-\n  First line.\n  Second line.", "folder", "First line.\nSecond line.", ()),
        ("description: >\n  First half\n  second half.\n", "folder", "First half second half.", ()),
        ("name: a\ndescription: b\nkeywords: [tea, 'hot water', tea]", "a", "b", ("tea", "hot water")),
        ("name: a\ndescription: b\nkeywords:\n  - tea\n  - cup\n", "a", "b", ("tea", "cup")),
        ("name: a\ndescription: b\nkeywords: tea, hot water,, 茶，水、杯", "a", "b", ("tea", "hot water", *"茶水杯")),
        ("name: a\ndescription: b\nkeywords:", "a", "b", ()),
        ("name: a\ndescription: b\nkeywords: [null, tea]", "a", "b", ("tea",)),
        ("name:\ndescription: b", "folder", "b", ()),
        ("name: ~\ndescription: b", "folder", "b", ()),
        ('name: "a"\ndescription: "b: c # d"', "a", "b: c # d", ()),
        ("name: 7\ndescription: 2026-99-99", "7", "2026-99-99", ()),
        ("name: a\ndescription: yes", "a", "yes", ()),
        ("name: a\ndescription: !!python/object/apply:os.system ls", "a", "ls", ()),
        ("name: a\ndescription: &anchor b", "a", "b", ()),
        ("name: a\ndescription: 茶道指南\nlicense: MIT\nmetadata:\n  version: 1.0", "a", "茶道指南", ()),
    ],
)
def test_a54_front_matter_as_people_write_it(
    front: str, name: str, description: str, keywords: tuple[str, ...]
) -> None:
    for newline in ("\n", "\r\n"):
        for mark in ("", "\ufeff"):
            text = f"{mark}---\n{front}\n---\nBody\n".replace("\n", newline)
            header, body = read_skill(text.encode(), "folder")
            assert (header.name, header.description, header.keywords) == (name, description, keywords)
            assert body == f"Body{newline}"


def test_a54_a_fence_may_have_blanks_and_the_body_dashes() -> None:
    header, body = read_skill(b"---  \nname: a\ndescription: b\n---\t\nText\n\n---\n\nMore", "f")
    assert (header.name, body) == ("a", "Text\n\n---\n\nMore")
    assert read_skill(b"---\nname: a\ndescription: b\n---", "f")[1] == ""
    assert read_skill(b"---\nname: a\ndescription: b\n...\nBody", "f")[1] == "Body"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no front matter"),
        (b"# Only Markdown\n", "no front matter"),
        (b"\n---\nname: a\ndescription: b\n---\n", "no front matter"),
        (b"---\nname: a\ndescription: b\n", "no front matter"),
        (b"---\nname: a\n---\nBody", "no description"),
        (b"---\nname: a\ndescription:\n---\nBody", "no description"),
        (b"---\nname: a\ndescription: '  '\n---\nBody", "no description"),
        (b"---\nname: a\ndescription: [b]\n---\n", "description is not a text"),
        (b"---\nname: {x: y}\ndescription: b\n---\n", "name is not a text"),
        (b"---\nname: a\ndescription: b\nkeywords: {x: y}\n---\n", "keywords are not"),
        (b"---\nname: a\ndescription: b\nkeywords: [[x]]\n---\n", "keywords are not"),
        (b"---\nname: a\nname: b\ndescription: c\n---\n", "twice"),
        (b"---\nname: a\ndescription: Use when: it rains\n---\n", "line 3"),
        (b"---\n- a\n- b\n---\n", "key: value"),
        (b"---\njust text\n---\n", "key: value"),
        (b"---\n---\n", "key: value"),
        (b"---\nname: a\n\tdescription: b\n---\n", "not valid YAML"),
        (b"---\nname: a\ndescription: 'b\n---\n", "not valid YAML"),
        (b"---\nname: a\ndescription: b\x00c\n---\n", "not valid YAML"),
        (b'---\nname: a\ndescription: "\\ud800"\n---\n', "surrogate"),
        (b'---\nname: a\ndescription: "\\e[2J"\n---\n', "control"),
        (b'---\nname: a\ndescription: b\nkeywords: ["\\0"]\n---\n', "control"),
        (b"---\nname: \xff\xfe\n---\n", "UTF-8"),
        ("---\nname: a\ndescription: b\n---\n".encode("utf-16"), "UTF-8"),
        (b"---\nname: a\ndescription: " + b"b" * 5000 + b"\n---\n", "4096"),
        (b"---\nname: a\ndescription: b\nx: " + b"y" * 20_000 + b"\n---\n", "16384"),
        (b"---\nname: a\ndescription: b\nx: &a [1]\ny: *a\n---\n", "alias"),
        (b"---\nname: a\ndescription: b\nx: " + b"[" * 3000 + b"]" * 3000 + b"\n---\n", "nests deeper"),
        (b"---\nname: a\ndescription: b\nx: " + b"{a: " * 11 + b"1" + b"}" * 11 + b"\n---\n", "nests deeper"),
    ],
)
def test_a54_what_is_wrong_is_said(content: bytes, says: str) -> None:
    with pytest.raises(SourceUnreadable) as caught:
        read_skill(content, "folder")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_alias_bomb_is_refused_before_it_is_built() -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 9))
    bomb = f"---\nname: a\ndescription: b\nl0: &l0 [x]\n{levels}---\n"
    with pytest.raises(SourceUnreadable, match="alias"):
        read_skill(bomb.encode(), "folder")


BAD_NAMES = ["../../x", "..", ".", "", "a/b", "a\\b", "/abs", "A", "pdf_tools", "-a", "a b", "a.b", "a" * 65, "a\n",
             "a\x00",             "茶", "ａ", "con", "nul", "com1", "\ud800"]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
def test_p068_names_from_file_content_are_paths_too(name: str) -> None:
    with pytest.raises(InputInvalid) as caught:
        check_skill_name(name)
    assert caught.value.code == "input_invalid.skill_name"
    str(caught.value).encode("utf-8")


@pytest.mark.parametrize("name", ["../../x", "a/b", "A", "con", "a" * 65])
def test_p068_a_file_with_such_a_name_is_refused(name: str) -> None:
    content = f"---\nname: '{name}'\ndescription: b\n---\n".encode()
    with pytest.raises(InputInvalid):
        read_skill(content, "folder")
    with pytest.raises(InputInvalid):
        read_skill(b"---\ndescription: b\n---\n", name)


def test_other_keys_are_kept_as_they_stand() -> None:
    original = (
        b"---\nname: a\ndescription: b\nlicense: MIT\nversion: 1.0\nallowed-tools: Read, Grep\n"
        b"metadata:\n  author: 'x'\n  list: [1, two]\n---\n\nBody"
    )
    header, _ = read_skill(original, "a")
    rewritten = write_skill(SkillHeader("a", "new words", ("k",), header.others), "New body").decode()
    for line in ("license: MIT", "version: 1.0", "allowed-tools: Read, Grep", "  author: 'x'", "  list: [1, two]"):
        assert f"\n{line}\n" in rewritten
    assert read_skill(rewritten.encode(), "a") == (SkillHeader("a", "new words", ("k",)), "New body")


def test_a_description_cannot_end_the_front_matter() -> None:
    header = SkillHeader("a", "first\n---\nname: evil\n---\nsecond")
    assert read_skill(write_skill(header, "Body"), "a") == (header, "Body")


def test_nothing_but_typed_errors_for_any_bytes() -> None:
    for front in (bytes(range(256)), b"? [a]: b", b"!!map [a]", b"%TAG"):
        content = b"---\n" + front + b"\n---\n"
        with pytest.raises(DataMindError):
            read_skill(content, "folder")
