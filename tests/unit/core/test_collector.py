"""The collector is off only while something that asked for it is at work."""

from __future__ import annotations

import gc
import threading

import pytest

from datamind.core.collector import collector_paused


@pytest.fixture(autouse=True)
def collector_on():
    gc.enable()
    yield
    gc.enable()


def test_it_is_on_again_after_the_last_of_several():
    inside, may_end = threading.Event(), threading.Event()

    def other() -> None:
        with collector_paused():
            inside.set()
            assert may_end.wait(30)

    thread = threading.Thread(target=other)
    with collector_paused():
        thread.start()
        assert inside.wait(30)
    assert not gc.isenabled()
    may_end.set()
    thread.join(30)
    assert gc.isenabled()


def test_it_is_on_again_after_an_error():
    with pytest.raises(ValueError), collector_paused():
        raise ValueError
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off():
    gc.disable()
    with collector_paused():
        pass
    assert not gc.isenabled()
