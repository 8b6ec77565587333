"""The access token that the HTTP client sends to a provider."""

from typing import Protocol


class AccessTokenSource(Protocol):
    """OAuth access token of a connector, refreshed before it expires."""

    async def token(self) -> str:
        """Return a token that should work; AuthExpiredError if the user has to authorize again."""
        ...

    async def refresh(self, rejected_token: str) -> str:
        """Replace a token that the provider rejected; AuthExpiredError if that is impossible."""
        ...
