"""Connector administration for operators (extension of the contract)."""

from fastapi import APIRouter

from api.commands import connector_administration
from api.dependencies.authentication import ConnectingOperatorKey
from api.dependencies.path_and_query_parameters import ResourcePath
from api.routes.contract_route import ContractRoute, error_responses
from schemas.http.extensions import connector_admin_bodies as bodies

router = APIRouter(route_class=ContractRoute, prefix="/admin/connectors", tags=["Administration"])


@router.get("")
async def list_connector_statuses(caller: ConnectingOperatorKey) -> bodies.ConnectorStatusesResponse:
    """List every connector with its newest run."""
    return await connector_administration.connector_statuses(caller.state)


@router.post("/rotate-credentials", responses=error_responses(400, 401, 403, 404, 500, 503))
async def rotate_credentials(caller: ConnectingOperatorKey) -> bodies.CredentialRotationResponse:
    """Re-encrypt every credential with the newest RECOLLECT_SECRET_KEY; older keys may be removed then."""
    answer = await connector_administration.rotate_credentials(caller.state)
    caller.add_audit_fields(rotated=answer.rotated, unreadable=len(answer.unreadable))
    return answer


@router.post("/{id}/sync", responses=error_responses(400, 401, 403, 404, 409, 500, 503))
async def sync(
    caller: ConnectingOperatorKey, id: ResourcePath, body: bodies.ConnectorSyncBody
) -> bodies.ConnectorStatus:
    """Start a sync run; `full`: list everything anew."""
    return await connector_administration.sync(caller.state, id, full=body.full)


@router.post("/{id}/check", responses=error_responses(400, 401, 403, 404, 500, 503))
async def check(caller: ConnectingOperatorKey, id: ResourcePath) -> bodies.ConnectorCheckResponse:
    """Ask the provider whether the connector's credentials work."""
    return await connector_administration.check(caller.state, id)


@router.post("/{id}/reconnect", responses=error_responses(400, 401, 403, 404, 500, 503))
async def reconnect(
    caller: ConnectingOperatorKey, id: ResourcePath, body: bodies.ReconnectBody
) -> bodies.ReconnectResponse:
    """Give the connector new credentials or a new authorization link; its documents stay as they are."""
    return await connector_administration.reconnect(caller.state, id, body)


@router.put("/{id}/schedule", responses=error_responses(400, 401, 403, 404, 500, 503))
async def schedule(
    caller: ConnectingOperatorKey, id: ResourcePath, body: bodies.ConnectorScheduleBody
) -> bodies.ConnectorStatus:
    """Set the sync interval."""
    return await connector_administration.set_schedule(caller.state, id, body.sync_interval_hours)


@router.put("/{id}/options", responses=error_responses(400, 401, 403, 404, 500, 503))
async def options(
    caller: ConnectingOperatorKey, id: ResourcePath, body: bodies.ConnectorOptionsBody
) -> bodies.ConnectorStatus:
    """Set which files of its repositories a GitHub connector reads, and of which branch."""
    return await connector_administration.set_options(caller.state, id, body)
