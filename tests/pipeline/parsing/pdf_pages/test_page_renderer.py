"""Pages of PDFs: drawn, read line by line, and with passages found where they stand."""

from collections.abc import AsyncIterator

import pytest

from pipeline.parsing.parser_pool import UnparsableFileError
from pipeline.parsing.pdf_pages.page_renderer import NoSuchPageError, PageRenderer, Passage
from tests.support.pdf_writer import write_pdf

pytestmark = pytest.mark.anyio
PAGES = ["A first page.", "The kettle is blue,\nand the lid is red.", "The boat is gone."]
WORDS_ON_TWO_LINES = "kettle is blue, and the lid"


@pytest.fixture
async def renderer() -> AsyncIterator[PageRenderer]:
    opened = PageRenderer()
    yield opened
    await opened.aclose()


async def test_a_page_becomes_a_small_picture(renderer: PageRenderer) -> None:
    picture = await renderer.picture(write_pdf(PAGES), 1, 800)
    assert (picture[:4], picture[8:12]) == (b"RIFF", b"WEBP")
    assert len(picture) < 60_000


async def test_a_passage_is_found_on_both_of_its_lines_and_on_the_page_beside(renderer: PageRenderer) -> None:
    outline = await renderer.outline(
        write_pdf(PAGES), [Passage(WORDS_ON_TWO_LINES, 1), Passage("BOAT", 1), Passage("plane", None)]
    )
    assert [round(size) for size in outline.sizes[0]] == [595, 842]
    kettle, boat, plane = outline.places
    assert kettle is not None
    assert boat is not None
    assert plane is None
    assert (kettle.page, len(kettle.boxes), boat.page) == (1, 2, 2)
    (left, top, width, _), (left_below, below, *_) = kettle.boxes
    assert left > left_below  # the first box begins after "The", the second with its line
    assert top < below
    assert left + width < 0.5


async def test_boxes_follow_a_turned_page(renderer: PageRenderer) -> None:
    places = (await renderer.outline(write_pdf(PAGES, rotations={0: 90}), [Passage("first", None)])).places
    assert places[0] is not None
    ((left, _, width, height),) = places[0].boxes
    assert height > width  # the words run down the page that is shown
    assert left > 0.8  # what was on top is at the right


async def test_lines_are_read_with_their_places(renderer: PageRenderer) -> None:
    lines = await renderer.lines(write_pdf(PAGES), 1)
    assert [line.text for line in lines] == ["The kettle is blue,", "and the lid is red."]
    assert lines[0].box[1] < lines[1].box[1]


async def test_what_is_no_pdf_or_has_no_such_page_is_refused(renderer: PageRenderer) -> None:
    with pytest.raises(UnparsableFileError):
        await renderer.outline(b"%PDF-1.7 and nothing more", [])
    with pytest.raises(NoSuchPageError):
        await renderer.picture(write_pdf(PAGES), 3, 800)
    assert (await renderer.lines(write_pdf(PAGES), 2))[0].text == "The boat is gone."
