"""Documents over HTTP."""

import pytest

from tests.contract import Client

pytestmark = pytest.mark.anyio


async def test_a_document_is_found_the_moment_it_was_accepted(client: Client) -> None:
    added = await client.ok("POST", "/ns/alice/document", {"content": "Ada lives in Berlin.", "id": "note"})
    assert added == {"id": "note", "status": "queued"}
    read = await client.ok("GET", "/ns/alice/document/note")
    assert read["system"]["status"] == "queued"
    assert read["content"] is None
    assert "chunks" not in read
