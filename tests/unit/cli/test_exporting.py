"""Files that are written beside their place and put there in one step."""

from __future__ import annotations

import errno
import os

import pytest

from datamind.core.errors import InputInvalid, StoreError
from datamind.core.new_file import written_file


@pytest.fixture(params=["hard links", "no hard links"])
def place(request, tmp_path, monkeypatch):
    """A folder; of a file system without hard links, such as FAT, too."""

    def refuse(source, target):
        raise FileExistsError(target) if target.exists() else OSError(errno.EPERM, os.strerror(errno.EPERM))

    if request.param == "no hard links":
        monkeypatch.setattr(os, "link", refuse)
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def test_a_file_stands_there_whole_and_nothing_else_is_left(place):
    with written_file(place / "out.csv", replace=False) as file:
        file.write(b"a\n1\n")
        assert not (place / "out.csv").exists()
    assert [(path.name, path.read_bytes()) for path in place.iterdir()] == [("out.csv", b"a\n1\n")]


def test_a_file_that_came_meanwhile_is_not_replaced(place):
    with pytest.raises(InputInvalid, match="exists"), written_file(place / "out.csv", replace=False) as file:
        file.write(b"ours")
        (place / "out.csv").write_bytes(b"theirs")
    assert [(path.name, path.read_bytes()) for path in place.iterdir()] == [("out.csv", b"theirs")]


def test_what_cannot_be_put_in_place_leaves_nothing(place, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(StoreError, match="No space"), written_file(place / "out.csv", replace=False) as file:
        monkeypatch.setattr(os, "link", refuse)
        file.write(b"ours")
    assert list(place.iterdir()) == []
