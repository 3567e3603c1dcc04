"""Functions and modules stay short enough to be read at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("sizes.py")


def run(script: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)


def test_no_function_and_no_module_passes_its_limit():
    result = run(SCRIPT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_measure_names_what_is_too_long(tmp_path):
    script = tmp_path / "tests" / "meta" / "sizes.py"
    script.parent.mkdir(parents=True)
    script.write_bytes(SCRIPT.read_bytes())
    (tmp_path / "pyproject.toml").write_text('[tool.datamind]\nmembers = ["one"]\n')
    module = tmp_path / "one" / "src" / "one.py"
    module.parent.mkdir(parents=True)
    module.write_text("async def long():\n" + "    x = 1\n" * 60 + "# end\n" * 440)
    result = run(script)
    assert result.returncode == 1
    assert "one.py has 501 lines" in result.stdout
    assert "long has 61 lines" in result.stdout
