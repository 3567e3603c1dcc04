"""The text loader of core."""

from __future__ import annotations

from datamind.testing.conformance.loaders import LoaderConformance, Sample

CHINESE = "# 网关\n\n服务器在夜间重启。管理员需要检查日志。\n"
LATIN = "Größe und Übermaß: die Straße führt über die Brücke.\r\n"


class TestTextLoader(LoaderConformance):
    factory = "datamind.capabilities.ingest.loaders:open_text_loader"
    samples = (
        Sample("text/plain", b"The gateway restarts.\nAt night.\n", ["The gateway restarts.\n", "At night."]),
        Sample("text/plain", LATIN.encode("cp1252"), [LATIN]),
        Sample("text/plain", LATIN.encode("utf-16"), [LATIN]),
        Sample("text/markdown", CHINESE.encode("gb18030"), [CHINESE]),
    )
    broken = (
        ("text/plain", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("text/plain", b"%PDF-1.7\n%plain ascii follows\n"),
        ("text/plain", b"text\0with NUL"),
        ("text/markdown", b"\xef\xbb\xbfmarked as UTF-8 \xff\xfe"),
        ("text/markdown", "Сервер перезапускается ночью.".encode("koi8-r")),
    )
