"""The text loader of core, and the loader of documents."""

from __future__ import annotations

from datamind.testing.conformance.loaders import LoaderConformance, Sample
from tests.support.documents import (
    make_docx,
    make_eml,
    make_epub,
    make_pdf,
    make_pptx,
    make_xlsx,
    make_zip,
    paragraph,
    table,
)

_OFFICE = "application/vnd.openxmlformats-officedocument"
DOCX = f"{_OFFICE}.wordprocessingml.document"
PPTX = f"{_OFFICE}.presentationml.presentation"
XLSX = f"{_OFFICE}.spreadsheetml.sheet"

CHINESE = "# 网关\n\n服务器在夜间重启。管理员需要检查日志。\n"
LATIN = "Größe und Übermaß: die Straße führt über die Brücke.\r\n"


class TestTextLoader(LoaderConformance):
    factory = "datamind.capabilities.ingest.loaders:open_text_loader"
    samples = (
        Sample("text/plain", b"The gateway restarts.\nAt night.\n", ["The gateway restarts.\n", "At night."]),
        Sample("text/plain", LATIN.encode("cp1252"), [LATIN]),
        Sample("text/plain", LATIN.encode("utf-16"), [LATIN]),
        Sample("text/markdown", CHINESE.encode("gb18030"), [CHINESE]),
        Sample("application/json", b'{"berth": 3}', ['{"berth": 3}']),
        Sample("application/x-ndjson", b'{"berth": 3}\n{"berth": 4}\n', ['{"berth": 3}', '{"berth": 4}']),
        Sample("application/xml", b"<berth>three</berth>", ["<berth>three</berth>"]),
    )
    broken = (
        ("text/plain", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("text/plain", b"%PDF-1.7\n%plain ascii follows\n"),
        ("text/plain", b"text\0with NUL"),
        ("text/markdown", b"\xef\xbb\xbfmarked as UTF-8 \xff\xfe"),
        ("text/markdown", "Сервер перезапускается ночью.".encode("koi8-r")),
    )


class TestDocumentLoader(LoaderConformance):
    factory = "datamind_documents.loader:open_loader"
    options_model = "datamind_documents.options:DocumentsOptions"
    samples = (
        Sample("application/pdf", make_pdf(["The crane lifts 40 tons.", "It rests on Sundays."]), ["crane", "Sundays"]),
        Sample(
            DOCX,
            make_docx(paragraph("Berths", "Heading1") + paragraph("泊位三号正在维修。") + table([["Berth", "Depth"]])),
            ["# Berths\n", "泊位三号正在维修。", "| Berth | Depth |"],
        ),
        Sample(PPTX, make_pptx([("Plan", "Dredge in May"), ("Cost", "Two million")]), ["## Plan", "May", "## Cost"]),
        Sample(XLSX, make_xlsx({"Tugs": [["Name", "Year"], ["Otter", 1998]]}), ["## Tugs", "| Otter | 1998 |"]),
        Sample("text/html", b"<h1>Tides</h1><p>High <b>water</b> at noon.", ["# Tides", "High water at noon."]),
        Sample("text/csv", "港口;深度\n我们的港口;18,5\n".encode("gb18030"), ["港口 | 深度 |", "| 18,5 |"]),
        Sample("text/tab-separated-values", b"a\tb\n1\t2\n", ["| a | b |", "| 1 | 2 |"]),
        Sample("application/epub+zip", make_epub(["<h1>One</h1>", "<h1>Two</h1>"], "Pilots"), ["# One", "# Two"]),
        Sample("message/rfc822", make_eml("Fog", "Ships wait outside."), ["Subject: Fog", "Ships wait outside."]),
    )
    broken = (
        ("application/pdf", b"The crane lifts 40 tons."),
        ("application/pdf", b"%PDF-1.7\n" + b"nothing that a PDF has\n" * 20),
        ("application/pdf", make_pdf(["cut"])[:200]),
        (DOCX, make_pdf(["a PDF"])),
        (DOCX, make_zip({"other.txt": "a zip"})),
        (PPTX, make_docx(paragraph("a Word document"))),
        (XLSX, b"PK\x03\x04 and no more"),
        ("text/html", b"No markup at all."),
        ("text/html", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("text/csv", b"a,b\n\0,2\n"),
        ("application/epub+zip", make_zip({"a": "b"})),
        ("message/rfc822", b"Dear Joris, ships wait outside."),
        *((media_type, b"") for media_type in ("application/pdf", DOCX, "text/html", "text/csv", "message/rfc822")),
    )
