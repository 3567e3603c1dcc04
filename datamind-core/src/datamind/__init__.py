"""DataMind: one data plane for agents, with receipts for every write and evidence for every answer.

Names load their modules on first use; importing this package loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from datamind.agent import DataMind, build_agent, build_datamind, build_store_agent
    from datamind.config import Settings
    from datamind.sync import SyncDataMind, open

__version__: Final = "1.0.0"

__all__ = [
    "DataMind",
    "Settings",
    "SyncDataMind",
    "__version__",
    "build_agent",
    "build_datamind",
    "build_store_agent",
    "open",
]

_MODULE_OF: Final = {
    **dict.fromkeys(("DataMind", "build_agent", "build_datamind", "build_store_agent"), "datamind.agent"),
    **dict.fromkeys(("SyncDataMind", "open"), "datamind.sync"),
    "Settings": "datamind.config",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)
