"""Verification tokens that providers sent for their operator, whichever process they came to."""

from collections.abc import Mapping

from connectors.vault import Sealed, Secrets

PLACE = "handshakes"
"""Where they are kept, as if they were a connector's secrets."""


async def keep(secrets: Secrets, provider: str, token: str) -> None:
    """Remember the newest one of a provider. VaultKeyError where nothing can be sealed."""

    def change(kept: dict[str, str]) -> Sealed | None:
        return None if kept.get(provider) == token else {**kept, provider: token}

    await secrets.change(PLACE, change)


async def sent(secrets: Secrets) -> Mapping[str, str]:
    """By provider; none while nothing can be sealed."""
    return await secrets.read(PLACE) if secrets.ready else {}
