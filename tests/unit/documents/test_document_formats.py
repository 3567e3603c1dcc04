"""What becomes of each format, beyond what every loader owes."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from datamind.core.protocols.ingest import LoadedDocument, LoadLimits
from datamind_documents.loader import open_loader
from datamind_documents.options import DocumentsOptions
from tests.support.documents import make_docx, make_eml, make_epub, make_pdf, make_pptx, make_xlsx, paragraph, table

OFFICE = "application/vnd.openxmlformats-officedocument"


@pytest.fixture
async def loader():
    opened = await open_loader(None, DocumentsOptions())
    yield opened
    await opened.aclose()


async def load(loader, content: bytes, media_type: str) -> LoadedDocument:
    return await loader.load(content, media_type=media_type, limits=LoadLimits(max_bytes=1 << 20))


async def test_pages_of_a_pdf_are_told_by_the_text_itself(loader):
    found = await load(loader, make_pdf(["First page.", "", "Third page."], "Harbour rules"), "application/pdf")
    assert found.title == "Harbour rules"
    assert [found.text[start:].partition("\f")[0].strip() for start in found.pages] == [
        "First page.",
        "",
        "Third page.",
    ]


async def test_slides_come_in_their_order_with_tables_notes_and_no_furniture(loader):
    content = make_pptx([("Plan", "Dredge the basin"), ("Cost", "Two million")], notes="Ask Mara first", title="Basin")
    found = await load(loader, content, f"{OFFICE}.presentationml.presentation")
    assert (found.title, len(found.pages)) == ("Basin", 2)
    assert found.text == "## Plan\n\nDredge the basin\n\nNotes: Ask Mara first\n\f## Cost\n\nTwo million\n\f"


async def test_word_keeps_headings_and_tables(loader):
    body = (
        paragraph("Berths", "Heading1")
        + paragraph("Two are free.")
        + table([["Berth", "Depth"], ["A|1", "12"]])
        + paragraph("Rules", "Heading2")
    )
    found = await load(loader, make_docx(body, "Berth list"), f"{OFFICE}.wordprocessingml.document")
    assert found.title == "Berth list"
    assert [line for line in found.text.splitlines() if line][:2] == ["# Berths", "Two are free."]
    assert "| Berth | Depth |" in found.text and "A\\|1 | 12 |" in found.text and "## Rules" in found.text


async def test_a_workbook_keeps_sheets_numbers_and_dates(loader):
    sheets = {
        "Tugs": [
            ["Name", "Built", "Seen"],
            ["Otter", 1998.0, date(2026, 5, 4)],
            ["Heron", None, datetime(2026, 5, 4, 7)],
        ],
        "Empty": [],
        "水深": [["泊位", "米"], ["三号", 12.5]],
    }
    found = await load(loader, make_xlsx(sheets), f"{OFFICE}.spreadsheetml.sheet")
    assert found.text == (
        "## Tugs\n\n| Name | Built | Seen |\n| --- | --- | --- |\n| Otter | 1998 | 2026-05-04 |\n"
        "| Heron |  | 2026-05-04T07:00:00 |\n\n## 水深\n\n| 泊位 | 米 |\n| --- | --- |\n| 三号 | 12.5 |\n"
    )


async def test_a_web_page_gives_what_a_reader_sees(loader):
    page = (
        "<html><head><title>Tide &amp; time</title><style>p{}</style><script>steal()</script></head><body>"
        "<h1>Tides</h1><p>High <b>water</b> is at <a href='https://tide.example/'>noon</a>.</p><ul><li>one<li>two</ul>"
        "<table><tr><th>Day<th>Hour<tr><td>Mon<td>12</table><p style='display:none'>unseen</p></body></html>"
    )
    found = await load(loader, page.encode(), "text/html")
    assert found.title == "Tide & time"
    assert "High water is at noon." in found.text and "| Mon | 12 |" in found.text and "- one\n- two" in found.text
    assert not any(word in found.text for word in ("steal", "p{}", "unseen", "tide.example"))


@pytest.mark.parametrize("name", ["gb2312", "GBK", "gb18030"])
async def test_a_web_page_is_read_in_the_encoding_it_names(loader, name):
    page = f"<html><head><meta charset='{name}'></head><body><p>泊位三号正在维修。</p></body></html>"
    found = await load(loader, page.encode("gb18030"), "text/html")
    assert found.text == "泊位三号正在维修。\n" and found.encoding == "gb18030"


async def test_a_web_page_that_names_a_wrong_encoding_is_still_read(loader):
    page = "<html><head><meta charset='ascii-of-nowhere'></head><body><p>Überfahrt</p></body></html>"
    assert (await load(loader, page.encode(), "text/html")).text == "Überfahrt\n"


async def test_a_book_is_read_in_the_order_of_its_spine(loader):
    found = await load(loader, make_epub(["<h1>One</h1><p>a", "<h1>Two</h1><p>b"], "Pilots"), "application/epub+zip")
    assert found.title == "Pilots"
    assert found.text.index("# One") < found.text.index("# Two")


async def test_a_message_gives_headers_text_and_names_of_attachments(loader):
    content = make_eml("雾 Fog", "Ships wait outside.\n", html="<p>not this</p>", attachment="chart.bin")
    found = await load(loader, content, "message/rfc822")
    assert found.title == "雾 Fog"
    assert "From: mara@harbour.example" in found.text and "Attachments: chart.bin" in found.text
    assert found.text.endswith("\n\nShips wait outside.\n") and "not this" not in found.text
    only_html = make_eml("Fog", "", html="<h2>Wait</h2><p>outside")
    assert "## Wait\n\noutside" in (await load(loader, only_html, "message/rfc822")).text


async def test_nul_and_lone_surrogates_of_a_document_are_no_part_of_its_text(loader):
    page = "<html><body><p>High&#0; water &#xD800; at&#x0b; noon\x07.</p></body></html>"
    text = (await load(loader, page.encode(), "text/html")).text
    assert not any(character in text for character in "\0\ud800\x0b\x07")
    assert text.encode("utf-8")


async def test_a_csv_with_a_quoted_line_break_stays_one_row(loader):
    found = await load(loader, b'a;b\n"one\ntwo";"x | y"\n;\n', "text/csv")
    assert found.text == "| a | b |\n| --- | --- |\n| one two | x \\| y |\n"
