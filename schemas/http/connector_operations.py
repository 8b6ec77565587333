"""What an operator asks about connectors. Ours, and outside the contract."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Answer, Body
from schemas.http.connectors import Provider, RunError
from schemas.http.parts import Count, Timestamp


class RunProgress(Answer):
    """The newest run, also while it is under way; `full`: it lists everything."""

    id: str
    status: Literal["queued", "running", "completed", "failed"]
    trigger: Literal["event", "cron", "manual"]
    full: bool
    processed: Count
    failed: Count
    left_out: Count
    error_code: RunError | None
    error: str | None
    started_at: Timestamp
    completed_at: Timestamp | None


class ConnectorState(Answer):
    """A connector as an operator sees it; `every_hours` is null where it has no schedule of its own."""

    id: str
    provider: Provider
    namespace: str | None
    status: Literal["pending", "active", "removed"]
    account: str | None
    documents: Count
    document_limit: Count
    every_hours: float | None
    last_successful_sync_at: Timestamp | None
    run: RunProgress | None


class ConnectorStatesAnswer(Answer):
    """Every connector; `handshakes`: verification tokens that providers sent for their settings pages."""

    connectors: list[ConnectorState]
    handshakes: dict[str, str]


class ConnectorScheduleBody(Body):
    """How often it runs by itself; absent: as the deployment says."""

    every_hours: Annotated[float, Field(gt=0, le=24 * 365)] | None = None


class ConnectorSyncBody(Body):
    """`full`: list everything, whatever is known."""

    full: bool = False


class ResealedAnswer(Answer):
    """How many credentials an older key had sealed, and the connectors whose no key opens."""

    resealed: Count
    unreadable: list[str]
