"""What answers leave in memory."""

import gc
from collections.abc import Iterator

import pytest

from tests.api.conftest import Service
from tests.api.rows import chunk, memory
from tests.contract import Client

pytestmark = pytest.mark.anyio

QUESTIONS = [
    ("GET", "/ns/alice/document/d1"),
    ("GET", "/ns/alice/memories/m1"),
    ("GET", "/ns/alice"),
    ("POST", "/ns/alice/list/documents"),
    ("GET", "/admin/status"),
]


@pytest.fixture
def without_collections() -> Iterator[None]:
    """Nothing looks for cycles meanwhile."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collections")
async def test_questions_asked_again_leave_no_class_behind(service: Service, client: Client) -> None:
    await client.ok("POST", "/ns/alice/document", {"id": "d1", "content": "Text"})
    await service.hold(chunk("d1"), memory("m1", "d1"))
    for method, path in QUESTIONS:
        await client.ok(method, path)
        before = classes()
        await client.ok(method, path)
        assert classes() == before, path


def classes() -> int:
    """Those made with a statement: each is a cycle, which holds what is around it until one looks for it."""
    return sum(isinstance(one, type) for one in gc.get_objects())
