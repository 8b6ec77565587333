"""Port to the quota of documents that connectors may add."""

from typing import Protocol


class DocumentQuota(Protocol):
    """Document quota by API key; `api_key_id` is the connector's creator, None if unknown."""

    def check(self, api_key_id: str | None, requested: int) -> str | None:
        """Return a message if this many more documents exceed the quota, else None."""

    def record_documents(self, api_key_id: str | None, documents: int) -> None:
        """Count documents that were published to the log."""
