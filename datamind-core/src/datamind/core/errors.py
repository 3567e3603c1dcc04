"""Every error DataMind raises.

::

    DataMindError                       code, retryable, hint
     ├── ConfigError                    a setting is wrong; nothing was opened
     │    └── PluginError               a plugin that was named is missing, broken or clashes
     ├── AccessDenied                   the role, a hook or a policy refuses; nothing ran
     │    ├── PathDenied                a file outside what was granted
     │    └── ApprovalRequired          a person must decide first
     ├── ArgumentsInvalid               tool arguments are not complete, strict, schema-valid JSON
     ├── InputInvalid                   a value given by the caller is wrong (empty, negative, too long)
     ├── NotFound                       an id, profile, surface or source that does not exist
     ├── SurfaceUnavailable             a surface that is switched off or whose store does not open
     ├── SourceUnreadable               a file or text that cannot be read as what it claims to be
     ├── LimitExceeded                  a size, row, time or nesting bound
     ├── Conflict                       the same key for something else, or a lost race
     ├── StoreError                     an engine failed; the library's own exception is the cause
     │    └── IntegrityError            stored bytes are not what was acknowledged
     ├── ModelError                     a model client failed
     │    ├── ModelStreamError          a stream ended or was malformed before its stop event
     │    ├── ModelOverloaded           429, 503, 529 or a timeout; worth a retry or a fallback
     │    └── ModelRefused              authentication, quota or a request the model rejects
     ├── ToolFailed                     a tool's own code failed in a way nobody foresaw
     ├── AnswerInvalid                  a final answer that does not meet the caller's schema
     └── BudgetExceeded                 a run limit; carries which one

Each class has a stable ``code``; a raise may narrow it (``path_denied.link`` under ``path_denied``) but never
changes its first part. ``datamind explain CODE`` prints the page of a code.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import ClassVar


class DataMindError(Exception):
    """Base of every error; ``str(error)`` is one line: what failed, the value, what to do.

    Attributes:
        code: Stable identifier, safe to branch on.
        retryable: Whether the same call may succeed later without a change.
        hint: What to do next, or an empty string; already part of ``str(error)``.
    """

    default_code: ClassVar[str] = "error"
    default_retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, code: str | None = None, retryable: bool | None = None, hint: str = "") -> None:
        super().__init__(_sentences(message, hint))
        self.message = message
        self.hint = hint
        self.code = code or self.default_code
        self.retryable = self.default_retryable if retryable is None else retryable


def _sentences(message: str, hint: str) -> str:
    if not hint:
        return message
    return f"{message} {hint}" if message.endswith((".", "!", "?", ":", ";")) else f"{message}. {hint}"


class ConfigError(DataMindError):
    """A setting is wrong. Raised before any store is opened."""

    default_code = "config_invalid"


class PluginError(ConfigError):
    """A plugin named in Settings is missing or broken, or two plugins claim one name."""

    default_code = "plugin_error"


class AccessDenied(DataMindError):
    """The role, a hook or a policy refuses the call. Nothing ran."""

    default_code = "access_denied"


class PathDenied(AccessDenied):
    """A path that is not inside a granted root, or is not a plain file. Names no path outside the root."""

    default_code = "path_denied"


class ApprovalRequired(AccessDenied):
    """A person must decide, and none was asked or none answered."""

    default_code = "approval_required"


class ArgumentsInvalid(DataMindError):
    """Tool arguments are not complete, strict and schema-valid. Nothing ran."""

    default_code = "arguments_invalid"


class InputInvalid(DataMindError):
    """A value given by the caller is wrong."""

    default_code = "input_invalid"


class NotFound(DataMindError):
    """What was named does not exist here."""

    default_code = "not_found"


class SurfaceUnavailable(DataMindError):
    """A surface is switched off, or its store does not open. The other surfaces serve."""

    default_code = "surface_unavailable"


class SourceUnreadable(DataMindError):
    """A source cannot be decoded or parsed as what it claims to be."""

    default_code = "source_unreadable"


class LimitExceeded(DataMindError):
    """A bound on size, rows, time or nesting."""

    default_code = "limit_exceeded"


class Conflict(DataMindError):
    """An idempotency key used for something else, or a race that was lost."""

    default_code = "conflict"


class StoreError(DataMindError):
    """An engine failed. The library's exception is ``__cause__``."""

    default_code = "store_error"
    default_retryable = True


class IntegrityError(StoreError):
    """Stored bytes are not what was acknowledged."""

    default_code = "integrity_error"
    default_retryable = False


class ModelError(DataMindError):
    """A model client failed."""

    default_code = "model_error"


class ModelStreamError(ModelError):
    """A model stream ended or was malformed before its stop event."""

    default_code = "model_stream_error"
    default_retryable = True


class ModelOverloaded(ModelError):
    """The model service is busy or did not answer in time."""

    default_code = "model_overloaded"
    default_retryable = True


class ModelRefused(ModelError):
    """The model service refuses the key, the quota or the request."""

    default_code = "model_refused"


class ToolFailed(DataMindError):
    """A tool's own code failed in a way nobody foresaw; the log has the rest."""

    default_code = "tool_failed"


class AnswerInvalid(DataMindError):
    """A final answer does not meet the schema the caller asked for."""

    default_code = "answer_invalid"


class BudgetExceeded(DataMindError):
    """A run limit was reached.

    Attributes:
        limit: Which one, by the name of its setting without the unit, such as ``max_turns`` or ``wall_clock``.
    """

    default_code = "budget_exceeded"

    def __init__(self, limit: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, code=f"budget_exceeded.{limit}", hint=hint)
        self.limit = limit


def error_of(code: str, message: str) -> DataMindError:
    """The error of a code that an outcome or a receipt carries, of the class that the code belongs to.

    Args:
        code: Such as ``conflict.running``; one whose first part is no class's is a plain DataMindError.
        message: One line, with its hint.
    """
    kinds = {kind.default_code: kind for kind in _descendants(DataMindError)}
    kind = kinds.get(code.partition(".")[0], DataMindError)
    if issubclass(kind, BudgetExceeded):
        return BudgetExceeded(code.partition(".")[2], message)
    return kind(message, code=code)


def _descendants(kind: type[DataMindError]) -> Iterator[type[DataMindError]]:
    for below in kind.__subclasses__():
        yield below
        yield from _descendants(below)


def unforeseen(tool: str, error: BaseException) -> DataMindError:
    """The error of a tool whose code raised what it does not declare; a full disk is told as what it is."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StoreError(
            f"{tool[:80]} failed: the disk is full.",
            code="store_error.disk_full",
            hint="Free some space and try again.",
        )
    return ToolFailed(f"{tool[:80]} failed ({type(error).__name__})")


def changed_since(receipt_id: str, by: str) -> Conflict:
    """Why a write cannot be taken back: what it left is not there as it left it."""
    who = f"{by} changed it since" if by else "it was changed since"
    return Conflict(
        f"{receipt_id} cannot be taken back: {who}",
        code="conflict.changed_since",
        hint="Revert the later write first.",
    )
