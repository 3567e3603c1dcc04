"""Small documents of every format, made here."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from email.message import EmailMessage

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_REL = "http://schemas.openxmlformats.org/package/2006/relationships"
_CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{}</dc:title></cp:coreProperties>'
)


def make_zip(parts: Mapping[str, str | bytes], *, level: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive; the first part comes first."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", level) as archive:
        for name, body in parts.items():
            archive.writestr(name, body)
    return out.getvalue()


def make_pdf(pages: Sequence[str], title: str = "") -> bytes:
    """A PDF with one line of text on each page, in the standard font."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(count))
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        font = "/Resources << /Font << /F1 3 0 R >> >>"
        bodies.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] {font} /Contents {5 + 2 * i} 0 R >>")
        bodies.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    bodies.append(f"<< /Title ({title}) >>")
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(bodies, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(bodies) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}".encode()
    out += f"trailer\n<< /Size {size} /Root 1 0 R /Info {len(bodies)} 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def encrypted_pdf(password: str) -> bytes:
    """A PDF that opens with a password."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(make_pdf(["The vault code is on page one."]))))
    writer.encrypt(password, "owner", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def make_docx(body: str, title: str = "") -> bytes:
    """A Word document; ``body`` is WordprocessingML (see ``paragraph`` and ``table``)."""
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'wordprocessingml.document.main+xml"/></Types>'
    )
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/></w:style>'
        for level in (1, 2)
    )
    return make_zip(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": f'<Relationships xmlns="{_REL}"><Relationship Id="r1" Type="{_R}/officeDocument"'
            ' Target="word/document.xml"/></Relationships>',
            "docProps/core.xml": _CORE.format(title),
            "word/styles.xml": f'<w:styles xmlns:w="{_W}">{styles}</w:styles>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_REL}"><Relationship Id="s1"'
            f' Type="{_R}/styles" Target="styles.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>',
        }
    )


def paragraph(text: str, style: str = "") -> str:
    """One paragraph of Word."""
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{text}</w:t></w:r></w:p>"


def table(rows: Sequence[Sequence[str]]) -> str:
    """One table of Word."""
    lines = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{line}</w:tr>' for line in lines)}</w:tbl>"


def make_pptx(slides: Sequence[tuple[str, str]], notes: str = "", title: str = "") -> bytes:
    """A presentation of slides with a title and a text; notes belong to the first."""
    ids = "".join(f'<p:sldId id="{256 + i}" r:id="rId{i}"/>' for i in range(len(slides)))
    relations = "".join(
        f'<Relationship Id="rId{i}" Type="{_R}/slide" Target="slides/slide{len(slides) - i}.xml"/>'
        for i in range(len(slides))
    )
    parts = {
        "docProps/core.xml": _CORE.format(title),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{_P}" xmlns:r="{_R}"><p:sldIdLst>{ids}</p:sldIdLst>'
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{_REL}">{relations}</Relationships>',
    }
    for i, (heading, text) in enumerate(slides):
        parts[f"ppt/slides/slide{len(slides) - i}.xml"] = _slide(_shape("title", heading) + _shape("body", text))
    if notes:
        parts[f"ppt/slides/_rels/slide{len(slides)}.xml.rels"] = (
            f'<Relationships xmlns="{_REL}"><Relationship Id="n" Type="{_R}/notesSlide"'
            ' Target="../notesSlides/notesSlide1.xml"/></Relationships>'
        )
        parts["ppt/notesSlides/notesSlide1.xml"] = _slide(_shape("body", notes) + _shape("sldNum", "17"))
    return make_zip(parts)


def _slide(shapes: str) -> str:
    return f'<p:sld xmlns:p="{_P}" xmlns:a="{_A}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>'


def _shape(kind: str, text: str) -> str:
    return (
        f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
        f"<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def make_xlsx(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    """A workbook."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def make_epub(chapters: Sequence[str], title: str) -> bytes:
    """A book; each chapter is the body of a page. Files lie in the reverse of the reading order."""
    names = [f"c{len(chapters) - i}.xhtml" for i in range(len(chapters))]
    items = "".join(
        f'<item id="{name}" href="text/{name}" media-type="application/xhtml+xml"/>' for name in sorted(names)
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    return make_zip(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata'
            f' xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></metadata>'
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{
                f"OEBPS/text/{name}": f"<html><head><title>x</title></head><body>{chapter}</body></html>"
                for name, chapter in zip(names, chapters, strict=True)
            },
        },
        level=zipfile.ZIP_STORED,
    )


def make_eml(subject: str, plain: str, html: str = "", attachment: str = "") -> bytes:
    """A message with the plain text, its HTML and a file."""
    message = EmailMessage()
    message["From"], message["To"] = "mara@harbour.example", "joris@harbour.example"
    message["Subject"] = subject
    if plain:
        message.set_content(plain)
    if html:
        (message.add_alternative if plain else message.set_content)(html, subtype="html")
    if attachment:
        message.add_attachment(b"\0\1\2", maintype="application", subtype="octet-stream", filename=attachment)
    return message.as_bytes()
