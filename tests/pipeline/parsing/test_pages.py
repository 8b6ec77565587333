"""Pages of files: which passage is on which page, whatever the file looks like."""

import io
from collections.abc import AsyncIterator

import pytest

from pipeline.parsing import optical_recognition
from pipeline.parsing.document_parser import FileParser
from pipeline.parsing.parser_pool import ParserPool
from pipeline.parsing.text_splitter import StructuredSplitter
from pipeline.ports import ParsedDocument
from pipeline.text.page_breaks import split_pages
from schemas.events import BlobRef, Upload
from tests.pipeline.parsing.test_archives_and_pictures import scan
from tests.support import file_samples

pytestmark = pytest.mark.anyio
pdf_writer = pytest.importorskip("tests.support.pdf_writer", reason="needs the ocr extra, which is not installed")

LONG = "The keeper of the lighthouse wrote down the weather of each day and night. " * 16


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def parser(anyio_backend: str) -> AsyncIterator[FileParser]:
    files = FileParser(ParserPool(timeout_seconds=120), recognizes_text=optical_recognition.is_installed())
    yield files
    await files.aclose()


async def parse(parser: FileParser, data: bytes, name: str) -> ParsedDocument:
    return await parser.parse_file(data, Upload(blob=BlobRef(sha256="0", size=len(data)), filename=name))


def pages_by_text(parsed: ParsedDocument) -> list[tuple[str | None, str]]:
    spans = StructuredSplitter().split(parsed.text, parsed.type)
    assert all(parsed.text[span.start : span.end] == span.text for span in spans)
    return [(span.page, span.text) for span in spans]


def covers(label: str | None, number: int) -> bool:
    first, _, last = (label or "0").partition("-")
    return int(first) <= number <= int(last or first)


async def test_each_passage_of_a_pdf_names_its_page(parser: FileParser) -> None:
    data = pdf_writer.write_pdf([f"Page {n}. {LONG}".replace(". ", ".\n") for n in range(1, 5)])
    found = pages_by_text(await parse(parser, data, "log.pdf"))
    for number in range(1, 5):
        assert [covers(page, number) for page, text in found if f"Page {number}." in text] == [True]
    assert {"1", "2", "3", "4"} < {page for page, _ in found}


async def test_what_is_filled_in_and_noted_stands_on_its_page(parser: FileParser) -> None:
    data = file_samples.pdf(
        "Camp registration, see https://camp.example/rules",
        annotations=(
            "/Subtype /Widget /FT /Tx /T (p1.name) /TU (Name of child) /V (Ragna Holt) /Rect [200 690 400 710]",
            "/Subtype /Widget /FT /Btn /T (vegan) /V /Off /Rect [200 660 215 675]",
            "/Subtype /Widget /FT /Tx /Ff 8192 /T (pin) /V (4711) /Rect [200 600 400 620]",
            "/Subtype /Text /Rect [400 690 420 710] /Contents (Ask for a tent.) /T (Bea)",
            "/Subtype /Link /Rect [72 715 400 730] /A << /S /URI /URI (https://camp.example/rules) >>",
            "/Subtype /Link /Rect [72 715 400 730] /A << /S /URI /URI (https://camp.example/prices) >>",
        ),
    )
    (page,) = split_pages((await parse(parser, data, "form.pdf")).text)
    text, _, added = page.partition("\n\n")
    assert text == "Camp registration, see https://camp.example/rules"
    assert added.split("  \n") == [
        "Name of child: Ragna Holt",
        "Note by Bea: Ask for a tent.",
        "Links: https://camp.example/prices",
    ]


