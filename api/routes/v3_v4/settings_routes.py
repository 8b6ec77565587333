"""Settings of v3: those of the organization that this service has."""

from fastapi import APIRouter

from api.commands import namespace_settings
from api.dependencies.authentication import AuthenticatedCaller, OperatorKey, ReadKey
from api.errors.http_errors import NotImplementedHereError
from api.routes.contract_route import LenientRoute
from api.routes.v3_v4.container_tag_routes import listed_buckets
from api.routes.v3_v4.container_tags import ORGANIZATION_ID
from schemas.base import JsonObject
from schemas.http.v3_v4.container_tag_bodies import UpdateSettingsBody

router = APIRouter(route_class=LenientRoute, prefix="/v3/settings", include_in_schema=False)


@router.get("")
async def get(caller: ReadKey) -> JsonObject:
    """Return the organization's context and buckets."""
    return _settings(caller)


@router.patch("")
async def update(caller: OperatorKey, body: UpdateSettingsBody) -> JsonObject:
    """Change the organization's context, which v3 calls the filter prompt."""
    if unsupported := [*body.unsupported_fields, *(["profileBuckets"] if body.profile_buckets is not None else [])]:
        raise NotImplementedHereError(
            f"{', '.join(sorted(unsupported))[:200]} can't be set over this interface",
            "Buckets: `recollect buckets`. Connectors and chunk size: docs/guides/configure.md.",
        )
    if body.filter_prompt is not None:
        await namespace_settings.set_organizational_context(caller.state, body.filter_prompt or None)
    return {"orgId": ORGANIZATION_ID, "orgSlug": ORGANIZATION_ID, "updated": _settings(caller)}


@router.post("/reset")
async def reset(_: OperatorKey) -> None:
    """Refuse: one call must not erase a deployment."""
    raise NotImplementedHereError(
        "A deployment can't be erased by one call", "Delete its container tags, or its data directory."
    )


@router.post("/suggest-buckets")
async def suggest_buckets(_: ReadKey) -> None:
    """Refuse: buckets are defined by people here."""
    raise NotImplementedHereError("Buckets are not suggested here", "Define them with PATCH /v3/container-tags/{tag}.")


def _settings(caller: AuthenticatedCaller) -> JsonObject:
    organization = caller.state.catalog.organization()
    return {"filterPrompt": organization.context, "profileBuckets": listed_buckets(organization.buckets)}
