"""All routes of the edge."""

from starlette.routing import BaseRoute, Route

from connectors.connecting import CALLBACK, Connecting
from connectors.edge.callback import Callback
from connectors.edge.picker import Picker
from connectors.edge.webhooks import Webhooks
from connectors.offers import PICKER
from connectors.subscriptions import WEBHOOKS
from pipeline.connections import Connections


def edge_routes(connections: Connections, connecting: Connecting, webhooks: Webhooks) -> list[BaseRoute]:
    """To be mounted at the root of the service's address."""
    picker = Picker(connections, connecting)
    return [
        Route(CALLBACK, Callback(connections, connecting).answer, methods=["GET"]),
        Route(f"{WEBHOOKS}/{{provider}}", webhooks.answer, methods=["GET", "POST"]),
        Route(f"{WEBHOOKS}/{{provider}}/{{connector}}", webhooks.answer, methods=["GET", "POST"]),
        Route(f"{PICKER}/assets/{{name}}", picker.asset, methods=["GET"]),
        Route(f"{PICKER}/{{connector}}", picker.page, methods=["GET"]),
        Route(f"{PICKER}/{{connector}}/entries", picker.entries, methods=["GET"]),
        Route(f"{PICKER}/{{connector}}/selection", picker.selection, methods=["GET", "PUT"]),
    ]
