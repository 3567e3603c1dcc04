"""Fixtures that every test of a DataMind plugin may ask for. Loaded by every pytest run, so it imports nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from datamind.config.profile import Profile
    from datamind.testing.fakes import DecisionLog, ManualClock
    from datamind.testing.models import ScriptedModel

# So that a failing standard test shows the values it compared.
pytest.register_assert_rewrite("datamind.testing.conformance", "datamind.testing.machines")


@pytest.fixture
def datamind_profile(tmp_path: Path) -> Profile:
    """A profile named ``test`` whose folders exist, under ``tmp_path``."""
    from datamind.config.profile import Profile

    profile = Profile("test", tmp_path)
    profile.ensure()
    return profile


@pytest.fixture
def datamind_model() -> ScriptedModel:
    """A model client without replies; ``add`` says what it answers."""
    from datamind.testing.models import ScriptedModel

    return ScriptedModel()


@pytest.fixture
def datamind_decisions() -> DecisionLog:
    """The recorder of a Gate: what was denied, asked, approved, rewritten or failed, in order."""
    from datamind.testing.fakes import DecisionLog

    return DecisionLog()


@pytest.fixture
def datamind_clock() -> ManualClock:
    """A clock that only moves when it is told to."""
    from datamind.testing.fakes import ManualClock

    return ManualClock()
