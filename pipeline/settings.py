"""Everything an operator may set: one frozen class, built once, passed on as values."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from schemas.limits import QUOTA, RATE


class Settings(BaseSettings):
    """Environment variables prefixed RECOLLECT_ (or a .env file). The defaults run with no services."""

    model_config = SettingsConfigDict(
        env_prefix="RECOLLECT_", env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True
    )

    data_dir: Path = Path(".recollect")
    host: str = "127.0.0.1"
    port: int = Field(default=8787, ge=0, le=65535)
    public_url: str | None = None
    admin_key: SecretStr | None = None

    concurrent_requests: int = Field(default=256, ge=1, le=100_000)
    """Answered at a time by a process; what comes beyond is told to come back."""
    behind_seconds: float = Field(default=10.0, gt=0, le=3600)
    """So far a process may be behind with what it has begun before it tells others to come back."""
    request_seconds: float = Field(default=60.0, gt=0, le=3600)
    """Without progress, before a caller is told that it takes too long."""
    body_mb: int = Field(default=64, ge=1, le=64)
    cors_origins: str | None = None
    """Web pages from these origins, separated by commas, may ask; * from all."""
    trusted_proxies: str = "127.0.0.1"
    """Whose X-Forwarded-For and -Proto are believed: addresses and networks, separated by commas."""

    rate_limit: int | None = Field(default=None, ge=1, le=RATE)
    """Requests a minute of each key that has no limit of its own."""
    monthly_documents: int | None = Field(default=None, ge=0, le=QUOTA)
    """Of the organization, in a month (UTC)."""
    monthly_searches: int | None = Field(default=None, ge=0, le=QUOTA)
    key_monthly_documents: int | None = Field(default=None, ge=0, le=QUOTA)
    """Of each key that has no quota of its own."""
    key_monthly_searches: int | None = Field(default=None, ge=0, le=QUOTA)

    kafka_bootstrap: str | None = None
    kafka_partitions: int = Field(default=16, ge=1, le=1024)
    kafka_replication: int = Field(default=1, ge=1, le=32)
    kafka_min_insync_replicas: int = Field(default=1, ge=1, le=32)
    kafka_keep_days: int = Field(default=7, ge=1)
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    kafka_username: str | None = None
    kafka_password: SecretStr | None = None
    kafka_ca_file: str | None = None
    kafka_session_seconds: float = Field(default=30.0, ge=6, le=300)
    """A process that Kafka has not heard of for so long loses its partitions to the others."""
    lance_uri: str | None = None
    blob_uri: str | None = None
    storage_endpoint: str | None = None
    storage_region: str | None = None
    storage_access_key_id: str | None = None
    storage_secret_access_key: SecretStr | None = None

    partitions: int = Field(default=4, ge=1, le=1024)
    shards: int = Field(default=4, ge=1, le=1024)
    cache_bytes: int = Field(default=200 * 1024 * 1024, ge=1024 * 1024)
    """The bound of the hot cache of namespaces."""

    embedder: Literal["wordllama", "openai", "none"] = "wordllama"
    embedder_base_url: str | None = None
    embedder_api_key: SecretStr | None = None
    embedder_model: str = "text-embedding-3-small"
    embedder_dimensions: int = Field(default=256, ge=1, le=8192)

    llm_base_url: str | None = None
    llm_api_key: SecretStr | None = None
    llm_model: str | None = None
    llm_seconds: float = Field(default=60.0, gt=0)
    """How long one answer may take."""
    llm_concurrency: int = Field(default=4, ge=1, le=256)
    llm_input_tokens: int = Field(default=8000, ge=2000)
    """Of one question, about; longer documents are asked about in parts."""
    llm_output_tokens: int = Field(default=4000, ge=100)

    rerank_base_url: str | None = None
    rerank_api_key: SecretStr | None = None
    rerank_model: str | None = None
    rerank_seconds: float = Field(default=1.0, gt=0)
    """How long a search waits for it, before it keeps its own order."""

    chunk_size: int = Field(default=800, ge=100, le=8000)
    """Characters of a chunk, at most."""
    dreaming_quiet_seconds: float = Field(default=10.0, ge=0)
    """How long a namespace must be quiet before dynamic memories are formed."""
    dreaming_longest_seconds: float = Field(default=120.0, ge=0)
    """A namespace that is never quiet is formed after so long all the same."""

    extract_workers: int = Field(default=1, ge=1, le=32)
    extract_seconds: float = Field(default=60.0, gt=0)
    extract_memory_mb: int = Field(default=1536, ge=128)
    fetch_private_addresses: bool = False
    """Let URLs given as content reach private addresses. Off: only public ones."""

    secret_key: SecretStr | None = None
    """Seals the credentials of connectors; several, separated by commas, to change it."""
    connectors_every_hours: float = Field(default=4.0, gt=0)
    notion_client_id: str | None = None
    notion_client_secret: SecretStr | None = None
    notion_webhook_secret: SecretStr | None = None
    notion_url: str = "https://api.notion.com"
    github_client_id: str | None = None
    github_client_secret: SecretStr | None = None
    github_webhook_secret: SecretStr | None = None
    github_url: str = "https://github.com"
    github_api_url: str = "https://api.github.com"
    google_client_id: str | None = None
    google_client_secret: SecretStr | None = None
    google_accounts_url: str = "https://accounts.google.com"
    google_token_url: str = "https://oauth2.googleapis.com"  # noqa: S105 - an address
    google_certificates_url: str = "https://www.googleapis.com/oauth2/v3/certs"
    google_drive_url: str = "https://www.googleapis.com"
    gmail_url: str = "https://gmail.googleapis.com"
    gmail_topic: str | None = None
    gmail_push_account: str | None = None
    microsoft_client_id: str | None = None
    microsoft_client_secret: SecretStr | None = None
    microsoft_tenant: str = "common"
    microsoft_login_url: str = "https://login.microsoftonline.com"
    microsoft_graph_url: str = "https://graph.microsoft.com"
    granola_url: str = "https://public-api.granola.ai"
    s3_topics: str | None = None
    """Names (ARNs) of SNS topics, separated by commas: what they tell of a bucket starts a run."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"
    """For people, or an object per line for machines."""
    otlp_endpoint: str | None = None
    """A collector of traces (OTLP over HTTP), for what Kafka carries."""

    @staticmethod
    def listed(value: str | None) -> list[str]:
        """What is separated by commas."""
        return [part.strip() for part in (value or "").split(",") if part.strip()]

    def storage(self, uri: str) -> dict[str, str] | None:
        """The options of the object store at this URI; None leaves them to the provider's own variables."""
        secret = self.storage_secret_access_key
        options = {
            "endpoint": self.storage_endpoint,
            "region": self.storage_region,
            "access_key_id": self.storage_access_key_id,
            "secret_access_key": None if secret is None else secret.get_secret_value(),
            "allow_http": "true" if (self.storage_endpoint or "").startswith("http://") else None,
        }
        given = {name: value for name, value in options.items() if value is not None}
        return given if given and uri.startswith("s3://") else None
