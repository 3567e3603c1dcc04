"""The agents: loops, prompts, services, the builder and the facade. Names load their modules on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datamind.agent.builder import build_agent, build_datamind, build_store_agent
    from datamind.agent.facade import DataMind, RetrieveAgent, StoreAgent
    from datamind.agent.importing import import_profile

__all__ = [
    "DataMind",
    "RetrieveAgent",
    "StoreAgent",
    "build_agent",
    "build_datamind",
    "build_store_agent",
    "import_profile",
]

_MODULE_OF = {
    **dict.fromkeys(("build_agent", "build_datamind", "build_store_agent"), "builder"),
    **dict.fromkeys(("DataMind", "RetrieveAgent", "StoreAgent"), "facade"),
    "import_profile": "importing",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
