"""For operators: what connectors do, their schedules, runs. Outside the contract."""

from fastapi import APIRouter

from api.auth import Admin
from api.contract import ContractRoute, failures
from api.options import ResourcePath
from api.queries import connector_operations
from schemas.http.connector_operations import (
    ConnectorScheduleBody,
    ConnectorState,
    ConnectorStatesAnswer,
    ConnectorSyncBody,
    ResealedAnswer,
)

router = APIRouter(route_class=ContractRoute, prefix="/admin/connectors", tags=["Administration"])


@router.get("", operation_id="getAdminConnectors", responses=failures(400, 401, 403, 500))
async def connectors(entry: Admin) -> ConnectorStatesAnswer:
    """Every connector, with how its newest run stands."""
    return await connector_operations.states(entry.state)


@router.post(
    "/reseal", operation_id="postAdminConnectorsReseal", responses=failures(400, 401, 403, 404, 500, 503)
)
async def reseal(entry: Admin) -> ResealedAnswer:
    """Seal every credential with the newest of RECOLLECT_SECRET_KEY; older keys may go afterwards."""
    answer = await connector_operations.reseal(entry.state)
    entry.note(resealed=answer.resealed, unreadable=len(answer.unreadable))
    return answer


@router.post(
    "/{id}/sync",
    operation_id="postAdminConnectorsByIdSync",
    responses=failures(400, 401, 403, 404, 409, 500, 503),
)
async def sync(entry: Admin, id: ResourcePath, body: ConnectorSyncBody) -> ConnectorState:
    """Synchronise now; `full`: list everything."""
    return await connector_operations.sync(entry.state, id, full=body.full)


@router.put(
    "/{id}/schedule",
    operation_id="putAdminConnectorsByIdSchedule",
    responses=failures(400, 401, 403, 404, 500, 503),
)
async def schedule(entry: Admin, id: ResourcePath, body: ConnectorScheduleBody) -> ConnectorState:
    """How often it runs by itself."""
    return await connector_operations.schedule(entry.state, id, body.every_hours)
