"""Routes of the OAuth callback, webhooks and picker."""

from starlette.routing import BaseRoute, Route

from connectors.accounts.account_linking import PICKER_PATH
from connectors.accounts.connection_factory import OAUTH_CALLBACK_PATH, ConnectionFactory
from connectors.accounts.webhook_subscriptions import WEBHOOKS_PATH
from connectors.edge.oauth_callback import OAuthCallback
from connectors.edge.picker import Picker
from connectors.edge.webhooks import WebhookReceiver
from pipeline.connector_registry import ConnectorRegistry


def edge_routes(
    registry: ConnectorRegistry, connection_factory: ConnectionFactory, webhooks: WebhookReceiver
) -> list[BaseRoute]:
    """Build the routes, to be mounted at the root of the service's public URL."""
    picker = Picker(registry, connection_factory)
    return [
        Route(OAUTH_CALLBACK_PATH, OAuthCallback(registry, connection_factory).handle, methods=["GET"]),
        Route(f"{WEBHOOKS_PATH}/{{provider}}", webhooks.handle, methods=["GET", "POST"]),
        Route(f"{WEBHOOKS_PATH}/{{provider}}/{{connector}}", webhooks.handle, methods=["GET", "POST"]),
        Route(f"{PICKER_PATH}/assets/{{name}}", picker.asset, methods=["GET"]),
        Route(f"{PICKER_PATH}/{{connector}}", picker.page, methods=["GET"]),
        Route(f"{PICKER_PATH}/{{connector}}/entries", picker.entries, methods=["GET"]),
        Route(f"{PICKER_PATH}/{{connector}}/selection", picker.selection, methods=["GET", "PUT"]),
    ]
