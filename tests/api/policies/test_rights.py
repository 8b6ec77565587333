"""No key gets an answer above its rights, on any route; a model decides."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute

from api.application import _API_ROUTERS
from tests.api.policies.rights_model import OPEN_ROUTES, ROUTES, Trial
from tests.support.service_world import running_service

pytestmark = pytest.mark.anyio

REQUESTS = 1500


def _routes(router: APIRouter, prefix: str = "") -> Iterator[str]:
    for route in router.routes:
        if isinstance(route, APIRoute):
            path = prefix + route.path.replace("{namespace}", "{ns}").replace(":path}", "}")
            yield from (f"{method} {path}" for method in route.methods or ())
        else:
            yield from _routes(route.original_router, router.prefix)  # type: ignore[attr-defined]  # a nested router


def test_the_model_knows_every_route() -> None:
    served = {route for part in _API_ROUTERS for route in _routes(part.router)}
    assert served == ROUTES.keys() | OPEN_ROUTES


@pytest.mark.no_cover
async def test_no_answer_is_above_or_below_the_rights_of_a_key(tmp_path: Path) -> None:
    async with running_service(tmp_path / "data") as service:
        trial = Trial(service, random.Random(1))  # noqa: S311 - the same trial each time
        await trial.make_keys(60)
        await trial.run(REQUESTS)
    assert min(trial.counts.values()) > REQUESTS / 20
