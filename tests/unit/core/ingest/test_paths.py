"""Which files a request may read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from datamind.capabilities.ingest.paths import PathRules
from datamind.core.context import RequestContext
from datamind.core.types import Role


def test_the_profile_what_the_user_named_and_what_settings_add(tmp_path: Path) -> None:
    rules = PathRules(tmp_path / "data", extra=(tmp_path / "extra",), forbidden=(tmp_path / "storage",))
    request = RequestContext("test", Role.STORE)
    assert rules.for_request(request).roots == (tmp_path / "extra",)
    granted = rules.for_request(replace(request, granted_paths=(tmp_path / "named",)))
    assert granted.home == tmp_path / "data"
    assert granted.roots == (tmp_path / "named", tmp_path / "extra")
    assert granted.forbidden == (tmp_path / "storage",)
    assert rules.for_request(request).roots == (tmp_path / "extra",), "a grant is of one request alone"


def test_a15_the_working_directory_is_no_root(tmp_path: Path) -> None:
    policy = PathRules(tmp_path / "data").for_request(RequestContext("test", Role.STORE))
    assert Path.cwd() not in (policy.home, *policy.roots)
