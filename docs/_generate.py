"""Hooks of mkdocs: reference pages written from the code, and navigation from the folders."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datamind.config.describe import SettingDescription, describe_settings
from datamind.core import errors
from datamind.plugins import specs

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

DOCS = Path(__file__).parent
SECTIONS = {
    "Tutorial": "tutorial",
    "How-to": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
    "Plugins": "plugins",
    "Decisions": "decisions",
}


_LITERAL_BLOCK = re.compile(r"^(.*)::\n\n((?: {4}.*\n|\n)+)", re.MULTILINE)
_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):\n((?: {4}.*\n)+)", re.MULTILINE)


def error_classes() -> list[type[errors.DataMindError]]:
    """Every error class, in the order of the module."""
    return [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.DataMindError) and value.__module__ == errors.__name__
    ]


def sources() -> Iterator[Path]:
    root = DOCS.parent
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    for member in pyproject["tool"]["datamind"]["members"]:
        yield from sorted((root / member / "src").rglob("*.py"))


def codes_raised() -> dict[str, set[str]]:
    """The literal codes each error class is made with, by the name of the class."""
    found: dict[str, set[str]] = {kind.__name__: set() for kind in error_classes()}
    for path in sources():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and (name := ast.unparse(node.func).rpartition(".")[2]) in found:
                found[name].update(
                    keyword.value.value
                    for keyword in node.keywords
                    if keyword.arg == "code" and isinstance(keyword.value, ast.Constant) and keyword.value.value
                )
    return found


def markdown(docstring: str | None) -> str:
    """A Google-style docstring as Markdown."""
    text = inspect.cleandoc(docstring or "").replace("``", "`") + "\n"
    text = re.sub(r"^(.*)::\n\n((?: {4}.*\n|\n)+)", _fenced, text, flags=re.MULTILINE)
    return re.sub(
        r"^(Args|Attributes|Raises|Returns|Yields):\n((?: {4}.*\n)+)", _section, text, flags=re.MULTILINE
    ).strip()


def _fenced(match: re.Match[str]) -> str:
    head, code = match[1], textwrap.dedent(match[2]).strip("\n")
    language = "python" if "import " in code else "text"
    return f"{head}:\n\n```{language}\n{code}\n```\n\n" if head else f"```{language}\n{code}\n```\n\n"


def _section(match: re.Match[str]) -> str:
    body = textwrap.dedent(match[2])
    if match[1] not in ("Returns", "Yields"):
        body = re.sub(r"^(\w+): ", r"- `\1`: ", re.sub(r"\n +", " ", body), flags=re.MULTILINE)
    return f"**{match[1]}**\n\n{body}"


def errors_page() -> str:
    raised = codes_raised()
    parts = ["# Errors", markdown(errors.__doc__)]
    for kind in error_classes():
        code = kind.default_code
        narrower = ", ".join(f"`{name}`" for name in sorted(raised[kind.__name__] - {code}))
        parts += [
            f"## `{code}` {{ #{code} }}",
            f"`{kind.__name__}`, a kind of `{kind.__mro__[1].__name__}`. "
            + ("The same call may succeed later." if kind.default_retryable else "Trying again changes nothing."),
            markdown(kind.__doc__),
            *([f"Narrower codes: {narrower}."] if narrower else []),
        ]
    return "\n\n".join(parts) + "\n"


def hookspecs() -> list[Callable[..., Any]]:
    """Every hook a plugin may implement, in the order of the module."""
    return [value for name, value in vars(specs).items() if name.startswith("datamind_") and callable(value)]


def hooks_page() -> str:
    parts = ["# Plugin hooks", markdown(specs.__doc__)]
    for hook in hookspecs():
        parts += [
            f"## `{hook.__name__}` {{ #{hook.__name__} }}",
            f"```python\ndef {hook.__name__}{inspect.signature(hook)}\n```".replace("'", ""),
            markdown(hook.__doc__),
        ]
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    parts = [
        "# Settings",
        "A value comes from the first of these that has one: the call, the command line, the environment and `.env`, "
        "the profile's `datamind.toml`, the default. `datamind config show --origin` says which.",
    ]
    for section, rows in groupby(describe_settings(), key=lambda row: row.key.partition(".")[0]):
        parts += [f"## {section} {{ #{section} }}", "\n".join(_settings_table(rows))]
    return "\n\n".join(parts) + "\n"


def _settings_table(rows: Iterable[SettingDescription]) -> Iterator[str]:
    yield "| setting | type | default | meaning |"
    yield "|---|---|---|---|"
    for row in rows:
        default = f"`{row.default}`" if row.default else "none"
        cells = [f"`{row.key}`<br>`{row.variable}`", row.type, default, row.description]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


PAGES: dict[str, Callable[[], str]] = {
    "reference/errors.md": errors_page,
    "reference/plugin-hooks.md": hooks_page,
    "reference/settings.md": settings_page,
}


def navigation(docs: Path, generated: list[str]) -> list[dict[str, Any]]:
    """Home, then each section: its index first, the rest by file name."""
    sections = []
    for title, folder in SECTIONS.items():
        written = {path.relative_to(docs).as_posix() for path in (docs / folder).rglob("*.md")}
        pages = written | {page for page in generated if page.startswith(f"{folder}/")}
        sections.append({title: sorted(pages, key=lambda page: (not page.endswith("/index.md"), page))})
    return [{"Home": "index.md"}, *sections]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = navigation(Path(config.docs_dir), list(PAGES))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File

    for uri, write in PAGES.items():
        files.append(File.generated(config, uri, content=write()))
    return files
