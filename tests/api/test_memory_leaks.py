"""Objects that requests leave in memory."""

import gc
from collections.abc import Iterator

import pytest

from pipeline.memory.grammar.english_parser import load_parser
from tests.api.conftest import Service
from tests.support.contract_client import ContractClient
from tests.support.table_rows import chunk, memory

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
    """Disable the cycle collector during a test, in which no thread imports what makes classes too."""
    load_parser()
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collections")
async def test_questions_asked_again_leave_no_class_behind(service: Service, client: ContractClient) -> None:
    await client.ok("POST", "/ns/alice/document", {"id": "d1", "content": "Text"})
    await service.store_rows(chunk("d1"), memory("m1", "d1"))
    for method, path in QUESTIONS:
        await client.ok(method, path)
        before = classes()
        await client.ok(method, path)
        assert classes() == before, path


def classes() -> int:
    """Count classes created by a request: each is a reference cycle, kept until a garbage collection."""
    return sum(isinstance(tracked, type) for tracked in gc.get_objects())
