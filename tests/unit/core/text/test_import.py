from __future__ import annotations

import subprocess
import sys

MODULES = """
    blocks bm25 chunking fusion language normalize numerals offsets sentences spans stopwords tokens
"""


def test_importing_and_querying_in_chinese_loads_no_third_party_module() -> None:
    imports = "\n".join(f"import datamind.capabilities.text.{module}" for module in MODULES.split())
    script = f"""
import sys
before = set(sys.modules)
{imports}
datamind.capabilities.text.tokens.tokenize("网关的超时")
loaded = {{name.split(".")[0] for name in set(sys.modules) - before}}
print(sorted(loaded - set(sys.stdlib_module_names) - {{"datamind"}}))
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
