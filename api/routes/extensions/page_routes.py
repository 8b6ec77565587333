"""Pages of a document's PDF, drawn by the service: sizes, places of passages, pictures, lines (extension)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from api.dependencies.authentication import NamespaceAccess, ReadAccess
from api.dependencies.path_and_query_parameters import DocumentPath
from api.errors.http_errors import BadRequestError, NotFoundError
from api.routes.contract_route import ContractRoute, error_responses
from pipeline.errors import ParsingError, RejectedError
from pipeline.parsing.pdf_pages.page_renderer import NoSuchPageError, Passage
from pipeline.parsing.pdf_pages.page_text import Box
from pipeline.rows import DocumentRow
from pipeline.text.page_breaks import PAGE_BREAK
from schemas.http.extensions import page_bodies as bodies

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/explain", tags=["Why"])

MAX_SPANS = 20
MAX_PICTURE_WIDTH = 2400
_PDF_TYPE = "pdf"
_ERRORS = error_responses(400, 401, 403, 404, 500)
PageQuery = Annotated[int, Query(ge=1, description="Number of the page, from 1.")]
WidthQuery = Annotated[int, Query(ge=100, le=MAX_PICTURE_WIDTH, description="Width of the picture, in pixels.")]
Span = Annotated[str, Query(pattern=r"^\d{1,9}-\d{1,9}$")]
SpansQuery = Annotated[
    list[Span], Query(max_length=MAX_SPANS, description="Range of characters in the document's text, as 120-180.")
]


@router.get("/pages/{id:path}", responses=_ERRORS)
async def pages(access: ReadAccess, id: DocumentPath, span: SpansQuery = []) -> bodies.PagesResponse:  # noqa: B006 - FastAPI's
    """Return the sizes of a PDF's pages, and where spans of the document's text stand on them."""
    row, pdf = await _read_pdf(access, id)
    passages = [_passage(row.text or "", one) for one in span]
    with _refusals_answered():
        outline = await access.state.page_renderer.outline(pdf, passages)
    sizes = [bodies.PageSize(width=width, height=height) for width, height in outline.sizes]
    marks = [
        bodies.MarkedSpan(page=None, boxes=[])
        if place is None
        else bodies.MarkedSpan(page=place.page + 1, boxes=[_page_box(box) for box in place.boxes])
        for place in outline.places
    ]
    return bodies.PagesResponse(pages=sizes, marks=marks)


@router.get(
    "/page-pictures/{id:path}",
    response_class=Response,
    responses={**_ERRORS, 200: {"description": "Picture of the page.", "content": {"image/webp": {}}}},
)
async def page_picture(access: ReadAccess, id: DocumentPath, page: PageQuery = 1, width: WidthQuery = 1000) -> Response:
    """Draw a page of a PDF as a picture (WebP)."""
    _, pdf = await _read_pdf(access, id)
    with _refusals_answered():
        picture = await access.state.page_renderer.picture(pdf, page - 1, width)
    return Response(picture, media_type="image/webp")


@router.get("/page-texts/{id:path}", responses=_ERRORS)
async def page_text(access: ReadAccess, id: DocumentPath, page: PageQuery = 1) -> bodies.PageTextResponse:
    """Return the lines of text on a page of a PDF, with their places."""
    _, pdf = await _read_pdf(access, id)
    with _refusals_answered():
        lines = await access.state.page_renderer.lines(pdf, page - 1)
    return bodies.PageTextResponse(lines=[bodies.TextLine(text=line.text, box=_page_box(line.box)) for line in lines])


async def _read_pdf(access: NamespaceAccess, id: str) -> tuple[DocumentRow, bytes]:
    row = (await access.state.find_documents(access.namespace, [id])).get(id)
    if row is None or row.upload is None or row.type != _PDF_TYPE:
        raise NotFoundError("Pages not found", f"There is no document {id[:100]!r} here that was uploaded as a PDF.")
    try:
        return row, await access.state.blobs.get(row.upload.blob)
    except RejectedError as error:
        raise NotFoundError("Pages not found", str(error)) from error


def _passage(text: str, span: str) -> Passage:
    """Cut a span from the document's text; its page follows from the page breaks, if the text has any."""
    start, end = map(int, span.split("-"))
    page = text.count(PAGE_BREAK, 0, start) if PAGE_BREAK in text else None
    return Passage(text[start:end].replace(PAGE_BREAK, " "), page)


def _page_box(box: Box) -> bodies.PageBox:
    left, top, width, height = box
    return bodies.PageBox(left=left, top=top, width=width, height=height)


@contextmanager
def _refusals_answered() -> Iterator[None]:
    """Answer 404 for a page that the file does not have, and 400 for a file that can't be drawn."""
    try:
        yield
    except NoSuchPageError as error:
        raise NotFoundError("Page not found", str(error)) from error
    except ParsingError as error:
        raise BadRequestError("The pages can't be drawn", str(error)) from error
