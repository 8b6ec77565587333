"""Bodies of connector administration (extension of the contract)."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import RequestBody, ResponseBody
from schemas.http.field_types import Count, Timestamp
from schemas.http.v5.connector_bodies import Provider, SyncErrorCode


class SyncRunProgress(ResponseBody):
    """Newest run, finished or not; `full`: it lists everything."""

    id: str
    status: Literal["queued", "running", "completed", "failed"]
    trigger: Literal["event", "cron", "manual"]
    full: bool
    processed: Count
    failed: Count
    over_limit: Count
    error_code: SyncErrorCode | None
    error: str | None
    started_at: Timestamp
    completed_at: Timestamp | None


class ConnectorStatus(ResponseBody):
    """Connector as an operator sees it; `sync_interval_hours` null: the default schedule."""

    id: str
    provider: Provider
    namespace: str | None
    status: Literal["pending", "active", "removed"]
    account: str | None
    documents: Count
    document_limit: Count
    sync_interval_hours: float | None
    last_successful_sync_at: Timestamp | None
    run: SyncRunProgress | None


class ConnectorStatusesResponse(ResponseBody):
    """All connectors; `verification_tokens`: tokens that providers sent, for their settings pages."""

    connectors: list[ConnectorStatus]
    verification_tokens: dict[str, str]


class ConnectorScheduleBody(RequestBody):
    """Sync interval; absent: the default of the deployment."""

    sync_interval_hours: Annotated[float, Field(gt=0, le=24 * 365)] | None = None


_Pattern = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^!?[^,!\s][^,]*$")]


class ConnectorOptionsBody(RequestBody):
    """Options of a GitHub connector; an absent one is unset.

    `paths`: patterns of files that are read beside documentation (`src/**/*.py`), with `!` in front of files that
    are not read. `branch`: read instead of the default branch.
    """

    branch: Annotated[str, Field(min_length=1, max_length=250, pattern=r"^[^\s~^:?*\[\\]+$")] | None = None
    paths: Annotated[list[_Pattern], Field(max_length=50)] | None = None


class ConnectorSyncBody(RequestBody):
    """Sync request; `full`: list everything, regardless of the stored state."""

    full: bool = False


class ConnectorCheckResponse(ResponseBody):
    """Outcome of a check of a connector's credentials; `message` says why not, and what to do."""

    ok: bool
    message: str | None


_Secret = Annotated[str, Field(max_length=8192)]


class ReconnectBody(RequestBody):
    """New credentials of a connector; none where a user has to authorize it."""

    api_key: _Secret | None = None
    access_key_id: _Secret | None = None
    secret_access_key: _Secret | None = None
    session_token: _Secret | None = None


class ReconnectResponse(ResponseBody):
    """Link at which a user authorizes the connector anew; null where the new credentials are stored."""

    authorization_url: str | None


class CredentialRotationResponse(ResponseBody):
    """Number of credentials re-encrypted, and connectors and standing questions whose secrets no key can decrypt."""

    rotated: Count
    unreadable: list[str]
