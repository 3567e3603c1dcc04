"""Hooks of mkdocs: reference pages written from the code, and navigation from the folders."""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import EntryPoint
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datamind.config.describe import SettingDescription, describe_settings
from datamind.core import errors
from datamind.plugins import PluginHost, ProviderKind, specs
from datamind.plugins.discovery import ENTRY_POINT_GROUP
from datamind.plugins.known import PROVIDER_REQUIREMENTS

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

    from datamind.core.tools import ToolSpec

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


def members() -> list[Path]:
    """The folders of the distributions, in the order of the member list."""
    pyproject = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    return [DOCS.parent / name for name in pyproject["tool"]["datamind"]["members"]]


def sources() -> Iterator[Path]:
    for member in members():
        yield from sorted((member / "src").rglob("*.py"))


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


def member_host() -> PluginHost:
    """The plugins of this repository, whatever else is installed."""
    entries: list[EntryPoint] = []
    for member in members():
        project = tomllib.loads((member / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        plugins = project.get("entry-points", {}).get(ENTRY_POINT_GROUP, {})
        entries += [EntryPoint(name, module, ENTRY_POINT_GROUP) for name, module in plugins.items()]
    return PluginHost(entries, environ={})


def catalogue() -> list[ToolSpec]:
    """Every tool of every surface, on or off in any one profile."""
    from datamind.capabilities.kb.tools import kb_tools
    from datamind.capabilities.memory.tools import memory_tools
    from datamind.capabilities.skills.tools import skill_tools

    return [*memory_tools(), *kb_tools(), *skill_tools(), *member_host().tools(None)]


def tools_page() -> str:
    parts = [
        "# Tools",
        "What a model may call, and `system.call` with it. The effect decides which agent holds a tool: `write` and "
        "`destructive` StoreAgent, `read` and `pure` RetrieveAgent. `revert` is what receipts say could be taken back; "
        "this version has no command for it.",
    ]
    for tool in catalogue():
        parts += [
            f"## `{tool.name}` {{ #{tool.name} }}",
            f"{tool.description}\n\n`{tool.surface}`, effect `{tool.effect}`"
            + (f", revert `{tool.revert}`." if tool.writes else "."),
            "\n".join(_arguments_table(tool)),
        ]
    return "\n\n".join(parts) + "\n"


def _arguments_table(tool: ToolSpec) -> Iterator[str]:
    properties = tool.input_schema.get("properties", {})
    if not properties:
        return
    yield "| argument | default | meaning |"
    yield "|---|---|---|"
    for name, schema in properties.items():
        default = "must be given" if name in tool.input_schema.get("required", ()) else "none"
        if schema.get("default") is not None:
            default = f"`{json.dumps(schema['default'])}`"
        yield f"| `{name}` | {default} | {schema.get('description', '')} |"


def kinds_page() -> str:
    parts = [
        "# Kinds of providers",
        "A setting chooses each provider by name. The name chosen by default is a constant, never whatever happens to "
        "be installed. Names in the last column are reserved for distributions that are not part of this version.",
        "| kind | chosen by | in this version | reserved |\n|---|---|---|---|",
    ]
    found = member_host().providers()
    rows = []
    for kind in ProviderKind:
        here = {spec.name: spec.summary for spec in found if spec.kind is kind}
        later = [name for known, name in PROVIDER_REQUIREMENTS if known is kind and name not in here]
        cells = [f"`{kind}`", f"`{kind.setting}`" if kind.setting else "media type"]
        cells += ["<br>".join(f"`{name}`: {text}" for name, text in here.items()), ", ".join(f"`{n}`" for n in later)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n\n".join(parts) + "\n" + "\n".join(rows) + "\n"


def readme_page(member: Path) -> str:
    # Links of a README are those of the repository, where the documentation lies in `docs`.
    return (member / "README.md").read_text(encoding="utf-8").replace("](../docs/", "](../")


def cli_page() -> str:
    from datamind_cli.reference import reference_page

    return reference_page()


PAGES: dict[str, Callable[[], str]] = {
    "plugins/kinds.md": kinds_page,
    **{f"plugins/{member.name}.md": partial(readme_page, member) for member in members()},
    "reference/cli.md": cli_page,
    "reference/errors.md": errors_page,
    "reference/plugin-hooks.md": hooks_page,
    "reference/settings.md": settings_page,
    "reference/tools.md": tools_page,
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
