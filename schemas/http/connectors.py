"""Connectors."""

from typing import Annotated, Literal

from pydantic import Field, StrictInt

from schemas.base import Answer, Body
from schemas.http.pagination import Pagination
from schemas.http.parts import WHOLE, Maybe, Quantity, ResourceId, Text, Timestamp, Uri
from schemas.limits import CONNECTOR_DOCUMENTS

Provider = Literal["notion", "google-drive", "onedrive", "gmail", "github", "web-crawler", "s3", "granola"]
RunError = Literal["auth_expired", "rate_limited", "plan_required", "provider_unavailable", "internal"]
DocumentLimit = Annotated[StrictInt, Field(ge=1, le=CONNECTOR_DOCUMENTS), WHOLE]
Filled = Annotated[Text, Field(min_length=1)]
Kinds = Annotated[list[ResourceId], Field(max_length=500)]


class _Connectable(Body):
    document_limit: Maybe[DocumentLimit] = None


class _Authorized(_Connectable):
    redirect_url: Maybe[Uri] = None


class Notion(_Authorized):
    """Pages of a Notion workspace."""

    provider: Literal["notion"]


class Gmail(_Authorized):
    """Mail."""

    provider: Literal["gmail"]


class GitHub(_Authorized):
    """Documentation in repositories."""

    provider: Literal["github"]


class DriveConfig(Body):
    """Everything, or what was selected."""

    sync_scope: Maybe[Literal["selected", "full"]] = None


class OneDrive(_Authorized):
    """Files in OneDrive."""

    provider: Literal["onedrive"]
    config: Maybe[DriveConfig] = None


class GoogleDrive(_Authorized):
    """Files in Google Drive."""

    provider: Literal["google-drive"]
    config: Maybe[DriveConfig] = None


class S3Config(Body):
    """Where the bucket is, and the keys to it."""

    bucket: Filled
    region: Filled
    access_key_id: Filled
    secret_access_key: Filled
    endpoint: Maybe[Uri] = None
    prefix: Maybe[Text] = None


class S3(_Connectable):
    """Objects in a bucket."""

    provider: Literal["s3"]
    config: S3Config


class CrawlerConfig(Body):
    """Where to begin, and how many links deep to go."""

    start_url: Uri
    crawl_depth: Maybe[Annotated[StrictInt, Field(ge=1, le=5), WHOLE]] = None


class WebCrawler(_Connectable):
    """Pages of one site."""

    provider: Literal["web-crawler"]
    config: CrawlerConfig


class GranolaConfig(Body):
    """The key to the notes."""

    api_key: Filled


class Granola(_Connectable):
    """Meeting notes."""

    provider: Literal["granola"]
    config: GranolaConfig


SECRET_FIELDS = frozenset({"accessKeyId", "secretAccessKey", "apiKey"})
"""Parts of a config that are credentials: sealed, and in no answer."""

ConnectorBody = Annotated[
    Notion | Gmail | OneDrive | GitHub | GoogleDrive | S3 | WebCrawler | Granola,
    Field(discriminator="provider"),
]


class SelectionBody(Body):
    """What to synchronise, by the provider's kinds."""

    repos: Maybe[Kinds] = None
    labels: Maybe[Kinds] = None
    files: Maybe[Kinds] = None
    folders: Maybe[Kinds] = None


class ConnectorPatch(Body):
    """A change of a connector; a new selection replaces the old one."""

    selection: Maybe[SelectionBody] = None
    document_limit: Maybe[DocumentLimit] = None


class Authorization(Answer):
    """Where to authorize the connector, and until when."""

    url: str
    expires_at: Timestamp


class Capabilities(Answer):
    """What the provider offers."""

    selectable: bool
    webhooks: bool


class Selected(Answer):
    """A selected item."""

    id: str
    name: str


class RunSystem(Answer):
    """The state of a run."""

    status: Literal["running", "completed", "failed"]
    started_at: Timestamp
    completed_at: Timestamp | None


class Run(Answer):
    """A synchronisation in short."""

    error_code: RunError | None
    error: str | None
    system: RunSystem


class SyncFailure(Answer):
    """A document that could not be synchronised."""

    document_id: str
    title: str | None
    error_code: str
    error_message: str
    failed_at: str


class Sync(Run):
    """A synchronisation in full; `items_failed` is the true count, `failures` a capped list."""

    id: str
    trigger: Literal["event", "cron", "manual"]
    items_processed: Quantity
    items_failed: Quantity
    failures: list[SyncFailure]


class Picker(Answer):
    """A page, good for one use, where content is selected."""

    url: str
    expires_at: Timestamp


class ConnectorSystem(Answer):
    """The state of a connector."""

    status: Literal["pending_authorization", "active"]
    created_at: Timestamp
    last_successful_sync_at: Timestamp | None


class Connector(Answer):
    """A connector."""

    id: str
    provider: Provider
    authorization: Maybe[Authorization] = None
    namespace: str | None
    account: str | None
    capabilities: Capabilities
    config: dict[str, str | float | bool] | None
    selection: dict[str, list[Selected]] | None
    document_limit: Quantity
    document_count: Quantity
    latest_run: Run | None
    system: ConnectorSystem
    syncs: Maybe[list[Sync]] = None
    picker: Picker | None = None


class ConnectorsAnswer(Answer):
    """A page of connectors."""

    connectors: list[Connector]
    pagination: Pagination


class ConnectorCreated(Answer):
    """`authorization` is null where none is needed."""

    id: str
    authorization: Authorization | None


class ConnectorDeleted(Answer):
    """The connector is gone."""

    id: str
    deleted: Literal[True]


class SyncQueued(Answer):
    """A synchronisation will run."""

    id: str
    status: Literal["queued"]
