"""Erasure for operators (extension of the contract)."""

from fastapi import APIRouter

from api.commands import erasure
from api.dependencies.authentication import ForgettingOperatorKey
from api.presenters.erasure_presenter import erasure_response, planned_erasure_response
from api.routes.contract_route import ContractRoute, error_responses
from schemas.http.extensions.erasure_bodies import ErasureBody, ErasureResponse

router = APIRouter(route_class=ContractRoute, prefix="/admin/erasures", tags=["Administration"])


@router.post("", responses=error_responses(400, 401, 403, 404, 409, 500, 503))
async def erase(caller: ForgettingOperatorKey, body: ErasureBody) -> ErasureResponse:
    """Delete documents or a namespace, and erase everything deleted from log, blobs and table files."""
    scope = await erasure.find_scope(caller.state, body.namespace, body.documents)
    caller.add_audit_fields(namespace=body.namespace or "", documentIds=", ".join(body.documents or ()))
    if body.dry_run:
        caller.add_audit_fields(dryRun=True)
        return planned_erasure_response(scope, await erasure.plan_erasure(caller.state, scope), caller.principal.id)
    report = await erasure.erase(caller.state, scope)
    response = erasure_response(scope, report, caller.principal.id)
    caller.add_audit_fields(**response.model_dump(mode="json", by_alias=True, exclude={"namespace", "erased_by"}))
    return response
