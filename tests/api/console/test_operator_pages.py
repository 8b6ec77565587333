"""The pages of an operator, and connectors, in a real Chromium."""

from urllib.parse import parse_qs, urlsplit

import pytest

from pipeline.bus.records import ProducerRecord
from tests.support.chromium import needs_chromium
from tests.support.console_user import ConsoleUser
from tests.support.service_world import wait_until

pytestmark = [pytest.mark.anyio, needs_chromium]
TOPIC = "documents.submitted.v1"


async def _park(visitor: ConsoleUser, *keys: str) -> None:
    """Records that nobody can read."""
    entries = [ProducerRecord(key=key.encode(), value=b'{"broken": true}', headers={}) for key in keys]
    await visitor.service.live.pipeline.bus.append(TOPIC, entries)

    async def parked() -> bool:
        return len((await visitor.ok("GET", "/admin/dlq"))["deadLetters"]) >= len(keys)

    await wait_until(parked, "dead letters")


async def test_dead_letters_are_looked_at_handed_back_and_let_go_of(visitor: ConsoleUser) -> None:
    await _park(visitor, "one", "two")
    await visitor.open_signed_in("#/pipeline")
    await visitor.wait_for_text("2 records in the dead-letter queue")
    assert "2 dead letters" in await visitor.text(".flow-stage.bad")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.click("[aria-label^='View ']")
    await visitor.wait_for_text('"broken": true')
    assert await visitor.accessibility_violations() == []
    await visitor.press("Close", "dialog")
    await visitor.press("Retry all")
    await visitor.wait_for_text("2 records retried.")
    for partition in range(2):
        again = f"[id='drop-{TOPIC}.dlq/{partition}/1']"
        await visitor.click(again)
        await visitor.press("Drop", "dialog")
        await visitor.wait_for_text("1 record dropped.")
        # Rows below move up when it goes, so that a click before that may miss them.
        await visitor.browser.wait_until(
            f"return !document.querySelector('dialog') && !document.querySelector(\"{again}\")"
        )
    await visitor.wait_for_text("No dead letters.")


async def test_a_replay_is_planned_begun_and_seen_to_end(visitor: ConsoleUser) -> None:
    await visitor.ok("POST", "/ns/replayed/document", {"content": "A text."})
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in("#/pipeline")
    await visitor.press("Replay: rebuild the tables from the log")
    await visitor.press("Plan a replay")
    await visitor.wait_for_text("It reads ")
    await visitor.press("Replay", "dialog")
    await visitor.wait_for_text("Replay started.")
    await visitor.wait_for_text("records read")
    await visitor.browser.wait_until("return document.querySelector('section h2 .badge.good')?.innerText === 'done'")
    assert await visitor.accessibility_violations() == []
    await visitor.press("Remove the previous generation")
    await visitor.wait_for_text("Generations removed: ")


async def test_a_source_is_connected_runs_and_is_disconnected(visitor: ConsoleUser) -> None:
    visitor.source.put("kettle", "The kettle is blue.", board="kitchen")
    connector = await visitor.service.create("connected", "github")
    await visitor.service.wait_for_run(connector)
    await visitor.open_signed_in("#/ns/connected/connectors")
    await visitor.wait_for_text("completed")
    await visitor.press("Connect a source")
    await visitor.select("Source", "S3")
    await visitor.wait_for_text("Secret access key")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.press("GitHub")
    await visitor.wait_for_text("reader@shelf.test")
    await visitor.press("Run now")
    await visitor.wait_for_text("Sync queued.")
    await visitor.service.wait_for_run(connector, 2)
    await visitor.browser.wait_until("return document.querySelectorAll('ol.passages > li').length === 2")
    assert await visitor.accessibility_violations() == []
    await visitor.press("Disconnect")
    await visitor.press("Delete the documents", "dialog")
    await visitor.wait_for_text("Disconnected.")
    await visitor.wait_for_text("No connectors")


