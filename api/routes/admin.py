"""Keys for those who may issue them. Outside the contract."""

from datetime import timedelta

from fastapi import APIRouter

from api import keys
from api.auth import Entry, KeyAdmin
from api.contract import ContractRoute, failures
from api.options import ResourcePath
from api.problems import ConflictError, ForbiddenError, NotFoundError
from api.queries import present
from pipeline.rows import KeyRow
from schemas.http.keys import KeyAnswer, KeyBody, KeyIssued, KeyPatch, KeyRevoked, KeyRotation, KeysAnswer

router = APIRouter(route_class=ContractRoute, prefix="/admin/keys", tags=["Administration"])


@router.post("", operation_id="postAdminKeys", status_code=201, responses=failures(400, 401, 403, 500))
async def issue(entry: KeyAdmin, body: KeyBody) -> KeyIssued:
    """Issue a key, for no more than the key that asks. Its secret is in this answer and nowhere else."""
    state = entry.state
    if not entry.principal.may_issue(body.namespaces):
        own = ", ".join(entry.principal.namespaces or ())[:200]
        raise ForbiddenError("The new key would open more than yours", f"Yours is for {own}.")
    change, secret = keys.mint(
        body.name,
        body.role,
        body.namespaces,
        now=state.clock.now(),
        expires_in_days=body.expires_in_days,
        rate_limit=body.rate_limit,
        monthly_documents=body.monthly_documents,
        monthly_searches=body.monthly_searches,
    )
    await keys.save(change, state.publisher, state.catalog)
    scope = "all" if change.namespaces is None else ",".join(change.namespaces)
    entry.note(id=change.id, name=change.name, role=change.role, namespaces=scope)
    return KeyIssued(**dict(present.key(keys.row_of(change))), key=secret)


@router.get("", operation_id="getAdminKeys", responses=failures(400, 401, 403, 500))
async def list_keys(entry: KeyAdmin) -> KeysAnswer:
    """All keys within the scope of the one that asks, newest first, without their secrets."""
    rows = sorted(entry.state.catalog.keys(), key=lambda row: (row.created_at, row.id), reverse=True)
    return KeysAnswer(keys=[present.key(row) for row in rows if entry.principal.may_issue(row.namespaces)])


@router.patch("/{id}", operation_id="patchAdminKeysById", responses=failures(400, 401, 403, 404, 409, 500))
async def change(entry: KeyAdmin, id: ResourcePath, body: KeyPatch) -> KeyAnswer:
    """Change what a key is called, how much it may and until when; its secret and rights stay."""
    state = entry.state
    fields = body.model_dump(exclude_unset=True)
    async with state.changes.turn():
        row, now = _open(entry, id), state.clock.now()
        changed = keys.changed(row, fields, now=now)
        await keys.save(changed, state.publisher, state.catalog)
    entry.note(**body.model_dump(exclude_unset=True, by_alias=True))
    return present.key(keys.row_of(changed))


@router.post(
    "/{id}/rotate",
    operation_id="postAdminKeysByIdRotate",
    responses=failures(400, 401, 403, 404, 409, 500),
)
async def rotate(entry: KeyAdmin, id: ResourcePath, body: KeyRotation) -> KeyIssued:
    """Give a key a new secret; the one before opens as much for a while. It stays the same key."""
    state = entry.state
    async with state.changes.turn():
        row, now = _open(entry, id), state.clock.now()
        overlap = timedelta(hours=body.overlap_hours)
        change, secret = keys.rotated(row, now=now, overlap=overlap, expires_in_days=body.expires_in_days)
        await keys.save(change, state.publisher, state.catalog)
    entry.note(overlapHours=body.overlap_hours)
    return KeyIssued(**dict(present.key(keys.row_of(change))), key=secret)


@router.delete("/{id}", operation_id="deleteAdminKeysById", responses=failures(400, 401, 403, 404, 500))
async def revoke(entry: KeyAdmin, id: ResourcePath) -> KeyRevoked:
    """End a key."""
    state = entry.state
    async with state.changes.turn():
        change = keys.revoked(_found(entry, id), state.clock.now())
        await keys.save(change, state.publisher, state.catalog)
    return KeyRevoked(id=id, revoked=True)


def _open(entry: Entry, id: str) -> KeyRow:
    row = _found(entry, id)
    if keys.ended(row, entry.state.clock.now()):
        raise ConflictError("The key has ended", "Issue a new one.")
    return row


def _found(entry: Entry, id: str) -> KeyRow:
    row = entry.state.catalog.key(id)
    if row is None or not entry.principal.may_issue(row.namespaces):
        raise NotFoundError("Key not found", f"There is no key {id[:100]!r}.")
    return row
