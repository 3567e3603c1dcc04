"""What the code offers is described, and what the documentation describes exists."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from types import ModuleType

import pytest

PUBLIC_PACKAGES = [
    "datamind",
    *(f"datamind.{name}" for name in ("core", "config", "plugins", "engine_host", "agent", "testing")),
]


@pytest.fixture(scope="module")
def generator(workspace) -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", workspace.root / "docs" / "_generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_error_codes_are_unique(generator):
    codes = [kind.default_code for kind in generator.error_classes()]
    assert sorted(codes) == sorted(set(codes))
    assert all(re.fullmatch(r"[a-z_]+", code) for code in codes)


def test_every_error_class_is_in_the_tree_of_its_module(generator):
    from datamind.core import errors

    for kind in generator.error_classes():
        assert re.search(rf"(── |^|\s){kind.__name__}\s{{2,}}\S", errors.__doc__), kind


def test_a_raise_narrows_the_code_of_its_class(generator):
    codes = {kind.__name__: kind.default_code for kind in generator.error_classes()}
    for name, raised in generator.codes_raised().items():
        for code in raised:
            assert code == codes[name] or code.startswith(f"{codes[name]}."), f"{name} is raised with {code!r}"


def test_every_error_code_has_a_place_in_the_reference(generator):
    page = generator.errors_page()
    for kind in generator.error_classes():
        assert f"{{ #{kind.default_code} }}" in page
        assert inspect.getdoc(kind).splitlines()[0].split("``")[0] in page


def test_every_hook_is_documented(generator):
    page = generator.hooks_page()
    assert len(generator.hookspecs()) == 5
    for hook in generator.hookspecs():
        doc = inspect.getdoc(hook)
        assert "Returns:" in doc, hook
        for parameter in inspect.signature(hook).parameters:
            assert re.search(rf"^    {parameter}: \S", doc, re.MULTILINE), f"{hook.__name__}({parameter})"
        assert f"{{ #{hook.__name__} }}" in page


def test_every_setting_is_documented(generator):
    from datamind.config.describe import describe_settings

    page = generator.settings_page()
    for row in describe_settings():
        assert row.description.strip().endswith("."), row
        assert f"| `{row.key}`<br>`{row.variable}` |" in page


@pytest.mark.parametrize("package", PUBLIC_PACKAGES)
def test_every_name_offered_by_a_package_exists_and_is_documented(package):
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, f"{package}.{name} has no docstring"


def test_style_rules_for_docstrings_and_annotations_are_switched_on(workspace):
    lint = workspace.pyproject["tool"]["ruff"]["lint"]
    assert {"D1", "ANN"} <= set(lint["select"])
    assert {rule for rule in lint["ignore"] if rule.startswith("D")} == {"D100", "D104", "D105", "D107"}
    assert workspace.pyproject["tool"]["mypy"]["strict"] is True


def test_docstrings_become_markdown(generator):
    docstring = """First ``line``.

    An example::

        import this

    Args:
        name: What it is
            called.

    Returns:
        Nothing.
    """
    assert generator.markdown(docstring) == (
        "First `line`.\n\nAn example:\n\n```python\nimport this\n```\n\n"
        "**Args**\n\n- `name`: What it is called.\n\n**Returns**\n\nNothing."
    )


def test_navigation_holds_every_page(generator, workspace):
    docs = workspace.root / "docs"
    sections = [page for entry in generator.navigation(docs, list(generator.PAGES)) for page in entry.values()]
    listed = [page for section in sections for page in ([section] if isinstance(section, str) else section)]
    written = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    assert sorted(listed) == sorted(written | set(generator.PAGES))


def test_every_section_of_the_documentation_starts_with_an_index(generator, workspace):
    for entry in generator.navigation(workspace.root / "docs", list(generator.PAGES))[1:]:
        ((title, pages),) = entry.items()
        assert pages[0].endswith("/index.md"), title
