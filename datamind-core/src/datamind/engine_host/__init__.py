"""Engines in child processes that can be killed and restarted.

Names load their modules on first use: the child imports this package too, and must start in milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from datamind.engine_host.host import EngineHost, open_engine
    from datamind.engine_host.messages import EngineReply, EngineRequest
    from datamind.engine_host.spec import EngineLimits, EngineSpec

__all__ = ["EngineHost", "EngineLimits", "EngineReply", "EngineRequest", "EngineSpec", "open_engine"]

_MODULE_OF: Final = {
    **dict.fromkeys(("EngineHost", "open_engine"), "host"),
    **dict.fromkeys(("EngineReply", "EngineRequest"), "messages"),
    **dict.fromkeys(("EngineLimits", "EngineSpec"), "spec"),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
