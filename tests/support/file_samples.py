"""Small files of every supported format, made by code: what each of them says stands in the test."""

import zipfile
from collections.abc import Iterable, Mapping
from io import BytesIO

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
_OOXML = "http://schemas.openxmlformats.org"
_KINDS = "application/vnd.openxmlformats-officedocument"
_LINKS = f"{_OOXML}/officeDocument/2006/relationships"
_W = f'xmlns:w="{_OOXML}/wordprocessingml/2006/main"'
_R = f'xmlns:r="{_OOXML}/officeDocument/2006/relationships"'
_P = f'xmlns:a="{_OOXML}/drawingml/2006/main" xmlns:p="{_OOXML}/presentationml/2006/main" {_R}'
_S = f'xmlns="{_OOXML}/spreadsheetml/2006/main" {_R}'

EMAIL = (
    b"From: Alice <alice@example.com>\r\nTo: bob@example.com\r\nSubject: =?utf-8?q?Caf=C3=A9_meeting?=\r\n"
    b"Date: Mon, 5 Jan 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n\r\nHi Bob,\r\n\r\nwe meet at noon in the caf\xc3\xa9.\r\n"
)
HTML = (
    "<!doctype html><html><head><title>Tide tables</title><script>steal()</script></head><body>"
    "<h1>Tides</h1><p>High water at <b>noon</b>.</p><ul><li>one</li><li>two</li></ul></body></html>"
)
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 32
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt " + b"\x00" * 32


def archive(files: Mapping[str, str | bytes]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return buffer.getvalue()


def _types(parts: Iterable[tuple[str, str]]) -> str:
    overrides = "".join(f'<Override PartName="{name}" ContentType="{_KINDS}.{kind}+xml"/>' for name, kind in parts)
    return (
        f'{_HEAD}<Types xmlns="{_OOXML}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    )


def _relations(*items: tuple[str, str, str]) -> str:
    inner = "".join(
        f'<Relationship Id="{name}" Type="{_LINKS}/{kind}" Target="{target}"/>' for name, kind, target in items
    )
    return f'{_HEAD}<Relationships xmlns="{_OOXML}/package/2006/relationships">{inner}</Relationships>'


def docx(heading: str, *paragraphs: str, title: str | None = None) -> bytes:
    style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
    body = f"<w:p>{style}<w:r><w:t>{heading}</w:t></w:r></w:p>"
    body += "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    return docx_of(body, title=title)


def docx_of(body: str, styles: str = "", *, title: str | None = None) -> bytes:
    """A document with this content and these styles in the markup of Word."""
    kinds = [("/word/document.xml", "wordprocessingml.document.main"), ("/word/styles.xml", "wordprocessingml.styles")]
    files = {
        "[Content_Types].xml": _types(kinds),
        "_rels/.rels": _relations(("r1", "officeDocument", "word/document.xml")),
        "word/_rels/document.xml.rels": _relations(("r1", "styles", "styles.xml")),
        "word/styles.xml": f"{_HEAD}<w:styles {_W}>{styles}</w:styles>",
        "word/document.xml": f"{_HEAD}<w:document {_W}><w:body>{body}</w:body></w:document>",
    }
    if title is not None:
        core = f'xmlns:cp="{_OOXML}/package/2006/metadata/core-properties"'
        dublin = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
        files["docProps/core.xml"] = (
            f"{_HEAD}<cp:coreProperties {core} {dublin}><dc:title>{title}</dc:title></cp:coreProperties>"
        )
    return archive(files)


def pptx(title: str, body: str) -> bytes:
    shapes = "".join(
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="x"/><p:cNvSpPr/><p:nvPr><p:ph type="{kind}"/></p:nvPr>'
        f"</p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        for number, (kind, text) in enumerate((("title", title), ("body", body)), 2)
    )
    slide = f"{_HEAD}<p:sld {_P}><p:cSld><p:spTree><p:nvGrpSpPr/><p:grpSpPr/>{shapes}</p:spTree></p:cSld></p:sld>"
    return archive(
        {
            "[Content_Types].xml": _types(
                [
                    ("/ppt/presentation.xml", "presentationml.presentation.main"),
                    ("/ppt/slides/slide1.xml", "presentationml.slide"),
                ]
            ),
            "_rels/.rels": _relations(("r1", "officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": f'{_HEAD}<p:presentation {_P}><p:sldIdLst><p:sldId id="256" r:id="rId1"/>'
            "</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": _relations(("rId1", "slide", "slides/slide1.xml")),
            "ppt/slides/slide1.xml": slide,
        }
    )


def xlsx(rows: Iterable[Iterable[str]], sheet: str = "Budget") -> bytes:
    cells = "".join(
        f'<row r="{number}">'
        + "".join(
            f'<c r="{chr(65 + column)}{number}" t="inlineStr"><is><t>{value}</t></is></c>'
            for column, value in enumerate(row)
        )
        + "</row>"
        for number, row in enumerate(rows, 1)
    )
    return archive(
        {
            "[Content_Types].xml": _types(
                [
                    ("/xl/workbook.xml", "spreadsheetml.sheet.main"),
                    ("/xl/worksheets/sheet1.xml", "spreadsheetml.worksheet"),
                ]
            ),
            "_rels/.rels": _relations(("r1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f"{_HEAD}<workbook {_S}><sheets>"
            f'<sheet name="{sheet}" sheetId="1" r:id="rId1"/>'
            "</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": _relations(("rId1", "worksheet", "worksheets/sheet1.xml")),
            "xl/worksheets/sheet1.xml": f"{_HEAD}<worksheet {_S}><sheetData>{cells}</sheetData></worksheet>",
        }
    )


def pdf(*lines: str, title: str = "", encrypted: bool = False, annotations: Iterable[str] = ()) -> bytes:
    """A page of text; `annotations`: dictionaries of annotations, those of type Widget are fields of a form."""
    added = list(annotations)
    references = "".join(f"{number} 0 R " for number in range(7, 7 + len(added)))
    stream = "BT /F1 12 Tf 72 720 Td 14 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    fonts = "<< /Font << /F1 5 0 R >> >>"
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [{references}] >> >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources {fonts} "
            f"/Annots [{references}] >>"
        ),
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
        *(f"<< /Type /Annot {each} >>" for each in added),
    ]
    trailer = ""
    if encrypted:
        objects.append(f"<< /Filter /Standard /V 1 /R 2 /P -44 /O <{'41' * 32}> /U <{'42' * 32}> >>")
        trailer = " /Encrypt 7 0 R /ID [<00><00>]"
    out, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    return (
        f"{out}xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer << /Size {size} /Root 1 0 R /Info 6 0 R{trailer} >>\nstartxref\n{len(out)}\n%%EOF\n"
    ).encode()


def zip_bomb(megabytes: int = 300) -> bytes:
    """A DOCX of some hundred kilobytes that unpacks to `megabytes`."""
    start = f"<w:document {_W}><w:body><w:p><w:r><w:t>".encode()
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("[Content_Types].xml", _types([]))
        with target.open("word/document.xml", "w", force_zip64=True) as part:
            part.write(start)
            for _ in range(megabytes):
                part.write(b"A" * 1024 * 1024)
            part.write(b"</w:t></w:r></w:p></w:body></w:document>")
    return buffer.getvalue()
