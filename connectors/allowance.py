"""How many documents connectors may still bring in: what the engine asks of whoever keeps quotas."""

from typing import Protocol


class Allowance(Protocol):
    """`key`: the id of the API key that made the connector; None: nobody knows any more."""

    def refusal(self, key: str | None, wanted: int) -> str | None:
        """Why so many more documents may not come in now, for people; None: they may."""
        ...

    def count(self, key: str | None, documents: int) -> None:
        """They are in the log."""
        ...


class Unlimited:
    """Where nobody keeps quotas."""

    def refusal(self, key: str | None, wanted: int) -> str | None:  # noqa: ARG002 - whoever asks
        """Never."""
        return None

    def count(self, key: str | None, documents: int) -> None:
        """Nobody wants to know."""
