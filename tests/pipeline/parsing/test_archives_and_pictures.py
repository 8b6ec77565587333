"""Archives as their files, notebooks as cells, notes of slides, drawings, and scans through the `ocr` extra."""

import base64
import bz2
import gzip
import io
import json
import lzma
import sys
import tarfile
import zipfile
from collections.abc import AsyncIterator, Sequence

import anyio
import pytest

from pipeline.errors import ParsingError
from pipeline.parsing import archive_files, document_parser, optical_recognition
from pipeline.parsing.document_parser import FileParser
from pipeline.parsing.office.slides import arrange_slides
from pipeline.parsing.parser_pool import ParserPool, ParserResult
from pipeline.text.page_breaks import join_pages, split_pages
from tests.pipeline.parsing.test_document_parser import reason, upload
from tests.support import file_samples
from tests.support.timeouts import WAIT_TIMEOUT_SECONDS

pytestmark = pytest.mark.anyio
NOTES_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/notesSlide"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def extractor(anyio_backend: str) -> AsyncIterator[FileParser]:
    made = FileParser(ParserPool(max_workers=1, timeout_seconds=WAIT_TIMEOUT_SECONDS, memory_limit_mb=1536))
    yield made
    await made.aclose()


async def test_an_archive_is_read_as_its_files(extractor: FileParser) -> None:
    inner = file_samples.archive({"deep.txt": "Deep words."})
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("notes/bees.md", "The bees returned.")
        archive.writestr("plan.docx", file_samples.docx("Plan", "We move to Oslo."))
        archive.writestr("inner.zip", inner)
        archive.writestr("song.mp3", b"ID3 sound")
        archive.writestr("__MACOSX/._bees.md", b"\x00")
        archive.writestr(".DS_Store", b"\x00")
    parsed = await extractor.parse_file(data.getvalue(), upload(data.getvalue(), "all.zip"))
    assert parsed.type == "archive"
    for part in (
        "# notes/bees.md\n\nThe bees returned.",
        "We move to Oslo.",
        "# inner.zip\n\n# deep.txt\n\nDeep words.",
    ):
        assert part in parsed.text
    assert "- song.mp3: Audio needs a model" in parsed.text
    assert "DS_Store" not in parsed.text


def tar(files: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]  # a mode as text
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return out.getvalue()


async def test_tar_and_compressed_files_are_archives_too(extractor: FileParser) -> None:
    files = {"./log/a.txt": b"The compressor ran 51 hours.", "plan.pdf": file_samples.pdf("Kelp farm.")}
    for mode, name in (("w", "a.tar"), ("w:gz", "a.tgz"), ("w:bz2", "a.tar.bz2"), ("w:xz", "a.tar.xz")):
        data = tar(files, mode)
        parsed = await extractor.parse_file(data, upload(data, name))
        assert (parsed.type, parsed.title) == ("archive", name)
        assert "# log/a.txt\n\nThe compressor ran 51 hours.\n\n# plan.pdf\n\nKelp farm." in parsed.text
        assert "link" not in parsed.text
    for pack, name in ((gzip.compress, "notes.md.gz"), (bz2.compress, "notes.md.bz2"), (lzma.compress, "notes.md.xz")):
        data = pack(b"The mast light is green.")
        assert (await extractor.parse_file(data, upload(data, name))).text == "# notes.md\n\nThe mast light is green."


async def test_a_folder_of_mails_is_read_as_its_mails(extractor: FileParser) -> None:
    body = base64.encodebytes("Der Schlüssel hängt bei Voss.".encode())
    first = b"Subject: =?utf-8?q?Schl=C3=BCssel?=\nFrom: z@x.example\nContent-Transfer-Encoding: base64\n\n" + body
    second = b"Subject: Kiln\nFrom: n@x.example\n\nFree on Monday.\n>From then on ask Piet.\n"
    data = b"".join(b"From a@x.example Thu May  2 09:00:00 2024\n" + mail + b"\n" for mail in (first, second))
    for content in (data, data.replace(b"\n", b"\r\n")):
        parsed = await extractor.parse_file(content, upload(content, "Inbox"))
        assert parsed.text.startswith(
            "# Schlüssel\n\nSubject: Schlüssel\nFrom: z@x.example\n\nDer Schlüssel hängt bei Voss."
        )
        assert "# Kiln\n" in parsed.text
        assert "Free on Monday.\nFrom then on ask Piet." in parsed.text


