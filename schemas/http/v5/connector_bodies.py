"""Bodies of connectors."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StrictInt
from pydantic_core import PydanticCustomError

from schemas.address_secrets import MASK, is_masked, mask_secrets
from schemas.base import RequestBody, ResponseBody
from schemas.crawl_options import parse_crawl_options
from schemas.http.field_types import (
    COERCE_WHOLE_FLOAT,
    NumberTypedInt,
    Omittable,
    ResourceId,
    Text,
    Timestamp,
    TimeText,
    Uri,
)
from schemas.http.pagination import Pagination
from schemas.limits import MAX_CONNECTOR_DOCUMENTS, MAX_CONNECTOR_TEXT_LENGTH

Provider = Literal["notion", "google-drive", "onedrive", "gmail", "github", "web-crawler", "s3", "granola"]
SyncErrorCode = Literal["auth_expired", "rate_limited", "plan_required", "provider_unavailable", "internal"]
ConfigValue = str | float | bool
DocumentLimit = Annotated[StrictInt, Field(ge=1, le=MAX_CONNECTOR_DOCUMENTS), COERCE_WHOLE_FLOAT]


def _validate_length(text: str) -> str:
    if len(text) > MAX_CONNECTOR_TEXT_LENGTH:
        raise PydanticCustomError("too_long", "has more than {limit} characters", {"limit": MAX_CONNECTOR_TEXT_LENGTH})
    return text


_BOUNDED = AfterValidator(_validate_length)
"""The contract has no bound; every process keeps the settings of every connector in memory."""
NonEmptyText = Annotated[Text, Field(min_length=1), _BOUNDED]
SelectedIds = Annotated[list[Annotated[ResourceId, _BOUNDED]], Field(max_length=500)]


class _ConnectorCreateBody(RequestBody):
    document_limit: Omittable[DocumentLimit] = None


class _OAuthConnectorBody(_ConnectorCreateBody):
    redirect_url: Omittable[Annotated[Uri, _BOUNDED]] = None


class NotionConnectorBody(_OAuthConnectorBody):
    """Pages of a Notion workspace."""

    provider: Literal["notion"]


class GmailConnectorBody(_OAuthConnectorBody):
    """Mail."""

    provider: Literal["gmail"]


class GitHubConnectorBody(_OAuthConnectorBody):
    """Documentation in repositories."""

    provider: Literal["github"]


class DriveConfig(RequestBody):
    """Sync scope: everything, or the selection."""

    sync_scope: Omittable[Literal["selected", "full"]] = None


class OneDriveConnectorBody(_OAuthConnectorBody):
    """Files in OneDrive."""

    provider: Literal["onedrive"]
    config: Omittable[DriveConfig] = None


class GoogleDriveConnectorBody(_OAuthConnectorBody):
    """Files in Google Drive."""

    provider: Literal["google-drive"]
    config: Omittable[DriveConfig] = None


_BUCKET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
"""Names that some S3 service allows; Amazon's own rules are narrower."""


def _validate_bucket(name: str) -> str:
    if not _BUCKET_NAME.fullmatch(name):
        raise ValueError("is not a bucket's name: give the name alone, without s3:// and without a path")
    return name


_REGION = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _validate_region(name: str) -> str:
    if not _REGION.fullmatch(name):
        raise ValueError("is not a region's name, such as eu-central-1")
    return name


def _validate_web_address(address: str) -> str:
    if not address.lower().startswith(("http://", "https://")):
        raise ValueError("must be an http or https address")
    if "@" in urlsplit(address).netloc:
        raise ValueError(
            "holds a user name or a password, which would be stored and shown in clear: remove what stands before the @"
        )
    return address


def _validate_start_url(address: str) -> str:
    parse_crawl_options(address)
    if is_masked(address):
        raise ValueError(f"has {MASK} in place of a secret: give the secret itself")
    return address


def _validate_endpoint(address: str) -> str:
    if urlsplit(address).query:
        raise ValueError("holds a query after ?, which no storage service has")
    return address


WebAddress = Annotated[Uri, _BOUNDED, AfterValidator(_validate_web_address)]


class S3Config(RequestBody):
    """Bucket and its access keys."""

    bucket: Annotated[NonEmptyText, AfterValidator(_validate_bucket)]
    region: Annotated[NonEmptyText, AfterValidator(_validate_region)]
    access_key_id: NonEmptyText
    secret_access_key: NonEmptyText
    endpoint: Omittable[Annotated[WebAddress, AfterValidator(_validate_endpoint)]] = None
    prefix: Omittable[Annotated[Text, _BOUNDED]] = None


class S3ConnectorBody(_ConnectorCreateBody):
    """Objects in a bucket."""

    provider: Literal["s3"]
    config: S3Config


