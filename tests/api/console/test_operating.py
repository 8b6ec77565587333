"""The pages of an operator, and connectors, in a real Chromium."""

from urllib.parse import parse_qs, urlsplit

import pytest

from connectors.handshakes import keep
from pipeline.records import Entry
from tests.api.console.visitor import Visitor
from tests.browser import needs_chromium
from tests.service.world import until

pytestmark = [pytest.mark.anyio, needs_chromium]
TOPIC = "documents.submitted.v1"


async def _park(visitor: Visitor, *keys: str) -> None:
    """Records that nobody can read."""
    entries = [Entry(key=key.encode(), value=b'{"broken": true}', headers={}) for key in keys]
    await visitor.world.live.pipeline.bus.append(TOPIC, entries)

    async def parked() -> bool:
        return len((await visitor.ok("GET", "/admin/dlq"))["letters"]) >= len(keys)

    await until(parked, "dead letters")


async def test_dead_letters_are_looked_at_handed_back_and_let_go_of(visitor: Visitor) -> None:
    await _park(visitor, "one", "two")
    await visitor.arrive("#/pipeline")
    await visitor.sees("2 records could not be handled")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.click("[aria-label^='Look at']")
    await visitor.sees('"broken": true')
    assert await visitor.audit() == []
    await visitor.press("Close", "dialog")
    await visitor.press("Hand all back")
    await visitor.sees("2 records handed back.")
    for partition in range(2):
        again = f"[id='drop-{TOPIC}.dlq/{partition}/1']"
        await visitor.click(again)
        await visitor.press("Let go", "dialog")
        await visitor.sees("1 record let go of.")
        await visitor.browser.until("return !document.querySelector('dialog')")
    await visitor.sees("There are none: every record could be handled.")


async def test_a_replay_is_planned_begun_and_seen_to_end(visitor: Visitor) -> None:
    await visitor.ok("POST", "/ns/replayed/document", {"content": "A text."})
    await visitor.world.settled()
    await visitor.arrive("#/pipeline")
    await visitor.press("Replay: make the tables anew from the log")
    await visitor.press("Plan a replay")
    await visitor.sees("It reads ")
    await visitor.press("Replay", "dialog")
    await visitor.sees("The replay has begun.")
    await visitor.sees("records read")
    await visitor.browser.until(
        "return document.querySelector('section h2 .badge.good')?.innerText === 'done'"
    )
    assert await visitor.audit() == []
    await visitor.press("Remove the tables before")
    await visitor.sees("Generations removed: ")


async def test_a_source_is_connected_runs_and_is_disconnected(visitor: Visitor) -> None:
    visitor.shelf.put("kettle", "The kettle is blue.", board="kitchen")
    connector = await visitor.world.create("connected", "github")
    await visitor.world.ended(connector)
    await visitor.arrive("#/ns/connected/connectors")
    await visitor.sees("completed")
    await visitor.press("Connect a source")
    await visitor.select("Source", "S3")
    await visitor.sees("Secret access key")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.press("GitHub")
    await visitor.sees("reader@shelf.test")
    await visitor.press("Run now")
    await visitor.sees("A run will begin.")
    await visitor.world.ended(connector, 2)
    await visitor.browser.until("return document.querySelectorAll('ol.passages > li').length === 2")
    assert await visitor.audit() == []
    await visitor.press("Disconnect")
    await visitor.press("Delete the documents", "dialog")
    await visitor.sees("It is disconnected.")
    await visitor.sees("Nothing is connected")


async def test_a_source_is_authorized_at_its_provider_and_leads_back(visitor: Visitor) -> None:
    await visitor.arrive("#/ns/authorized/connectors")
    await visitor.press("Connect a source")
    await visitor.press("Connect")
    await visitor.browser.until(
        "return location.host === 'shelf.test' || location.protocol === 'chrome-error:'"
    )
    asked = await visitor.browser.address()
    assert asked.startswith("https://shelf.test/authorize")
    state = parse_qs(urlsplit(asked).query)["state"][0]
    denied = await visitor.world.browser("/oauth/callback", state=state, error="access_denied")
    await visitor.browser.open(denied.headers["location"])
    await visitor.sees("github gave no access.")
    assert await visitor.audit() == []
    await visitor.press("Close", "dialog")
    await visitor.sees("Not authorized yet")
    await visitor.press("GitHub")
    await visitor.sees("to be authorized")
    back = await visitor.world.authorize(asked)
    await visitor.browser.open(back.headers["location"])
    await visitor.sees("It is connected, and runs for the first time.")
    await visitor.sees("reader@shelf.test")
    assert "?" not in await visitor.browser.address()


async def test_an_operator_sets_how_often_and_how_much_a_source_is_read(visitor: Visitor) -> None:
    connector = await visitor.world.create("scheduled", "github")
    await visitor.world.ended(connector)
    await keep(visitor.world.connectors.offers.connecting.secrets, "notion", "a-token-to-paste")
    await visitor.arrive("#/connectors")
    await visitor.sees("a-token-to-paste")
    await visitor.sees("scheduled")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.go(f"#/ns/scheduled/connectors/{connector}")
    await visitor.enter("Runs by itself every so many hours", "1.5")
    await visitor.press("Save")
    await visitor.sees("It runs by itself every 1.5 hours.")
    await visitor.press("Run, and list everything anew")
    await visitor.sees("A run will begin that lists everything.")
    assert (await visitor.world.ended(connector, 2)).full
    await visitor.enter("Documents at most", "7")
    await visitor.press("Change")
    await visitor.sees(" of at most 7")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    states = (await visitor.ok("GET", "/admin/connectors"))["connectors"]
    assert [one["everyHours"] for one in states if one["id"] == connector] == [1.5]


async def test_a_run_that_fails_says_why_and_what_to_do(visitor: Visitor) -> None:
    connector = await visitor.world.create("unlucky", "github")
    await visitor.world.ended(connector)
    visitor.shelf.withdraw()
    await visitor.world.sync("unlucky", connector)
    await visitor.arrive("#/ns/unlucky/connectors")
    await visitor.sees("The access has ended: connect it again.")


async def test_usage_and_the_audit_log_say_who_did_what(visitor: Visitor) -> None:
    made = await visitor.ok("POST", "/admin/keys", {"name": "counted", "monthlySearches": 10})
    user = visitor.world.client.as_key(made["key"])
    await user.ok("POST", "/ns/counted/document", {"content": "A text."})
    await user.ok("POST", "/ns/counted/search", {"query": "text"})
    await visitor.arrive("#/usage")
    await visitor.sees("1 of 10")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.go("#/audit")
    await visitor.sees("name: counted")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