async def test_damaged_and_large_archives_are_refused_or_read_in_part(
    extractor: FileParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tar({"a.txt": b"Text.", "b.txt": bytes(range(256)) * 40})
    assert "- more files: damaged" in (await extractor.parse_file(whole[:4096], upload(whole, "a.tar"))).text
    assert "damaged" in await reason(extractor, gzip.compress(b"x" * 9999)[:20], "a.txt.gz")
    monkeypatch.setattr(archive_files, "MAX_UNPACKED_BYTES", 30_000)
    bomb = tar({"small.txt": b"Text.", "zeros.txt": b"0" * 90_000}, "w:gz")
    assert "- more files: the archive unpacks to more" in (await extractor.parse_file(bomb, upload(bomb, "a.tgz"))).text
    assert "unpacks to more" in await reason(extractor, gzip.compress(b"0" * 90_000), "zeros.txt.gz")
    monkeypatch.setattr(archive_files, "MAX_UNPACKED_BYTES", 100_000)
    monkeypatch.setattr(archive_files, "MAX_FILES", 1)
    many = tar({"a.txt": b"Text.", "b.txt": b"Text."})
    assert "- more files: more than 1" in (await extractor.parse_file(many, upload(many, "a.tar"))).text


async def test_archives_are_bounded_in_count_size_and_depth(
    extractor: FileParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_files, "MAX_FILES", 2)
    many = file_samples.archive({f"{n}.txt": f"Text {n}." for n in range(5)})
    assert "- 3 more files: more than 2" in (await extractor.parse_file(many, upload(many, "a.zip"))).text
    monkeypatch.setattr(archive_files, "MAX_UNPACKED_BYTES", 1000)
    large = file_samples.archive({"small.txt": "Text.", "zeros.txt": "0" * 5000})
    assert (
        "- zeros.txt: the archive unpacks to more" in (await extractor.parse_file(large, upload(large, "a.zip"))).text
    )
    monkeypatch.setattr(archive_files, "MAX_UNPACKED_BYTES", 10_000)
    nested = file_samples.archive({"a.txt": "Text."})
    for _ in range(4):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("inner.zip", nested)
        nested = buffer.getvalue()
    assert "too deep inside archives" in await reason(extractor, nested, "a.zip")


async def test_limits_hold_for_an_archive_and_those_inside_together(
    extractor: FileParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = file_samples.archive({"words.txt": "word " * 100})
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as archive:
        for name in ("1.zip", "2.zip"):
            archive.writestr(name, inner)
    data = outer.getvalue()
    monkeypatch.setattr(archive_files, "MAX_UNPACKED_BYTES", 2 * len(inner) + 600)
    text = (await extractor.parse_file(data, upload(data, "a.zip"))).text
    assert text.count("# words.txt") == 1
    assert "- 2.zip: The archive holds no file that can be read: words.txt: the archive unpacks to more" in text
    monkeypatch.setattr(archive_files, "MAX_UNPACKED_BYTES", 10_000)
    monkeypatch.setattr(document_parser, "MAX_TEXT_CHARS", 600)
    both = file_samples.archive({f"{name}.txt": "word " * 100 for name in "ab"})
    assert "Split it" in await reason(extractor, both, "a.zip")


async def test_an_archive_of_nothing_or_of_damage_is_refused(extractor: FileParser) -> None:
    assert "it is empty" in await reason(extractor, file_samples.archive({".hidden": "x"}), "a.zip")
    assert "damaged" in await reason(extractor, file_samples.archive({"a.txt": "x" * 99})[:-30], "a.zip")


def damaged_archives() -> dict[str, bytes]:
    """Archives whose names or compressed bytes are damaged, with what is said of them."""
    named = file_samples.archive({"é.txt": "x" * 99})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.txt", "x" * 99)
    packed = bytearray(buffer.getvalue())
    packed[30 + len("a.txt") + 4] = 0xFF  # the properties of the LZMA stream
    return {
        "directory": named.replace("é".encode(), b"\xc3("),
        "header": named.replace("é".encode(), b"\xc3(", 1),
        "lzma": bytes(packed),
    }


@pytest.mark.parametrize("damage", ["directory", "header", "lzma"])
async def test_damage_of_names_and_streams_is_named(extractor: FileParser, damage: str) -> None:
    assert "damaged" in await reason(extractor, damaged_archives()[damage], "a.zip")


async def test_a_drawing_has_a_limit_of_length(extractor: FileParser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_parser, "MAX_TEXT_CHARS", 10)
    drawing = b"<svg xmlns='http://www.w3.org/2000/svg'><title>A map of the town</title></svg>"
    assert "Split it" in await reason(extractor, drawing, "a.svg")


async def test_a_notebook_becomes_its_cells(extractor: FileParser) -> None:
    printed = {"output_type": "stream", "name": "stdout", "text": ["42\n"]}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Bees\n", "A study."]},
        {"cell_type": "code", "metadata": {}, "source": "print(42)", "execution_count": 1, "outputs": [printed]},
    ]
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    parsed = await extractor.parse_file(data, upload(data, "study.ipynb"))
    assert parsed.type == "markdown"
    assert parsed.text.startswith("# Bees\n\nA study.")
    assert "print(42)\n```\n\n42" in parsed.text
    assert "execution_count" not in parsed.text


async def test_the_notes_of_slides_are_kept(extractor: FileParser) -> None:
    deck = io.BytesIO(file_samples.pptx("Hello", "World"))
    with zipfile.ZipFile(deck, "a") as archive:
        link = f'<Relationship Id="rId9" Type="{NOTES_RELATION}" Target="../notesSlides/notesSlide1.xml"/>'
        archive.writestr("ppt/slides/_rels/slide1.xml.rels", f"<Relationships>{link}</Relationships>")
        words = "<a:r><a:t>Speak </a:t></a:r><a:r><a:t>slowly.</a:t></a:r>"
        body, number = (
            f'<p:sp><p:nvPr><p:ph type="{kind}"/></p:nvPr><p:txBody><a:p>{runs}</a:p></p:txBody></p:sp>'
            for kind, runs in (("body", words), ("sldNum", "<a:r><a:t>1</a:t></a:r>"))
        )
        archive.writestr(
            "ppt/notesSlides/notesSlide1.xml", f'<p:notes xmlns:p="p" xmlns:a="a">{body}{number}</p:notes>'
        )
    parsed = await extractor.parse_file(deck.getvalue(), upload(deck.getvalue(), "deck.pptx"))
    assert parsed.text.endswith("World\n\nNotes of slide 1: Speak slowly.\n\n\f")


async def test_numbers_of_a_sheet_read_as_their_cells_show_them(extractor: FileParser) -> None:
    cells = (
        '<c r="A2" s="1"><v>815</v></c><c r="B2" s="2"><v>0.35</v></c>'
        '<c r="C2" s="2" t="n"><f>B2/2</f><v>0.175</v></c><c r="D2" s="0"><v>0.5</v></c>'
    )
    styles = (
        '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="00000"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="10"/></cellXfs></styleSheet>'
    )
    with zipfile.ZipFile(io.BytesIO(file_samples.xlsx([["Part", "Share", "Half", "Plain"]]))) as plain:
        parts = {name: plain.read(name).decode() for name in plain.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace("</sheetData>", f'<row r="2">{cells}</row></sheetData>')
    book = file_samples.archive({**parts, "xl/styles.xml": styles})
    parsed = await extractor.parse_file(book, upload(book, "parts.xlsx"))
    assert "| 00815 | 35.00% | 17.50% | 0.5 |" in parsed.text


async def test_a_drawing_gives_its_words(extractor: FileParser) -> None:
    head = b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x "secret">]><svg xmlns="http://www.w3.org/2000/svg">'
    data = head + b"<title>Map</title><text>Old <tspan>town</tspan> &x;</text></svg>"
    parsed = await extractor.parse_file(data, upload(data, "map.svg"))
    assert (parsed.type, parsed.title, parsed.text) == ("image", "Map", "Map\nOld town &x;")
    assert "no title, description or label" in await reason(extractor, b"<svg><rect/></svg>", "a.svg")


async def test_a_damaged_drawing_gives_its_words_or_a_reason(extractor: FileParser) -> None:
    damaged = b"<svg xmlns='http://www.w3.org/2000/svg'><To: bob><title>Map</title></svg>"
    assert (await extractor.parse_file(damaged, upload(damaged, "map.svg"))).text == "Map"
    no_character = b"<svg><text>&#xd800;</text></svg>"
    assert "no title, description or label" in await reason(extractor, no_character, "a.svg")


async def test_a_file_without_a_name_in_an_archive_is_passed_over(extractor: FileParser) -> None:
    data = file_samples.archive({"a.txt": "Text.", "nameless": "Nothing."}).replace(b"nameless", b"\x00ameless")
    assert "Text." in (await extractor.parse_file(data, upload(data, "a.zip"))).text


def test_slides_with_damaged_names_stay_as_they_are() -> None:
    damaged = file_samples.archive({"ü.xml": "x"}).replace("ü".encode(), b"\xc3\xff")
    assert arrange_slides(damaged, ["One."]) == ["One."]


def test_slides_come_in_the_order_of_the_presentation() -> None:
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/slide"
    links = "".join(
        f'<Relationship Id="r{number}" Type="{relation}" Target="{target}"/>'
        for number, target in ((1, "slides/slide1.xml"), (2, "/ppt/slides/slide2.xml"), (10, "slides/slide10.xml"))
    )
    shown = "".join(f'<p:sldId id="25{number}" r:id="r{number}"/>' for number in (10, 1, 2, 7))
    deck = file_samples.archive(
        {
            "ppt/presentation.xml": f'<p:presentation xmlns:p="p" xmlns:r="r">{shown}</p:presentation>',
            "ppt/_rels/presentation.xml.rels": f"<Relationships>{links}</Relationships>",
            **{f"ppt/slides/slide{number}.xml": "<p/>" for number in (1, 2, 10)},
        }
    )
    assert arrange_slides(deck, ["One.", "Two.", "Ten."]) == ["Ten.", "One.", "Two."]
    assert arrange_slides(deck, ["One.", "Two."]) == ["One.", "Two."]


class FailingPages(ParserPool):
    """A scan of nine pages, of which those after the first request can't be read."""

    async def recognize(self, data: bytes, *, mime: str, pages: Sequence[int] = ()) -> ParserResult:
        del data, mime
        if pages and pages[0] > 0:
            raise ParsingError("Reading the file took longer than 60 s and was stopped.")
        if not pages:
            return ParserResult("", None, None, tuple(range(optical_recognition.PAGES_PER_REQUEST * 2 + 1)))
        return ParserResult(join_pages("The first pages." for _ in pages), None, None, tuple(pages))


async def test_pages_that_fail_leave_those_that_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    files, size = FileParser(FailingPages(), recognizes_text=True), optical_recognition.PAGES_PER_REQUEST
    found = await files._recognize_paged("pdf", b"", upload(b"", "scan.pdf"), None)
    assert found.text.startswith("The first pages.\n\n\f\n\n")
    assert f"\f\n\n[pages {size + 1}-{2 * size} were not read: Reading the file" in found.text
    monkeypatch.setattr(document_parser, "RECOGNITION_SECONDS", -1.0)
    assert "No text was recognized" in str(await _recognition_error(files))


async def _recognition_error(files: FileParser) -> ParsingError:
    with pytest.raises(ParsingError) as caught:
        await files._recognize_paged("pdf", b"", upload(b"", "scan.pdf"), None)
    return caught.value


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
async def test_the_room_for_recognition_is_taken_back() -> None:
    program = (
        "import resource\n"
        "from pipeline.parsing.parser_process import limit_memory, _make_room_for_ocr\n"
        "for step in (lambda: limit_memory(1 << 28), _make_room_for_ocr, lambda: limit_memory(1 << 28)):\n"
        "    step()\n"
        "    soft, hard = resource.getrlimit(resource.RLIMIT_AS)\n"
        "    print(soft < hard)\n"
    )
    done = await anyio.run_process([sys.executable, "-c", program])
    assert done.stdout.split() == [b"True", b"False", b"True"]


def scan(*lines: str) -> "bytes":
    """Draw lines as a page of a scanner: a PNG."""
    image_module = pytest.importorskip("PIL.Image")
    draw_module = pytest.importorskip("PIL.ImageDraw")
    font = pytest.importorskip("PIL.ImageFont").load_default(30)
    page = image_module.new("RGB", (1000, 120 + 60 * len(lines)), "white")
    for row, line in enumerate(lines):
        draw_module.Draw(page).text((60, 60 + 60 * row), line, fill="black", font=font)
    out = io.BytesIO()
    page.save(out, "PNG")
    return out.getvalue()


@pytest.mark.skipif(not optical_recognition.is_installed(), reason="needs the ocr extra, which is not installed")
async def test_images_and_scanned_pages_are_read_offline(extractor: FileParser) -> None:
    image = scan("The ferry leaves at noon.", "Bring two tickets.")
    parsed = await extractor.parse_file(image, upload(image, "note.png"))
    assert (parsed.type, parsed.text) == ("image", "The ferry leaves at noon.\nBring two tickets.")
    image_module = pytest.importorskip("PIL.Image")
    pages = [image_module.open(io.BytesIO(scan(f"Page of number {n}"))) for n in range(6)]
    out = io.BytesIO()
    pages[0].save(out, "PDF", save_all=True, append_images=pages[1:])
    parsed = await extractor.parse_file(out.getvalue(), upload(out.getvalue(), "scan.pdf"))
    assert parsed.type == "pdf"
    assert split_pages(parsed.text) == [f"Page of number {n}" for n in range(6)]
    assert "can't be read" in await reason(extractor, b"\x89PNG\r\n damaged", "a.png")
    huge = io.BytesIO()
    image_module.new("1", (20_000, 20_000)).save(huge, "PNG")
    assert "far more than its size and was refused" in await reason(extractor, huge.getvalue(), "huge.png")


@pytest.mark.skipif(not optical_recognition.is_installed(), reason="needs the ocr extra, which is not installed")
async def test_a_fax_of_several_pages_is_read_whole(extractor: FileParser) -> None:
    image_module = pytest.importorskip("PIL.Image")
    pages = [
        image_module.open(io.BytesIO(scan(text))).convert("L")
        for text in ("The ferry leaves at noon.", "Page of number 2")
    ]
    for number, text in ((2, ["The ferry leaves at noon.", "Page of number 2"]), (1, [])):
        out = io.BytesIO()
        pages[0].save(out, "TIFF", save_all=True, append_images=pages[1:number], compression="tiff_lzw")
        parsed = await extractor.parse_file(out.getvalue(), upload(out.getvalue(), "fax.tif"))
        assert (parsed.type, split_pages(parsed.text)) == ("image", text)
        assert parsed.text.startswith("The ferry leaves at noon.")


@pytest.mark.skipif(not optical_recognition.is_installed(), reason="needs the ocr extra, which is not installed")
@pytest.mark.parametrize("ink", ["black", "white"])
async def test_words_on_a_transparent_ground_are_read(extractor: FileParser, ink: str) -> None:
    image_module = pytest.importorskip("PIL.Image")
    font = pytest.importorskip("PIL.ImageFont").load_default(40)
    logo = image_module.new("RGBA", (900, 200), (0, 0, 0, 0))
    pytest.importorskip("PIL.ImageDraw").Draw(logo).text((60, 60), "Harbour office", fill=ink, font=font)
    out = io.BytesIO()
    logo.save(out, "PNG")
    assert (await extractor.parse_file(out.getvalue(), upload(out.getvalue(), "logo.png"))).text == "Harbour office"
    empty = io.BytesIO()
    image_module.new("RGBA", (90, 20), (0, 0, 0, 0)).save(empty, "PNG")
    assert "No text was recognized" in await reason(extractor, empty.getvalue(), "empty.png")


async def test_pictures_in_heic_format_are_refused_with_what_to_send() -> None:
    extractor = FileParser(ParserPool(), recognizes_text=True)
    assert "Send it as JPEG or PNG" in await reason(extractor, b"\0\0\0\x24ftypheic" + bytes(99), "IMG_1.HEIC")


async def test_without_the_extra_an_image_is_refused_with_what_to_do() -> None:
    extractor = FileParser(ParserPool(), recognizes_text=False)
    data = b"\x89PNG\r\n"
    with pytest.raises(ParsingError, match=r"install recollect\[ocr\]"):
        await extractor.parse_file(data, upload(data, "a.png"))
