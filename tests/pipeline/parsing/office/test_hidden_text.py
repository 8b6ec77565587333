"""Text of Word documents that Word does not show."""

import zipfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.parsing.office.hidden_text import without_hidden_text
from tests.support import file_samples

VANISH = "<w:vanish/>"
STYLES = (
    f'<w:style w:type="character" w:styleId="Secret"><w:rPr>{VANISH}</w:rPr></w:style>'
    '<w:style w:type="character" w:styleId="Child"><w:basedOn w:val="Secret"/></w:style>'
    '<w:style w:type="character" w:styleId="Shown"><w:basedOn w:val="Secret"/>'
    '<w:rPr><w:vanish w:val="0"/></w:rPr></w:style>'
    '<w:style w:type="character" w:styleId="Circle"><w:basedOn w:val="Circle"/></w:style>'
    f'<w:style w:type="paragraph" w:styleId="Notes"><w:rPr>{VANISH}</w:rPr></w:style>'
)


def run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def styled(name: str) -> str:
    return f'<w:rStyle w:val="{name}"/>'


def paragraph(runs: str, style: str = "") -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>{runs}</w:p>' if style else f"<w:p>{runs}</w:p>"


def text_in(document: bytes) -> str:
    with zipfile.ZipFile(BytesIO(without_hidden_text(document))) as archive:
        return archive.read("word/document.xml").decode()


@pytest.mark.parametrize(
    "hidden",
    [
        paragraph(run("secret", VANISH)),
        paragraph(run("secret", '<w:vanish w:val="true"/>')),
        paragraph(run("secret", styled("Secret"))),
        paragraph(run("secret", styled("Child"))),
        paragraph(run("secret"), "Notes"),
        paragraph(f'<w:moveFrom w:id="1" w:author="a">{run("secret")}</w:moveFrom>'),
        f"<w:tbl><w:tr><w:trPr><w:hidden/></w:trPr><w:tc>{paragraph(run('secret'))}</w:tc></w:tr></w:tbl>",
        paragraph(f'<w:hyperlink w:anchor="x">{run("secret", VANISH)}</w:hyperlink>'),
    ],
)
def test_hidden_text_is_left_out(hidden: str) -> None:
    document = file_samples.docx_of(paragraph(run("Seen.")) + hidden + paragraph(run("Also seen.")), STYLES)
    text = text_in(document)
    assert "secret" not in text
    assert "Seen." in text
    assert "Also seen." in text


@pytest.mark.parametrize(
    "seen",
    [
        paragraph(run("Seen.", '<w:vanish w:val="0"/>')),
        paragraph(run("Seen.", "<w:webHidden/>")),
        paragraph(run("Seen.", styled("Shown"))),
        paragraph(run("Seen.", styled("Circle"))),
        paragraph(run("Seen.", styled("Secret")), "Notes"),
        paragraph(run("Seen.", styled("Unknown")), "Unknown"),
        f"<w:p><w:pPr><w:rPr>{VANISH}</w:rPr></w:pPr>{run('Seen.')}</w:p>",
    ],
)
def test_a_document_without_hidden_text_stays_as_it_is(seen: str) -> None:
    document = file_samples.docx_of(seen, STYLES)
    assert without_hidden_text(document) is document


@given(st.binary(max_size=200))
def test_what_is_no_document_stays_as_it_is(data: bytes) -> None:
    assert without_hidden_text(data) == data