async def test_slides_of_opendocument_are_numbered(parser: FileParser) -> None:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{urn}:1.0"'
        for name, urn in (
            ("office", "office"),
            ("draw", "drawing"),
            ("text", "text"),
            ("table", "table"),
            ("presentation", "presentation"),
        )
    )
    title = '<draw:frame presentation:class="title"><draw:text-box><text:p>Moons</text:p></draw:text-box></draw:frame>'
    items = "<text:list><text:list-item><text:p>Io has<text:s/>volcanoes.</text:p></text:list-item></text:list>"
    notes = "<presentation:notes><draw:frame><text:p>Show Loki.</text:p></draw:frame></presentation:notes>"
    cells = "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in ("Io", "1610"))
    table = f"<draw:frame><table:table><table:table-row>{cells}</table:table-row></table:table></draw:frame>"
    shape = "<draw:g><draw:custom-shape><text:p>An ocean is below the ice.</text:p></draw:custom-shape></draw:g>"
    slides = "".join(
        f'<draw:page draw:name="page">{content}</draw:page>'
        for content in (f"{title}<draw:frame>{items * 2}</draw:frame>{table}{notes}", "", shape)
    )
    body = f"<office:body><office:presentation>{slides}</office:presentation></office:body>"
    data = file_samples.archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.presentation",
            "content.xml": f"<office:document-content {spaces}>{body}</office:document-content>",
        }
    )
    parsed = await parse(parser, data, "moons.odp")
    assert (parsed.type, split_pages(parsed.text)) == (
        "odp",
        [
            "## Moons\n\n- Io has volcanoes.\n- Io has volcanoes.\n\n| Io | 1610 |\n\nNotes of slide 1: Show Loki.",
            "",
            "An ocean is below the ice.",
        ],
    )


async def test_a_passage_over_two_pages_names_both(parser: FileParser) -> None:
    data = pdf_writer.write_pdf(["It begins here,", "and ends here."])
    assert [page for page, _ in pages_by_text(await parse(parser, data, "short.pdf"))] == ["1-2"]


async def test_empty_and_rotated_pages_count(parser: FileParser) -> None:
    pages = ["", f"Cranes. {LONG}", "", "", f"Docks. {LONG}", ""]
    data = pdf_writer.write_pdf([page.replace(". ", ".\n") for page in pages], rotations={1: 90, 4: 180})
    parsed = await parse(parser, data, "harbour.pdf")
    assert [bool(page) for page in split_pages(parsed.text)] == [bool(page) for page in pages]
    found = pages_by_text(parsed)
    assert [page for page, text in found if "Cranes." in text] == ["2"]
    assert [page for page, text in found if "Docks." in text] == ["5"]


async def test_a_thousand_pages_keep_their_numbers(parser: FileParser) -> None:
    data = pdf_writer.write_pdf([f"Entry number {n} of the log." if n % 3 else "" for n in range(1, 1001)])
    found = pages_by_text(await parse(parser, data, "thousand.pdf"))
    for number in (1, 500, 1000):
        assert [covers(page, number) for page, text in found if f"Entry number {number} of" in text] == [True]


@pytest.mark.skipif(not optical_recognition.is_installed(), reason="needs the ocr extra, which is not installed")
async def test_scanned_pages_between_typed_ones_are_read_too(parser: FileParser) -> None:
    image_module = pytest.importorskip("PIL.Image")
    scanned = io.BytesIO()
    image_module.open(io.BytesIO(scan("The herring arrived in May."))).save(scanned, "PDF")
    data = pdf_writer.merge_pdfs(
        pdf_writer.write_pdf(["Typed page one."]), scanned.getvalue(), pdf_writer.write_pdf(["", "Typed page four."])
    )
    parsed = await parse(parser, data, "mixed.pdf")
    assert split_pages(parsed.text) == ["Typed page one.", "The herring arrived in May.", "", "Typed page four."]


async def test_slides_and_sheets_are_named(parser: FileParser) -> None:
    deck = await parse(parser, file_samples.pptx("Bees", "They fly."), "bees.pptx")
    assert [page for page, _ in pages_by_text(deck)] == ["1"]
    book = await parse(parser, file_samples.xlsx([["Item", "Cost"], ["Crane", "900"]], "Staff 2026"), "a.xlsx")
    assert {page for page, _ in pages_by_text(book)} == {"Staff 2026"}


async def test_an_archive_of_pdfs_claims_no_page(parser: FileParser) -> None:
    data = file_samples.archive({name: pdf_writer.write_pdf(["One.", "Two."]) for name in ("a.pdf", "b.pdf")})
    assert {page for page, _ in pages_by_text(await parse(parser, data, "both.zip"))} == {None}


def test_text_added_to_a_pdf_later_is_on_no_page() -> None:
    text = f"Typed page.\n\n\f\n\n{LONG}{LONG}"
    assert [span.page for span in StructuredSplitter().split(text, "pdf")] == ["1", None, None, None, None]


def test_a_form_feed_in_another_document_is_no_page() -> None:
    assert [span.page for span in StructuredSplitter().split("One.\n\n\f\n\nTwo.\n\n\f", "text")] == [None]
