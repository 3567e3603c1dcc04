"""Whatever a path is made of, it is refused or lies inside a root; whatever a name is, it is shown as itself."""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from datamind.capabilities.ingest.files import PathPolicy, locate, printable
from datamind.core.errors import PathDenied

HOME = Path("/home/u/p1")
POLICY = PathPolicy(HOME, roots=(Path("/srv/granted"), Path("/srv/one.txt")), forbidden=(Path("/home/u/p1/storage"),))
PARTS = (
    "..",
    ".",
    "",
    "a",
    "b.txt",
    "storage",
    ".hidden",
    "%2e%2e",
    "..\u2215",
    "p1-evil",
    "granted",
    "srv",
    "home",
    "u",
)

paths = st.builds(
    lambda start, parts: start + "/".join(parts),
    st.sampled_from(("", "/", "//", "~/", "file:", "/srv/granted/", "/srv/granted", "/srv/one.txt/", "/home/u/p1")),
    st.lists(st.sampled_from(PARTS), max_size=8),
)
names = st.binary(max_size=40).map(lambda raw: os.fsdecode(raw.replace(b"/", b"")))


@given(paths | st.text(max_size=60))
def test_a_located_path_is_inside_its_root_and_nothing_in_it_leads_away(raw: str) -> None:
    try:
        located = locate(raw, POLICY)
    except PathDenied:
        return
    assert located.root in (POLICY.home, *POLICY.roots)
    assert not {"..", ".", ""} & set(located.parts)
    assert not any("/" in part or "\0" in part or part.startswith(".") for part in located.parts)
    assert located.path.is_relative_to(located.root)
    assert not located.path.is_relative_to(POLICY.forbidden[0])
    assert PurePosixPath(os.path.normpath(HOME / raw)) == PurePosixPath(located.path)


@given(names, names)
def test_names_are_shown_apart_and_safely(one: str, two: str) -> None:
    assert (printable(one) == printable(two)) == (one == two)
    json.dumps(printable(one), ensure_ascii=False).encode("utf-8")
    assert all(char.isprintable() for char in printable(one))
