"""What a page of the console takes over the network with an empty cache: its files and the answers it asks for."""

from collections.abc import AsyncIterator

import pytest

from tests.api.console.screenshots import fill_namespace
from tests.support.chromium import needs_chromium
from tests.support.console_user import ConsoleUser

pytestmark = [pytest.mark.anyio, needs_chromium]
MOST_BYTES = 300_000
MOST_BYTES_OF_THE_GRAPH = 450_000
_PAGES_OF_A_NAMESPACE = (
    "search?q=Where do I live?",
    "documents",
    "memories",
    "review",
    "profile",
    "questions",
    "connectors",
    "settings",
)
_PAGES = ("", "namespaces", "keys", "organization", "pipeline", "usage", "audit", "connectors", "design")
_WEIGHT = """
const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
return entries.reduce((sum, entry) => sum + entry.encodedBodySize, 0);
"""
_PAGE_OF_THE_MARK = "return document.querySelector('.page:has(.mark) svg.words')?.closest('.page').dataset.page"


async def weigh(visitor: ConsoleUser, address: str) -> int:
    """Return the bytes of a page's files and answers, compressed as they are sent."""
    await visitor.open_signed_in(f"#/{address}")
    if "?memory=" in address:
        await visitor.browser.wait_until(_PAGE_OF_THE_MARK)
    weight: int = await visitor.browser.execute(_WEIGHT)
    return weight


@pytest.fixture
async def newcomer(visitor: ConsoleUser) -> AsyncIterator[ConsoleUser]:
    """Return a user whose browser keeps no files."""
    await visitor.browser.disable_cache()
    yield visitor
    await visitor.browser.enable_cache()


async def test_every_page_is_light(newcomer: ConsoleUser) -> None:
    visitor = newcomer
    await fill_namespace(visitor)
    survey = next(row for row in await _rows(visitor, "documents") if row["type"] == "pdf")["id"]
    marta = next(row for row in await _rows(visitor, "memories") if "harbour master" in row["memory"])["id"]
    pages = [*_PAGES, *(f"ns/alice/{page}" for page in _PAGES_OF_A_NAMESPACE)]
    pages += [f"ns/alice/memories/{marta}", f"ns/alice/documents/{survey}?memory={marta}"]
    weights = {page: await weigh(visitor, page) for page in pages}
    assert {page: weight for page, weight in weights.items() if weight > MOST_BYTES} == {}
    assert min(weights.values()) > 20_000  # the files of every page; less was not loaded anew
    assert await weigh(visitor, "ns/alice/graph") < MOST_BYTES_OF_THE_GRAPH


async def _rows(visitor: ConsoleUser, kind: str) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = (await visitor.ok("POST", f"/ns/alice/list/{kind}?limit=100", {}))[kind]
    return rows
