"""A fact of another language is stored, found and forgotten."""

from collections.abc import AsyncIterator

import pytest

from tests.service.world import World, world

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("languages")) as opened:
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
    service: World, ns: str, said: str, question: str, fact: str
) -> None:
    await service.add(ns, said, id="x", dreaming="instant")
    await service.settled()
    assert [one["memory"] for one in await service.listed(ns, "memories")] == [fact]
    found = await service.search(ns, question, searchMode="memories")
    assert [one["memory"] for one in found] == [fact]
    asked = {"query": fact.removeprefix("User: "), "dryRun": False}
    forgotten = await service.client.ok("DELETE", f"/ns/{ns}/memories/semantic", asked)
    assert [one["memory"] for one in forgotten["matches"]] == [fact]
    await service.settled()
    assert await service.search(ns, question, searchMode="memories") == []
