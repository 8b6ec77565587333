"""Settings of the operator, as one frozen object."""

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from schemas.limits import MAX_MONTHLY_QUOTA, MAX_REQUESTS_PER_MINUTE

TEN_YEARS_HOURS = 87_600
YEAR_SECONDS = 31_536_000
_BROKER = re.compile(r"(\[[\da-fA-F:.]+\]|[^\s:/\[\]]+)(:\d{1,5})?")
_STORE_SCHEMES = ("s3://", "gs://", "az://")


def _split(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def _http_address(value: str) -> str:
    """Return an address without a slash at its end, so that paths can be appended."""
    if not re.match(r"https?://[^\s/]", value):
        raise ValueError("must begin with http:// or https://, followed by a host")
    return value.rstrip("/")


def _brokers(value: str) -> str:
    if not (parts := _split(value)) or not all(map(_BROKER.fullmatch, parts)):
        raise ValueError("must be brokers as host:port, separated by commas, without http://")
    return value


def _folder_or_store(value: str) -> str:
    if "://" in value and not value.startswith(_STORE_SCHEMES):
        raise ValueError(f"must be a folder, or begin with {', '.join(_STORE_SCHEMES)}")
    return value


def _origins(value: str) -> str:
    if wrong := [part for part in _split(value) if part != "*" and not re.fullmatch(r"[\w+.-]+://[^\s/]+", part)]:
        raise ValueError(f"must be origins such as https://app.example.com, without a path; not {wrong[0]}")
    return value


def _networks(value: str) -> str:
    for part in _split(value):
        if part != "*":
            ip_network(part, strict=False)  # its ValueError says what is wrong
    return value


def _keys(value: SecretStr) -> SecretStr:
    if not _split(value.get_secret_value()):
        raise ValueError("holds no key")
    return value


HttpAddress = Annotated[str, AfterValidator(_http_address)]
FolderOrStore = Annotated[str, AfterValidator(_folder_or_store)]


class Settings(BaseSettings):
    """Environment variables prefixed RECOLLECT_ (or a .env file). The defaults need no other service."""

    model_config = SettingsConfigDict(
        env_prefix="RECOLLECT_",
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        allow_inf_nan=False,
    )

    data_dir: Path = Path(".recollect")
    host: str = "127.0.0.1"
    port: int = Field(default=8787, ge=0, le=65535)
    public_url: HttpAddress | None = None
    admin_key: Annotated[SecretStr, AfterValidator(_keys)] | None = None

    max_concurrent_requests: int = Field(default=256, ge=1, le=100_000)
    """Requests a process handles at a time; further ones get 503."""
    max_loop_lag_seconds: float = Field(default=10.0, gt=0, le=3600)
    """Event-loop lag above which new requests get 503."""
    request_idle_timeout_seconds: float = Field(default=60.0, gt=0, le=3600)
    """Time without progress after which a request is answered with 503."""
    max_body_mb: int = Field(default=64, ge=1, le=64)
    cors_origins: Annotated[str, AfterValidator(_origins)] | None = None
    """Origins whose web pages may call the API, separated by commas; * allows all."""
    trusted_proxies: Annotated[str, AfterValidator(_networks)] = "127.0.0.1"
    """Proxies whose X-Forwarded-For and -Proto are trusted: addresses and networks, separated by commas."""

    erasure_interval_hours: float = Field(default=24.0, gt=0, le=TEN_YEARS_HOURS)
    """Hours between two rounds that erase what deletions left on the disk."""
    sealing: bool = False
    """Seal what people wrote in the log, each record under a key of its own."""
    sealing_key_file: Path | None = None
    """File of the keys that wrap those keys; default: `sealing.key` in the data directory."""
    sealing_uri: FolderOrStore | None = None
    """Where processes on Kafka keep the keys of records; default: `sealing-keys` beside the tables."""
    sealing_vault_address: HttpAddress | None = None
    """HashiCorp Vault, whose transit engine encrypts the keys in that file."""
    sealing_vault_token: SecretStr | None = None
    sealing_vault_key: str = Field(default="recollect", pattern=r"^[\w.-]+$")
    sealing_vault_mount: str = Field(default="transit", pattern=r"^[\w./-]+$")

    rate_limit: int | None = Field(default=None, ge=1, le=MAX_REQUESTS_PER_MINUTE)
    """Requests per minute for each key without a limit of its own."""
    monthly_documents: int | None = Field(default=None, ge=0, le=MAX_MONTHLY_QUOTA)
    """Quota of the organization per month (UTC)."""
    monthly_searches: int | None = Field(default=None, ge=0, le=MAX_MONTHLY_QUOTA)
    key_monthly_documents: int | None = Field(default=None, ge=0, le=MAX_MONTHLY_QUOTA)
    """Quota of each key without a quota of its own."""
    key_monthly_searches: int | None = Field(default=None, ge=0, le=MAX_MONTHLY_QUOTA)

    kafka_bootstrap: Annotated[str, AfterValidator(_brokers)] | None = None
    kafka_replication: int = Field(default=1, ge=1, le=32)
    kafka_min_insync_replicas: int = Field(default=1, ge=1, le=32)
    kafka_retention_days: int = Field(default=7, ge=1, le=36_500)
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    kafka_username: str | None = None
    kafka_password: SecretStr | None = None
    kafka_ca_file: str | None = None
    kafka_session_timeout_seconds: float = Field(default=30.0, ge=6, le=300)
    """Time without a heartbeat after which Kafka gives a process's partitions to the others."""
    kafka_paced_reconnects: bool = True
    lance_uri: FolderOrStore | None = None
    blob_uri: FolderOrStore | None = None
    storage_endpoint: HttpAddress | None = None
    storage_region: str | None = None
    storage_access_key_id: str | None = None
    storage_secret_access_key: SecretStr | None = None

    log_partitions: int | None = Field(default=None, ge=1, le=1024)
    """Partitions of each topic, fixed when the log is created. Default: 4 embedded, 16 on Kafka."""
    shards: int = Field(default=4, ge=1, le=1024)
    catalog_namespaces: int = Field(default=100_000, ge=1000)
    index_cache_bytes: int = Field(default=200 * 1024 * 1024, ge=1024 * 1024)
    """Size limit of the namespace index cache."""
    index_snapshot_bytes: int = Field(default=4 * 1024 * 1024 * 1024, ge=0)
    """Size limit of the snapshots of namespace indexes on the disk; 0: none."""

    embedder: Literal["e5", "e5-encoder", "wordllama", "openai", "none"] = "e5-encoder"
    embedder_base_url: HttpAddress | None = None
    embedder_api_key: SecretStr | None = None
    embedder_model: str = "text-embedding-3-small"
    embedder_dimensions: int = Field(default=256, ge=1, le=8192)

    llm_base_url: HttpAddress | None = None
    llm_api_key: SecretStr | None = None
    llm_model: str | None = None
    llm_timeout_seconds: float = Field(default=60.0, gt=0, le=YEAR_SECONDS)
    """Timeout of one model call."""
    llm_concurrency: int = Field(default=4, ge=1, le=256)
    llm_input_tokens: int = Field(default=8000, ge=2000)
    """Approximate tokens of one prompt; longer documents are split."""
    llm_output_tokens: int = Field(default=4000, ge=100)

    rerank_base_url: HttpAddress | None = None
    rerank_api_key: SecretStr | None = None
    rerank_model: str | None = None
    rerank_timeout_seconds: float = Field(default=1.0, gt=0, le=YEAR_SECONDS)
    """Time a search waits for the reranker before it keeps its own order."""

    chunk_size: int = Field(default=800, ge=100, le=8000)
    """Maximum characters of a chunk."""
    memory_min_worth: float = Field(default=3.5)
    """Score from which a statement becomes a memory; more keeps less."""
    profile_max_tokens: int = Field(default=1_000, ge=50, le=20_000)
    """Tokens of a profile's static and dynamic facts together, at four characters each."""
    dreaming_debounce_seconds: float = Field(default=10.0, ge=0, le=YEAR_SECONDS)
    """Quiet time of a namespace before deferred extraction starts."""
    dreaming_max_wait_seconds: float = Field(default=120.0, ge=0, le=YEAR_SECONDS)
    """Maximum wait of a namespace that is never quiet."""

    parse_workers: int = Field(default=1, ge=1, le=32)
    parse_timeout_seconds: float = Field(default=60.0, gt=0, le=YEAR_SECONDS)
    parse_memory_mb: int = Field(default=1536, ge=128)
    fetch_private_addresses: bool = False
    """Allow URLs given as content to resolve to private addresses."""

    secret_key: SecretStr | None = None
    """Key that encrypts the credentials of connectors; to rotate it, give the new one, a comma, the old one."""
    connectors_sync_interval_hours: float = Field(default=4.0, gt=0, le=TEN_YEARS_HOURS)
    notion_client_id: str | None = None
    notion_client_secret: SecretStr | None = None
    notion_token: SecretStr | None = None
    notion_webhook_secret: SecretStr | None = None
    notion_url: str = "https://api.notion.com"
    github_client_id: str | None = None
    github_client_secret: SecretStr | None = None
    github_app_id: str | None = None
    github_app_private_key: SecretStr | None = None
    github_app_installation: str | None = None
    github_webhook_secret: SecretStr | None = None
    github_url: str = "https://github.com"
    github_api_url: str = "https://api.github.com"
    google_client_id: str | None = None
    google_client_secret: SecretStr | None = None
    google_service_account: SecretStr | None = None
    """JSON key of a service account with domain-wide delegation, or the path of its file."""
    google_subjects: str | None = None
    """Users for whom it acts: `namespace=address` pairs separated by commas, or an address for all namespaces."""
    google_accounts_url: str = "https://accounts.google.com"
    google_token_url: str = "https://oauth2.googleapis.com"  # noqa: S105 - an address
    google_certificates_url: str = "https://www.googleapis.com/oauth2/v3/certs"
    google_drive_url: str = "https://www.googleapis.com"
    gmail_url: str = "https://gmail.googleapis.com"
    gmail_pubsub_topic: str | None = None
    gmail_push_account: str | None = None
    microsoft_client_id: str | None = None
    microsoft_client_secret: SecretStr | None = None
    microsoft_tenant: str = "common"
    microsoft_login_url: str = "https://login.microsoftonline.com"
    microsoft_graph_url: str = "https://graph.microsoft.com"
    crawler_browser: str | None = None
    """Command of a headless Chromium for pages that need JavaScript."""
    granola_url: str = "https://public-api.granola.ai"
    s3_sns_topics: str | None = None
    """ARNs of SNS topics, separated by commas, whose bucket notifications start a sync run."""
    s3_role_buckets: str = ""
    """Buckets that connectors may read with the role of this service, separated by commas."""

    process_tuning: bool = True
    """Set allocator, garbage collector, threads and library options for the whole process."""
    fair_event_loop: bool = True
    """Give requests priority over background work on the event loop."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"
    """Plain text, or a JSON object per line."""
    otlp_endpoint: HttpAddress | None = None
    """Collector (OTLP over HTTP) for spans of Kafka records."""

    @property
    def partitions(self) -> int:
        """Partitions of each topic, with the default resolved."""
        return self.log_partitions or (4 if self.kafka_bootstrap is None else 16)

    @staticmethod
    def split_list(value: str | None) -> list[str]:
        """Split a comma-separated value; empty parts are dropped."""
        return _split(value or "")

    @staticmethod
    def reveal(secret: SecretStr | None) -> str | None:
        return secret.get_secret_value() if secret else None

    def storage_options(self, uri: str) -> dict[str, str] | None:
        """Return the options of the object store at this URI; None: the provider's own variables apply."""
        options = {
            "endpoint": self.storage_endpoint,
            "region": self.storage_region,
            "access_key_id": self.storage_access_key_id,
            "secret_access_key": self.reveal(self.storage_secret_access_key),
            "allow_http": "true" if (self.storage_endpoint or "").startswith("http://") else None,
        }
        present = {name: value for name, value in options.items() if value is not None}
        return present if present and uri.startswith("s3://") else None