async def test_a_source_is_authorized_at_its_provider_and_leads_back(visitor: ConsoleUser) -> None:
    await visitor.open_signed_in("#/ns/authorized/connectors")
    await visitor.press("Connect a source")
    await visitor.press("Connect")
    await visitor.browser.wait_until("return location.host === 'shelf.test' || location.protocol === 'chrome-error:'")
    asked = await visitor.browser.address()
    assert asked.startswith("https://shelf.test/authorize")
    state = parse_qs(urlsplit(asked).query)["state"][0]
    denied = await visitor.service.browser("/oauth/callback", state=state, error="access_denied")
    await visitor.browser.open(denied.headers["location"])
    await visitor.wait_for_text("github gave no access.")
    assert await visitor.accessibility_violations() == []
    await visitor.press("Close", "dialog")
    await visitor.wait_for_text("Not authorized yet")
    await visitor.press("GitHub")
    await visitor.wait_for_text("pending authorization")
    back = await visitor.service.authorize(asked)
    await visitor.browser.open(back.headers["location"])
    await visitor.wait_for_text("Connected. The first sync has started.")
    await visitor.wait_for_text("reader@shelf.test")
    assert "?" not in await visitor.browser.address()


async def test_an_operator_sets_how_often_and_how_much_a_source_is_read(visitor: ConsoleUser) -> None:
    connector = await visitor.service.create("scheduled", "github")
    await visitor.service.wait_for_run(connector)
    secrets = visitor.service.connectors.account_linking.connection_factory.secret_store
    await secrets.store_verification_token("notion", "a-token-to-paste")
    await visitor.open_signed_in("#/connectors")
    await visitor.wait_for_text("a-token-to-paste")
    await visitor.wait_for_text("scheduled")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.navigate(f"#/ns/scheduled/connectors/{connector}")
    await visitor.enter("Sync interval (hours)", "1.5")
    await visitor.press("Save")
    await visitor.wait_for_text("Syncs every 1.5 hours.")
    await visitor.press("Run full sync")
    await visitor.wait_for_text("A full sync was queued.")
    assert (await visitor.service.wait_for_run(connector, 2)).full
    await visitor.enter("Document limit", "7")
    await visitor.press("Change")
    await visitor.wait_for_text(" of at most 7")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    states = (await visitor.ok("GET", "/admin/connectors"))["connectors"]
    assert [state["syncIntervalHours"] for state in states if state["id"] == connector] == [1.5]


async def test_a_run_that_fails_says_why_and_what_to_do(visitor: ConsoleUser) -> None:
    connector = await visitor.service.create("unlucky", "github")
    await visitor.service.wait_for_run(connector)
    visitor.source.revoke_access()
    await visitor.service.sync("unlucky", connector)
    await visitor.open_signed_in("#/ns/unlucky/connectors")
    await visitor.wait_for_text("Correct it, or connect again.")
    await visitor.navigate(f"#/ns/unlucky/connectors/{connector}")
    await visitor.wait_for_text("Credentials")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.press("Connect again")
    await visitor.browser.wait_until("return location.host === 'shelf.test' || location.protocol === 'chrome-error:'")
    assert (await visitor.browser.address()).startswith("https://shelf.test/authorize")


async def test_usage_and_the_audit_log_say_who_did_what(visitor: ConsoleUser) -> None:
    created = await visitor.ok("POST", "/admin/keys", {"name": "counted", "monthlySearches": 10, "monthlyBytes": 1000})
    user = visitor.service.client.as_key(created["key"])
    await user.ok("POST", "/ns/counted/document", {"content": "A text."})
    await user.ok("POST", "/ns/counted/search", {"query": "text"})
    await visitor.open_signed_in("#/usage")
    await visitor.wait_for_text("1 of 10")
    await visitor.wait_for_text("7 of 1,000")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.navigate("#/audit")
    await visitor.wait_for_text("name: counted")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
