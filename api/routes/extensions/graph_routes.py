"""Graph of a namespace's memories (extension of the contract)."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.dependencies.authentication import ReadAccess
from api.presenters import memory_graph
from api.routes.contract_route import ContractRoute
from schemas.http.extensions.graph_bodies import GraphResponse

router = APIRouter(route_class=ContractRoute, prefix="/ns/{namespace}/explain/graph", tags=["Why"])

MAX_MEMORIES = 2_000
"""Memories that one graph shows; the newest."""
Limit = Annotated[int, Query(ge=1, le=MAX_MEMORIES)]


@router.get("")
async def graph(access: ReadAccess, limit: Limit = MAX_MEMORIES) -> GraphResponse:
    """Return the newest memories with their relations and the people, places and things they name."""
    return await memory_graph.memory_graph(access.state, access.namespace, limit)
