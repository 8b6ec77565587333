"""Home, first steps, and searches as code, in a real Chromium."""

import asyncio
import os
import sys

import pytest

from tests.support.chromium import needs_chromium
from tests.support.console_user import NARROW, WIDE, ConsoleUser
from tests.support.service_world import ADMIN

pytestmark = [pytest.mark.anyio, needs_chromium]


async def _remember(visitor: ConsoleUser, namespace: str, text: str) -> None:
    await visitor.ok("POST", f"/ns/{namespace}/document", {"content": text, "id": "said", "dreaming": "instant"})
    await visitor.service.wait_until_idle()


async def _run(*command: str) -> str:
    """Run a program with the key of the tests; returns its output."""
    process = await asyncio.create_subprocess_exec(
        *command, env=os.environ | {"SUPERMEMORY_API_KEY": ADMIN}, stdout=-1, stderr=-1
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def test_guides_are_a_click_away_with_and_without_a_key(visitor: ConsoleUser) -> None:
    await visitor.browser.open(f"{visitor.url}/console/icon.svg")
    await visitor.browser.execute("sessionStorage.clear()")
    await visitor.browser.open(f"{visitor.url}/console/?guides")
    await visitor.press("Guides and API reference")
    await visitor.browser.wait_until("return location.pathname === '/docs/'")
    await visitor.sign_in()
    await visitor.press("Guides")
    await visitor.browser.wait_until("return location.pathname === '/docs/'")
    assert await visitor.accessibility_violations() == []


async def test_home_shows_what_is_new_and_leads_to_it(visitor: ConsoleUser) -> None:
    await _remember(visitor, "newcomers", "My name is Ottilie. I live in Bergen.")
    await visitor.sign_in()
    await visitor.wait_for_text("New memories")
    await visitor.wait_for_text("The last 30 days")
    await visitor.wait_for_text("Needs attention")
    await visitor.browser.wait_until("return document.querySelector('.chart .spark')")
    assert await visitor.accessibility_violations() == []
    await visitor.browser.set_viewport(*NARROW)
    assert await visitor.horizontal_overflow() == 0
    await visitor.browser.set_viewport(*WIDE)
    await visitor.select("In namespace", "newcomers")
    await visitor.enter("Ask what is remembered", "Where does the user live?")
    await visitor.press("Search", within="main")
    await visitor.wait_for_text("in Bergen")


async def test_who_has_nothing_yet_adds_a_text_and_gets_an_answer(visitor: ConsoleUser) -> None:
    key = await visitor.ok("POST", "/admin/keys", {"name": "fresh", "role": "write", "namespaces": ["fresh:*"]})
    await visitor.sign_in(key["key"])
    await visitor.wait_for_text("Nothing is remembered yet")
    assert await visitor.accessibility_violations() == []
    await visitor.enter("Text or URL", "The spare key hangs behind the barn door.")
    await visitor.press("Add")
    await visitor.wait_for_text("2. Ask about it")
    await visitor.service.wait_until_idle()
    await visitor.enter("Question", "Where is the spare key?")
    await visitor.press("Ask")
    await visitor.wait_for_text("Passage")
    assert "behind the barn door" in await visitor.text(".result .text")


@pytest.mark.parametrize(("language", "program"), [("Python", [sys.executable, "-c"]), ("curl", ["sh", "-c"])])
@pytest.mark.parametrize("moment", ["", ',"asOf":"2099-01-01T00:00:00.000Z"'], ids=["now", "then"])
async def test_a_search_as_code_finds_the_same(
    visitor: ConsoleUser, language: str, program: list[str], moment: str
) -> None:
    await _remember(visitor, "coded", "The captain's log says: don't anchor at Skarvøy.")
    options = (
        f'{{"searchMode":"chunks","filter":{{"operator":"neq","field":"kind","value":"it\'s"}},"limit":3{moment}}}'
    )
    await visitor.open_signed_in(f"#/ns/coded/search?q=captain's log&o={options}")
    await visitor.wait_for_text("1 result in")
    await visitor.press("This search as code")
    await visitor.press(language)
    assert "Skarv" in await _run(*program, await visitor.text(".code pre"))
    assert await visitor.accessibility_violations() == []


async def test_memories_are_found_by_what_they_are_about(visitor: ConsoleUser) -> None:
    await _remember(visitor, "finder", "I live in Rome. My dog is called Rex. I play the cello.")
    await visitor.open_signed_in("#/ns/finder/memories")
    await visitor.enter("Find memories about", "Rex")
    await visitor.press("Find")
    await visitor.wait_for_text("about “Rex”, most similar first")
    assert "Rex" in await visitor.text("tbody th")
    assert await visitor.accessibility_violations() == []


async def test_a_page_continues_by_itself_when_the_service_is_back(visitor: ConsoleUser) -> None:
    await visitor.ok("POST", "/ns/outage/document", {"content": "The kettle is blue.", "id": "kettle"})
    await visitor.open_signed_in("#/")
    await visitor.browser.set_offline(offline=True)
    try:
        await visitor.navigate("#/ns/outage/profile")
        await visitor.wait_for_text("The service can't be reached")
    finally:
        await visitor.browser.set_offline(offline=False)
    await visitor.wait_for_text("Long-term")


_BUSY = """
const usual = globalThis.fetch;
const [part, status, body] = arguments;
globalThis.fetch = async (address, ...rest) => {
  if (!String(address).includes(part)) return usual(address, ...rest);
  globalThis.fetch = usual;
  return new Response(body, { status });
};
"""


@pytest.mark.parametrize("status", [429, 500, 502])
async def test_a_list_is_looked_at_again_after_an_answer_that_passes(visitor: ConsoleUser, status: int) -> None:
    namespace = f"busy-{status}"
    await visitor.ok("POST", f"/ns/{namespace}/document", {"content": "The kettle is blue."})
    await visitor.open_signed_in(f"#/ns/{namespace}/documents")
    await visitor.browser.execute(_BUSY, "/list/documents", status, "busy")
    await visitor.browser.wait_until("return String(fetch).includes('native code')")
    await visitor.ok("POST", f"/ns/{namespace}/document", {"content": "The pot is red."})
    await visitor.wait_for_text("2 documents")


async def test_a_page_that_was_answered_by_something_else_is_asked_for_again(visitor: ConsoleUser) -> None:
    await visitor.ok("POST", "/ns/portal/document", {"content": "The kettle is blue."})
    await visitor.open_signed_in("#/ns/portal/search")
    await visitor.browser.execute(_BUSY, "/list/documents", 200, "<html>Sign in to the network</html>")
    await visitor.navigate("#/ns/portal/documents")
    await visitor.wait_for_text("The answer can't be read")
    assert await visitor.accessibility_violations() == []
    await visitor.wait_for_text("1 document")


async def test_a_page_that_is_reloaded_while_the_service_is_busy_keeps_its_key(visitor: ConsoleUser) -> None:
    key = await visitor.ok("POST", "/admin/keys", {"name": "hasty", "role": "read", "rateLimit": 240})
    caller = visitor.service.client.as_key(key["key"])
    while (await caller("GET", "/admin/whoami")).is_success:
        pass
    await visitor.open_signed_in("#/namespaces", key["key"])
    await visitor.wait_for_text("Namespaces")


async def test_a_namespace_that_was_deleted_leaves_the_navigation(visitor: ConsoleUser) -> None:
    await visitor.ok("POST", "/ns/short-lived/document", {"content": "The kettle is blue."})
    await visitor.open_signed_in("#/ns/short-lived/settings")
    await visitor.press("Delete this namespace")
    await visitor.press("Delete everything", "dialog")
    await visitor.wait_for_text("short-lived was deleted")
    await visitor.browser.wait_until("return !document.querySelector('nav').innerText.includes('short-lived')")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("ns/short/documents?page=9", "Page 9 of 1, 1 in all"),
        ("ns/short/memories?page=9", "No memories yet"),
        ("namespaces?page=99", "← Previous"),
        ("ns/100%/documents", "namespace: may have letters"),
        ("ns/short/documents?filter=%7B%22fie", "The address was mistyped or cut off"),
    ],
)
async def test_an_address_that_leads_too_far_or_is_cut_off_says_so(
    visitor: ConsoleUser, address: str, shown: str
) -> None:
    await visitor.ok("POST", "/ns/short/document", {"content": "The kettle is blue.", "id": "kettle"})
    await visitor.open_signed_in(f"#/{address}")
    await visitor.wait_for_text(shown)
    await visitor.browser.severe_log_messages()  # a cut-off address is reported as an error too
