"""A fact of another language is stored, found and forgotten."""

from collections.abc import AsyncIterator

import pytest

from tests.support.service_world import RunningService, running_service

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[RunningService]:
    async with running_service(tmp_path_factory.mktemp("languages")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("said", "question", "fact"),
    [
        (
            "私は東京に住んでいます。元気ですか。",
            "東京に住んでいますか",
            "User: 私は東京に住んでいます",
        ),
        ("Ich wohne in Berlin. Und du?", "Wer wohnt in Berlin?", "User: Ich wohne in Berlin"),
        ("J'habite à Lyon. Merci !", "Qui habite à Lyon ?", "User: J'habite à Lyon"),
        ("Vivo en Madrid. ¿Y tú?", "¿Quién vive en Madrid?", "User: Vivo en Madrid"),
    ],
)
async def test_it_is_stored_found_and_forgotten(
    service: RunningService, ns: str, said: str, question: str, fact: str
) -> None:
    await service.add_document(ns, said, id="x", dreaming="instant")
    await service.wait_idle()
    assert [memory["memory"] for memory in await service.list_items(ns, "memories")] == [fact]
    found = await service.search(ns, question, searchMode="memories")
    assert [result["memory"] for result in found] == [fact]
    asked = {"query": fact.removeprefix("User: "), "dryRun": False}
    forgotten = await service.client.ok("DELETE", f"/ns/{ns}/memories/semantic", asked)
    assert [match["memory"] for match in forgotten["matches"]] == [fact]
    await service.wait_idle()
    assert await service.search(ns, question, searchMode="memories") == []
