"""The page of each code: what it means, why it happens, what to do, and a command to paste."""

from __future__ import annotations

from difflib import get_close_matches
from importlib.resources import files
from typing import Final

from datamind.core.errors import NotFound

_PAGES: Final = files("datamind_cli") / "pages"
_SUFFIX: Final = ".md"


def explained_codes() -> list[str]:
    """Every code that has a page, by name."""
    return sorted(page.name.removesuffix(_SUFFIX) for page in _PAGES.iterdir() if page.name.endswith(_SUFFIX))


def explanation(code: str) -> str:
    """The Markdown page of a code; of a narrower one, such as ``path_denied.link``, the page that lists it.

    Raises:
        NotFound: There is no such code.
    """
    known = explained_codes()
    asked = code.strip().lower()
    first = asked.partition(".")[0]
    page = first if first in known else next((page for page in known if f"`{asked}`" in _text(page)), "")
    if not page:
        close = get_close_matches(first, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "`datamind explain` lists them."
        raise NotFound(f"there is no error code {code[:80]!r};", hint=hint)
    return _text(page)


def _text(page: str) -> str:
    return (_PAGES / f"{page}{_SUFFIX}").read_text(encoding="utf-8")
