"""Status, usage, growth, dead letters and organization buckets (extension of the contract)."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.commands import namespace_settings
from api.dependencies.authentication import AdminKey, OperatorKey, ReadingOperatorKey, ReadKey
from api.errors.http_errors import BadRequestError, ForbiddenError
from api.reads import service_status, usage_report
from api.routes.contract_route import ContractRoute, error_responses
from pipeline.usage_counter import month_of
from schemas.http.extensions import operations_bodies as bodies
from schemas.http.field_types import REJECT_NUL, NamespaceName
from schemas.http.v5.profile_bodies import BucketsResponse, DeleteBucketsBody, SetBucketsBody
from schemas.limits import MAX_PAGE_SIZE, MONTH_PATTERN

router = APIRouter(route_class=ContractRoute, prefix="/admin", tags=["Administration"])

TopicName = Annotated[str | None, Query(max_length=200), REJECT_NUL]
DeadLetterId = Annotated[str, Query(max_length=300), REJECT_NUL]
DeadLetterIds = Annotated[list[DeadLetterId] | None, Query(max_length=1000)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Month = Annotated[str | None, Query(pattern=MONTH_PATTERN)]
NamespaceNames = Annotated[list[NamespaceName], Query(min_length=1, max_length=MAX_PAGE_SIZE)]
Days = Annotated[int, Query(ge=1, le=366)]


@router.get("/status", responses=error_responses(400, 401, 403, 500, 503))
async def status(caller: OperatorKey) -> bodies.StatusResponse:
    """Return counts, lag, failures and dead letters."""
    return await service_status.service_status(caller.state)


@router.get("/failed")
async def failed(caller: ReadingOperatorKey) -> bodies.FailedDocumentsResponse:
    """List documents that could not be parsed, with the reason."""
    return bodies.FailedDocumentsResponse(documents=await service_status.failed_documents(caller.state))


@router.get("/dlq", responses=error_responses(400, 401, 403, 500, 503))
async def list_dead_letters(
    caller: OperatorKey, topic: TopicName = None, limit: Limit = 100
) -> bodies.DeadLettersResponse:
    """List records that could not be processed."""
    letters = await caller.state.bus.dead_letters(topic, limit)
    return bodies.DeadLettersResponse(dead_letters=[service_status.dead_letter_summary(letter) for letter in letters])


@router.get("/dlq/record", responses=error_responses(400, 401, 403, 404, 500, 503))
async def get_dead_letter(caller: ReadingOperatorKey, id: DeadLetterId) -> bodies.DeadLetterResponse:
    """Return a dead letter with headers and payload."""
    return await service_status.get_dead_letter(caller.state, id)


@router.post("/dlq/redrive", responses=error_responses(400, 401, 403, 500, 503))
async def redrive_dead_letters(
    caller: OperatorKey, topic: TopicName = None, id: DeadLetterIds = None, limit: Limit = 1000
) -> bodies.RedriveResponse:
    """Return dead letters to their topics."""
    redriven = await caller.state.bus.redrive(topic, limit, ids=id)
    caller.add_audit_fields(redriven=redriven)
    return bodies.RedriveResponse(redriven=redriven)


@router.delete("/dlq", responses=error_responses(400, 401, 403, 500, 503))
async def drop_dead_letters(
    caller: OperatorKey, topic: TopicName = None, id: DeadLetterIds = None, limit: Limit = 1000
) -> bodies.DropResponse:
    """Drop the dead letters of a topic, or with these ids, for good."""
    if topic is None and not id:
        raise BadRequestError("No dead letters selected", "Give a topic or ids.")
    dropped = await caller.state.bus.drop_dead_letters(topic, limit, ids=id)
    caller.add_audit_fields(dropped=dropped)
    return bodies.DropResponse(dropped=dropped)


@router.get("/buckets")
async def get_buckets(caller: OperatorKey) -> BucketsResponse:
    """Return the organization's buckets."""
    return BucketsResponse(buckets=caller.state.catalog.organization().buckets)


@router.put("/buckets")
async def set_buckets(caller: OperatorKey, body: SetBucketsBody) -> BucketsResponse:
    """Add or redefine buckets of the organization."""
    caller.add_audit_fields(buckets=", ".join(body.buckets))
    return BucketsResponse(buckets=await namespace_settings.set_organization_buckets(caller.state, body.buckets))


@router.delete("/buckets")
async def delete_buckets(caller: OperatorKey, body: DeleteBucketsBody) -> BucketsResponse:
    """Remove buckets of the organization."""
    caller.add_audit_fields(buckets=", ".join(body.buckets))
    return BucketsResponse(buckets=await namespace_settings.delete_organization_buckets(caller.state, body.buckets))


@router.get("/usage")
async def monthly_usage(caller: AdminKey, month: Month = None) -> bodies.UsageResponse:
    """Return documents, searches and quotas of a month (default: the current one), by key and in total."""
    return usage_report.usage_response(caller.state, caller.principal, month or month_of(caller.state.clock.now()))


@router.get("/growth")
async def growth_by_day(caller: ReadKey, namespace: NamespaceNames, days: Days = 30) -> bodies.GrowthResponse:
    """Count new documents and memories per day; unknown namespaces are left out."""
    unreadable = [name for name in namespace if not caller.principal.may_read(name)]
    if unreadable:
        raise ForbiddenError("The key does not open this namespace", f"namespace: {unreadable[0]}")
    rows = (caller.state.catalog.namespace(name) for name in dict.fromkeys(namespace))
    return await usage_report.growth_report(caller.state, [row for row in rows if row is not None], days)
