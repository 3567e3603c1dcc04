"""Imported by processes that fork, never by a test: what makes every start of theirs cheaper."""

from __future__ import annotations

from functools import lru_cache

from pydantic import BaseModel

from datamind.capabilities.control import contents

# Most of what a start takes is making these, and they are the same in every process.
BaseModel.model_json_schema = classmethod(lru_cache(BaseModel.model_json_schema.__func__))  # type: ignore[method-assign]
# So that a text which is kept beside control.db need not be a long one.
contents.INLINE_BYTES = 4096  # type: ignore[misc]
