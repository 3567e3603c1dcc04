"""Installed distributions made of a few files, for tests of what happens when a plugin is good, bad or absent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

IMPORTED = "CommandSpec, PromptSection, ProviderKind, ProviderSpec, ToolHookSpec, hookimpl"


def plugin_source(
    *hooks: str,
    kind: str = "kb.store",
    provider: str = "",
    factory: str = "acme.store:open_store",
    options: str = "datamind.plugins.options:NoOptions",
    api: str | None = "(1, 0)",
) -> str:
    """The text of a ``plugin.py``.

    Args:
        hooks: Source of hook functions, each without its decorator.
        provider: Name of the one provider to register; empty for none.
        api: Source of ``PLUGIN_API``; None leaves it out.
    """
    lines = [f"from datamind.plugins import {IMPORTED}"]
    if api is not None:
        lines.append(f"PLUGIN_API = {api}")
    if provider:
        spec = f"ProviderSpec(ProviderKind({kind!r}), {provider!r}, {factory!r}, {options!r}, 'A test provider.')"
        hooks = (f"def datamind_register_providers():\n    return [{spec}]", *hooks)
    return "\n".join([*lines, *(f"@hookimpl\n{hook}" for hook in hooks)]) + "\n"


def write_distribution(
    site: Path,
    name: str,
    plugin: str,
    *,
    version: str = "1.0",
    entry_points: Mapping[str, str] | None = None,
    modules: Mapping[str, str] | None = None,
    requires: Sequence[str] = (),
) -> str:
    """Install a distribution into ``site`` as pip leaves it behind: a package and its ``.dist-info``.

    Args:
        plugin: Source of the package's ``plugin.py``.
        entry_points: Of group ``datamind``; by default one, named as the distribution.
        modules: Further modules of the package, name to source.

    Returns:
        The import name of the package.
    """
    package = name.replace("-", "_").replace(".", "_")
    files = {"__init__": "", "plugin": plugin, **(modules or {})}
    (site / package).mkdir(parents=True)
    for module, source in files.items():
        (site / package / f"{module}.py").write_text(source, encoding="utf-8")
    points = entry_points if entry_points is not None else {name: f"{package}.plugin"}
    info = site / f"{package}-{version}.dist-info"
    info.mkdir()
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    (info / "METADATA").write_text("\n".join(metadata) + "\n", encoding="utf-8")
    lines = ["[datamind]", *(f"{point} = {target}" for point, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return package


def run_with_site(site: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run this Python with ``site`` first on its path, and with no variable of DataMind but those given."""
    inherited = {key: value for key, value in os.environ.items() if not key.upper().startswith("DATAMIND")}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**inherited, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", **environ},
        cwd=site,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def json_with_site(site: Path, source: str, **environ: str) -> Any:
    """What ``source`` prints, read as JSON. The process must succeed."""
    result = run_with_site(site, "-c", source, **environ)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)
