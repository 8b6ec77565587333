"""Export and import, for operators: lines of JSON, and the blobs they name. Outside the contract."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api.auth import Admin
from api.contract import ContractRoute, IngestRoute, failures
from api.problems import BadRequestError, NotFoundError
from api.queries import exporting, importing
from pipeline.errors import RejectedError
from schemas.archive import LINE, Line
from schemas.events import BlobRef
from schemas.http.archive import BlobAnswer, ImportedAnswer
from schemas.limits import NAMESPACE_LENGTH, NAMESPACE_PATTERN

LINES = "application/x-ndjson"
router = APIRouter(route_class=ContractRoute, prefix="/admin", tags=["Administration"])
ingest = APIRouter(route_class=IngestRoute)

Name = Annotated[str | None, Query(max_length=NAMESPACE_LENGTH, pattern=NAMESPACE_PATTERN)]
Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]


@router.get(
    "/export",
    operation_id="getAdminExport",
    response_class=StreamingResponse,
    responses=failures(400, 401, 403, 404, 500),
)
async def export(entry: Admin, namespace: Name = None) -> Response:
    """A namespace with its documents; without one the settings, with every namespace's own line."""
    lines = (
        exporting.settings(entry.state) if namespace is None else exporting.namespace(entry.state, namespace)
    )
    return StreamingResponse(lines, media_type=LINES)


@router.get(
    "/blobs/{sha256}",
    operation_id="getAdminBlob",
    response_class=Response,
    responses=failures(400, 401, 403, 404, 500),
)
async def blob(entry: Admin, sha256: Digest) -> Response:
    """The bytes of a claim check."""
    try:
        data = await entry.state.blobs.get(BlobRef(sha256=sha256, size=0))
    except RejectedError as error:
        raise NotFoundError("Blob not found", str(error)) from error
    return Response(data, media_type="application/octet-stream")


@ingest.post(
    "/blobs",
    operation_id="postAdminBlob",
    responses=failures(400, 401, 403, 500),
    openapi_extra={"requestBody": {"content": {"application/octet-stream": {}}, "required": True}},
)
async def store(entry: Admin, request: Request) -> BlobAnswer:
    """Keep these bytes, so that lines may name them."""
    ref = await entry.state.blobs.put(await request.body(), "application/octet-stream")
    return BlobAnswer(sha256=ref.sha256, size=ref.size)


@ingest.post(
    "/import",
    operation_id="postAdminImport",
    responses=failures(400, 401, 403, 409, 500, 503),
    openapi_extra={"requestBody": {"content": {LINES: {}}, "required": True}},
)
async def take(entry: Admin, request: Request) -> ImportedAnswer:
    """Lines of an export, as many as fit into a request."""
    lines = [_line(number, text) for number, text in enumerate((await request.body()).splitlines(), 1)]
    return await importing.taken(entry.state, lines)


def _line(number: int, text: bytes) -> Line:
    try:
        return LINE.validate_json(text)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, fault["loc"])) or "all of it"
        why = f"Line {number}, {place}: {fault['msg']}"
        raise BadRequestError("This is no line of an export", why) from None


router.include_router(ingest)
