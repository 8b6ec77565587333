"""Export and import for operators: lines of JSON and their blobs (extension of the contract)."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api.archive import exporter, importer
from api.dependencies.authentication import AuthenticatedCaller, ReadingOperatorKey, WritingOperatorKey
from api.errors.http_errors import BadRequestError, ForbiddenError, NotFoundError
from api.policies import key_delegation
from api.policies.key_delegation import Grant
from api.routes.contract_route import ContractRoute, IngestRoute, error_responses
from pipeline.errors import RejectedError
from schemas.events import BlobRef, KeyChanged
from schemas.export_format import ExportLine, parse_line
from schemas.http.extensions.export_import_bodies import BlobResponse, ImportResponse
from schemas.limits import MAX_NAMESPACE_LENGTH, NAMESPACE_PATTERN

NDJSON_MEDIA_TYPE = "application/x-ndjson"
router = APIRouter(route_class=ContractRoute, prefix="/admin", tags=["Administration"])
ingest = APIRouter(route_class=IngestRoute, prefix="/admin", tags=["Administration"])
"""Routes with large bodies; their operation ids are given, as their paths lack the prefix here."""

NamespaceQuery = Annotated[str | None, Query(max_length=MAX_NAMESPACE_LENGTH, pattern=NAMESPACE_PATTERN)]
Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]


@router.get("/export", response_class=StreamingResponse, responses=error_responses(400, 401, 403, 404, 500))
async def export(caller: ReadingOperatorKey, namespace: NamespaceQuery = None) -> Response:
    """Export a namespace with its documents; without `namespace`, the settings and a line per namespace."""
    lines = (
        exporter.export_settings(caller.state)
        if namespace is None
        else exporter.export_namespace(caller.state, namespace)
    )
    return StreamingResponse(lines, media_type=NDJSON_MEDIA_TYPE)


@router.get(
    "/blobs/{sha256}",
    operation_id="getAdminBlob",
    response_class=Response,
    responses=error_responses(400, 401, 403, 404, 500),
)
async def get_blob(caller: ReadingOperatorKey, sha256: Digest) -> Response:
    """Return the bytes of a blob."""
    try:
        data = await caller.state.blobs.get(BlobRef(sha256=sha256, size=0))
    except RejectedError as error:
        raise NotFoundError("Blob not found", str(error)) from error
    return Response(data, media_type="application/octet-stream")


@ingest.post(
    "/blobs",
    operation_id="postAdminBlob",
    responses=error_responses(400, 401, 403, 500),
    openapi_extra={"requestBody": {"content": {"application/octet-stream": {}}, "required": True}},
)
async def put_blob(caller: WritingOperatorKey, request: Request) -> BlobResponse:
    """Store a blob that export lines refer to."""
    ref = await caller.state.blobs.put(await request.body(), "application/octet-stream")
    return BlobResponse(sha256=ref.sha256, size=ref.size)


@ingest.post(
    "/import",
    operation_id="postAdminImport",
    responses=error_responses(400, 401, 403, 409, 500, 503),
    openapi_extra={"requestBody": {"content": {NDJSON_MEDIA_TYPE: {}}, "required": True}},
)
async def import_lines(caller: WritingOperatorKey, request: Request) -> ImportResponse:
    """Import lines of an export, as many as fit into a request."""
    lines = [_parse_line(number, text) for number, text in enumerate((await request.body()).splitlines(), 1)]
    for line in lines:
        if isinstance(line, KeyChanged):
            _require_grantable(caller, line)
    return await importer.import_lines(caller.state, lines, caller.principal.id)


def _parse_line(number: int, text: bytes) -> ExportLine:
    try:
        return parse_line(text)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(map(str, fault["loc"])) or "whole line"
        details = f"Line {number}, {field}: {fault['msg']}"
        raise BadRequestError("A line of the export is invalid", details) from None
    except ValueError as error:
        raise BadRequestError("A line of the export is invalid", f"Line {number}: {error}") from None


def _require_grantable(caller: AuthenticatedCaller, key: KeyChanged) -> None:
    """Raise ForbiddenError if the key of a line may do more, or lasts longer, than the caller's own."""
    grant = key_delegation.grant_of(caller.principal, Grant())
    refusal = grant.refusal(key_delegation.limits_of(key))
    if refusal is not None and key.revoked_at is None:
        raise ForbiddenError(f"The key {key.name[:80]!r} of the export would exceed your key", refusal)


router.routes.extend(ingest.routes)
