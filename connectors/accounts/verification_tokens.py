"""Verification tokens that providers sent for the operator, shared by all processes."""

from collections.abc import Mapping

from connectors.accounts.credential_vault import ConnectorSecrets, SecretStore

SECRETS_KEY = "verification_tokens"
"""Key in the secret store, in place of a connector's id."""


async def store_token(secrets: SecretStore, provider: str, token: str) -> None:
    """Store a provider's newest token; VaultKeyError without an encryption key."""

    def change(kept: dict[str, str]) -> ConnectorSecrets | None:
        return None if kept.get(provider) == token else {**kept, provider: token}

    await secrets.update(SECRETS_KEY, change)


async def list_tokens(secrets: SecretStore) -> Mapping[str, str]:
    """List tokens by provider; empty without an encryption key."""
    return await secrets.read(SECRETS_KEY) if secrets.has_key else {}
