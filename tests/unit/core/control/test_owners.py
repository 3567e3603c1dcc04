"""Owners: alive as long as the process that holds the lock, whatever its number."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from datamind.capabilities.control.owners import Owner, is_alive


def locks(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.lock")}


def test_nothing_is_made_before_the_first_write(tmp_path: Path) -> None:
    Owner(tmp_path / "owners")
    assert not (tmp_path / "owners").exists()


def test_an_owner_is_alive_while_it_holds_its_lock(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    assert not is_alive(tmp_path, owner.name)
    assert owner.hold() == owner.hold() == owner.name
    assert is_alive(tmp_path, owner.name)
    owner.release()
    owner.release()
    assert not is_alive(tmp_path, owner.name)
    assert locks(tmp_path) == set()


def test_a_lock_file_without_a_holder_is_a_dead_owner(tmp_path: Path) -> None:
    (tmp_path / f"{os.getpid()}-0123456789abcdef.lock").touch()
    assert not is_alive(tmp_path, f"{os.getpid()}-0123456789abcdef")


def test_two_owners_in_one_process_are_two(tmp_path: Path) -> None:
    one, two = Owner(tmp_path), Owner(tmp_path)
    assert one.hold() != two.hold()
    one.release()
    assert is_alive(tmp_path, two.name)
    assert not is_alive(tmp_path, one.name)


def test_whoever_takes_hold_sweeps_the_files_of_the_dead(tmp_path: Path) -> None:
    alive = Owner(tmp_path)
    alive.hold()
    for name in ("1-dead", "2-dead"):
        (tmp_path / f"{name}.lock").touch()
    new = Owner(tmp_path)
    new.hold()
    assert locks(tmp_path) == {alive.name, new.name}


def test_looking_does_not_take_the_lock(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    owner.hold()
    assert is_alive(tmp_path, owner.name)
    (path,) = tmp_path.glob("*.lock")
    with path.open() as file:
        owner.release()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_lock_does_not_pass_to_programs_that_are_started(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    owner.hold()
    descriptor = owner._descriptor
    assert descriptor is not None
    assert not os.get_inheritable(descriptor)
