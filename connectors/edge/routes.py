"""All routes of the edge."""

from starlette.routing import BaseRoute, Route

from connectors.connecting import CALLBACK, Connecting
from connectors.edge.callback import Callback
from pipeline.connections import Connections


def edge_routes(connections: Connections, connecting: Connecting) -> list[BaseRoute]:
    """To be mounted at the root of the service's address."""
    return [Route(CALLBACK, Callback(connections, connecting).answer, methods=["GET"])]