class CrawlerConfig(RequestBody):
    """Start page, whose fragment may limit the crawl, and crawl depth in links."""

    start_url: Annotated[WebAddress, AfterValidator(_validate_start_url)]
    crawl_depth: Omittable[Annotated[StrictInt, Field(ge=1, le=5), COERCE_WHOLE_FLOAT]] = None


class WebCrawlerConnectorBody(_ConnectorCreateBody):
    """Pages of one site."""

    provider: Literal["web-crawler"]
    config: CrawlerConfig


class GranolaConfig(RequestBody):
    """API key of the notes."""

    api_key: NonEmptyText


class GranolaConnectorBody(_ConnectorCreateBody):
    """Meeting notes."""

    provider: Literal["granola"]
    config: GranolaConfig


SECRET_FIELDS = frozenset({"accessKeyId", "secretAccessKey", "apiKey"})
"""Config fields that are credentials: encrypted at rest and never returned."""
ADDRESS_FIELDS = frozenset({"startUrl"})
"""Config fields that are addresses: encrypted if they hold a secret, and returned with `***` in its place."""


def split_config(config: Mapping[str, ConfigValue]) -> tuple[dict[str, ConfigValue], dict[str, str]]:
    """Return what of a config may be shown, and what is secret."""
    secrets = {name: str(config[name]) for name in SECRET_FIELDS & config.keys()}
    masked = {name: mask_secrets(str(config[name])) for name in ADDRESS_FIELDS & config.keys()}
    secrets |= {name: str(config[name]) for name, shown in masked.items() if shown != config[name]}
    return {name: value for name, value in config.items() if name not in SECRET_FIELDS} | masked, secrets


ConnectorBody = Annotated[
    NotionConnectorBody
    | GmailConnectorBody
    | OneDriveConnectorBody
    | GitHubConnectorBody
    | GoogleDriveConnectorBody
    | S3ConnectorBody
    | WebCrawlerConnectorBody
    | GranolaConnectorBody,
    Field(discriminator="provider"),
]


class SelectionBody(RequestBody):
    """Selection of items to synchronise, by the provider's kinds."""

    repos: Omittable[SelectedIds] = None
    labels: Omittable[SelectedIds] = None
    files: Omittable[SelectedIds] = None
    folders: Omittable[SelectedIds] = None


class ConnectorPatch(RequestBody):
    """A change of a connector; a new selection replaces the old one."""

    selection: Omittable[SelectionBody] = None
    document_limit: Omittable[DocumentLimit] = None


class Authorization(ResponseBody):
    """Link to authorize the connector, and its expiry."""

    url: str
    expires_at: Timestamp


class Capabilities(ResponseBody):
    """Capabilities of the provider."""

    selectable: bool
    webhooks: bool


class SelectedItemResponse(ResponseBody):
    """A selected item."""

    id: str
    name: str


class SyncRunSystem(ResponseBody):
    """The state of a run."""

    status: Literal["running", "completed", "failed"]
    started_at: Timestamp
    completed_at: Timestamp | None


class SyncRunSummary(ResponseBody):
    """A synchronisation in short."""

    error_code: SyncErrorCode | None
    error: str | None
    system: SyncRunSystem


class SyncItemFailureResponse(ResponseBody):
    """A document that could not be synchronised."""

    document_id: str
    title: str | None
    error_code: str
    error_message: str
    failed_at: TimeText


class SyncRun(SyncRunSummary):
    """A synchronisation in full; `items_failed` is the true count, `failures` a capped list."""

    id: str
    trigger: Literal["event", "cron", "manual"]
    items_processed: NumberTypedInt
    items_failed: NumberTypedInt
    failures: list[SyncItemFailureResponse]


class PickerLink(ResponseBody):
    """Single-use link to a page for selecting content."""

    url: str
    expires_at: Timestamp


class ConnectorSystem(ResponseBody):
    """The state of a connector."""

    status: Literal["pending_authorization", "active"]
    created_at: Timestamp
    last_successful_sync_at: Timestamp | None


class ConnectorResponse(ResponseBody):
    """A connector."""

    id: str
    provider: Provider
    authorization: Omittable[Authorization] = None
    namespace: str | None
    account: str | None
    capabilities: Capabilities
    config: dict[str, str | int | float | bool] | None
    selection: dict[str, list[SelectedItemResponse]] | None
    document_limit: NumberTypedInt
    document_count: NumberTypedInt
    latest_run: SyncRunSummary | None
    system: ConnectorSystem
    syncs: Omittable[list[SyncRun]] = None
    picker: PickerLink | None = None


class ConnectorsResponse(ResponseBody):
    """A page of connectors."""

    connectors: list[ConnectorResponse]
    pagination: Pagination


class ConnectorCreated(ResponseBody):
    """New connector; `authorization` is null if none is needed."""

    id: str
    authorization: Authorization | None


class ConnectorDeleted(ResponseBody):
    """Removed connector."""

    id: str
    deleted: Literal[True]


class SyncQueued(ResponseBody):
    """Queued sync run."""

    id: str
    status: Literal["queued"]
