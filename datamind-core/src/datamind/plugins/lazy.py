"""From a spec to the thing itself: imports, checks options and opens, only when something is used."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from inspect import isawaitable
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from anyio.to_thread import run_sync

from datamind.core.errors import ConfigError, DataMindError, PluginError
from datamind.plugins.checks import PLUGIN_FAULTS, one_line
from datamind.plugins.contributions import ProviderSpec, ToolHookSpec, check_target
from datamind.plugins.kinds import ProviderKind
from datamind.plugins.records import PluginRecord

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    from datamind.core.hooks import ToolHook
    from datamind.core.lease import Lease

_SECRET: Final = re.compile(r"key|token|secret|passw|credential|auth|dsn|url", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """What a provider's factory is given.

    Attributes:
        settings: The whole ``Settings``; a provider's own options arrive apart from it.
        profile: The profile this provider is opened for.
        storage_dir: Folder of the profile's stores; the provider keeps to a subfolder named after its surface.
        data_dir: Folder of the profile's own files.
        logger: Logger of the provider, already redacting.
        lease: Held while an engine that one process must own is at work.
        open: Opens, or returns already opened, the selected provider of another kind that this one depends on.
    """

    settings: Any
    profile: Any
    storage_dir: Path
    data_dir: Path
    logger: Logger
    lease: Lease
    open: Callable[[ProviderKind], Awaitable[Any]]


def load_attribute(target: str, origin: PluginRecord | None = None) -> Any:
    """Import ``"module:attr"``.

    Args:
        target: The place of the object.
        origin: The plugin that named it; its distribution and version stand in the error.

    Raises:
        PluginError: The module does not import, for whatever reason, or has no such attribute.
    """
    check_target("Target", target)
    module_name, _, attribute = target.partition(":")
    owner = f"{origin.label}: " if origin else ""
    try:
        return getattr(import_module(module_name), attribute)
    except PLUGIN_FAULTS as error:
        raise PluginError(
            f"{owner}{target!r} cannot be loaded: {one_line(error)}.",
            code="plugin_error.broken",
            hint=f"Reinstall {origin.distribution}." if origin else "",
        ) from error


async def open_provider(spec: ProviderSpec, ctx: ProviderContext, options: Mapping[str, Any]) -> Any:
    """Open a provider; the caller owns it and closes it.

    Options are checked first, so a mistake there is reported before the engine is imported.

    Raises:
        ConfigError: ``options`` does not fit the provider's model; one line for each mistake.
        PluginError: The plugin does not import or breaks its contract, or its engine failed to open.
    """
    checked = make_options(spec, options)
    # In a thread: the libraries of an engine take seconds to import on a cold machine.
    factory = await run_sync(load_attribute, spec.factory, spec.origin)
    try:
        opening = factory(ctx, checked)
        if not isawaitable(opening):
            raise TypeError(f"{spec.factory!r} is not an async function")
        return await opening
    except DataMindError:
        raise
    except PLUGIN_FAULTS as error:
        raise PluginError(f"{spec} did not open: {one_line(error)}.", code="plugin_error.broken") from error


def make_options(spec: ProviderSpec, options: Mapping[str, Any]) -> BaseModel:
    """Validate ``options`` against the provider's own model.

    Raises:
        ConfigError: One line for each mistake, with the nearest key for one that does not exist.
        PluginError: The model does not import, or would let an unknown key pass.
    """
    from pydantic import ValidationError

    model = _options_model(spec)
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        mistakes = _mistakes(spec, model, error)
    raise ConfigError("\n".join(mistakes), code="config_invalid.options")  # outside: pydantic's message holds values


def _options_model(spec: ProviderSpec) -> type[BaseModel]:
    from pydantic import BaseModel

    model = load_attribute(spec.options, spec.origin)
    if isinstance(model, type) and issubclass(model, BaseModel) and model.model_config.get("extra") == "forbid":
        return model
    raise PluginError(
        f"{spec}: {spec.options!r} is not a pydantic model with extra='forbid'.",
        code="plugin_error.broken",
        hint="Derive it from datamind.plugins.ProviderOptions.",
    )


def make_tool_hook(spec: ToolHookSpec, settings: Any, services: Any) -> ToolHook:
    """Build a plugin's hook.

    Raises:
        PluginError: It does not import, its factory raised, or what it made is no ToolHook. Governance fails closed:
            a hook that cannot be built stops the build.
    """
    from datamind.core.hooks import ToolHook

    factory = load_attribute(spec.factory, spec.origin)
    try:
        hook = factory(settings, services)
        if not isinstance(hook, ToolHook):
            raise TypeError(f"{spec.factory!r} returned {type(hook).__name__}, which is no ToolHook")
    except PLUGIN_FAULTS as error:
        owner = f" of {spec.origin.label}" if spec.origin else ""
        raise PluginError(
            f"Tool hook {spec.name!r}{owner} cannot be built: {one_line(error)}.", code="plugin_error.broken"
        ) from error
    return hook


def _mistakes(spec: ProviderSpec, model: type[BaseModel], error: ValidationError) -> list[str]:
    lines = []
    for mistake in error.errors(include_url=False, include_context=False):
        path = ".".join(str(part) for part in mistake["loc"])
        key = f"{spec.kind.options_key}.{path}" if path else spec.kind.options_key
        if mistake["type"] == "extra_forbidden":
            meant = _nearest(path, model) if len(mistake["loc"]) == 1 else ""
            lines.append(f"{key} is not an option of {spec}.{meant}")
        else:
            lines.append(f"{key}{_shown(path, mistake['input'])}: {mistake['msg']}.")
    return lines


def _nearest(key: str, model: type[BaseModel]) -> str:
    names = sorted(field.alias or name for name, field in model.model_fields.items())
    close = get_close_matches(key, names, n=1)
    if close:
        return f" Did you mean {close[0]!r}?"
    return f" It has: {', '.join(names)}." if names else " It has none."


def _shown(path: str, value: Any) -> str:
    if _SECRET.search(path) or not isinstance(value, str | int | float | bool | None):
        return ""
    return f"={value!r:.80}"
