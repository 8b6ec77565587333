"""Keys, profiles and settings in a real Chromium: what is made there works, and what is refused is said."""

from datetime import UTC, datetime

import pytest

from tests.api.console.visitor import Visitor
from tests.browser import needs_chromium

pytestmark = [pytest.mark.anyio, needs_chromium]


async def test_a_key_is_made_used_and_revoked(visitor: Visitor) -> None:
    await visitor.ok("POST", "/ns/mine/document", {"content": "A text."})
    await visitor.ok("POST", "/ns/theirs/document", {"content": "A text."})
    await visitor.arrive("#/keys")
    await visitor.press("Create a key")
    await visitor.enter("Name", "of a test")
    await visitor.select("Role", "read: sees, changes nothing")
    await visitor.enter("Namespaces", "mine, mine:*")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.press("Create")
    await visitor.sees("It is shown only now")
    key = await visitor.text("dialog code")
    await visitor.press("Done", "dialog")
    await visitor.sign_in(key)
    await visitor.sees("mine")
    assert "theirs" not in await visitor.browser.text("main")
    assert "Keys" not in await visitor.browser.text("nav")
    await visitor.go("#/keys")
    await visitor.sees("This needs an admin key")
    await visitor.arrive("#/keys")
    await visitor.click("[aria-label='Revoke of a test']")
    await visitor.press("Revoke", "dialog")
    await visitor.sees("of a test is revoked.")
    await visitor.world.client.as_key(key).refused(401, "GET", "/ns")


async def test_a_key_has_limits_and_gets_a_new_secret(visitor: Visitor) -> None:
    await visitor.arrive("#/keys")
    await visitor.press("Create a key")
    await visitor.enter("Name", "limited")
    await visitor.enter("Ends after days", "30")
    await visitor.enter("Requests a minute", "600")
    await visitor.enter("Documents a month", "0")
    await visitor.press("Create")
    before = visitor.world.client.as_key(await visitor.text("dialog code"))
    await visitor.press("Done", "dialog")
    await visitor.sees("600 requests a minute")
    await visitor.sees("0 documents a month")
    await visitor.sees("in 4 weeks")
    await before.refused(402, "POST", "/ns/limited/document", {"content": "A text."})
    await visitor.click("[aria-label='Change limited']")
    await visitor.enter("Documents a month", "1", "dialog")
    await visitor.enter("Requests a minute", "", "dialog")
    await visitor.press("It does not end")
    assert await visitor.audit() == []
    await visitor.press("Save", "dialog")
    await visitor.sees("limited is changed.")
    await visitor.sees("1 document a month")
    await before.ok("POST", "/ns/limited/document", {"content": "A text."})
    shown = (await visitor.ok("GET", "/admin/keys"))["keys"]
    assert [one["expiresAt"] for one in shown if one["name"] == "limited"] == [None]
    await visitor.click("[aria-label='New secret for limited']")
    await visitor.sees("It stays the same key")
    assert await visitor.audit() == []
    await visitor.press("Make it", "dialog")
    await visitor.sees("It is shown only now")
    after = visitor.world.client.as_key(await visitor.text("dialog code"))
    await visitor.press("Done", "dialog")
    await visitor.sees("The secret before ends")
    for key in (before, after):
        assert (await key.ok("GET", "/admin/whoami"))["name"] == "limited"
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0


async def test_who_renews_their_own_key_goes_on_with_the_new_secret(visitor: Visitor) -> None:
    made = await visitor.ok("POST", "/admin/keys", {"name": "renewed", "role": "admin"})
    await visitor.arrive("#/keys", made["key"])
    await visitor.click("[aria-label='New secret for renewed']")
    await visitor.enter("The secret before opens it for hours", "0")
    await visitor.press("Make it", "dialog")
    await visitor.press("Done", "dialog")
    await visitor.world.client.as_key(made["key"]).refused(401, "GET", "/ns")
    await visitor.press("Namespaces", "nav")
    await visitor.loaded()
    assert await visitor.browser.text("h1") == "Namespaces"


async def test_a_key_that_ends_meanwhile_leads_back_to_the_door(visitor: Visitor) -> None:
    made = await visitor.ok("POST", "/admin/keys", {"name": "short", "role": "read"})
    await visitor.sign_in(made["key"])
    await visitor.ok("DELETE", f"/admin/keys/{made['id']}")
    await visitor.press("Namespaces", "nav")
    await visitor.sees("The API key is not valid")
    await visitor.sees("Sign in with an API key")


async def test_a_profile_is_read_and_its_buckets_are_changed(visitor: Visitor) -> None:
    text = "My name is Alice. I live in Lisbon. My favourite food is grilled sardines. I like swimming."
    await visitor.ok("POST", "/ns/profiled/document", {"content": text, "dreaming": "instant"})
    await visitor.world.settled()
    await visitor.arrive("#/ns/profiled/profile")
    await visitor.sees("User lives in Lisbon")
    await visitor.press("Add a bucket")
    await visitor.enter("Name", "food")
    await visitor.enter("What belongs in it", "Favourite food, dishes, what somebody likes to eat")
    await visitor.press("Save")
    await visitor.sees("The bucket food is saved.")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    buckets = (await visitor.ok("GET", "/ns/profiled/profile/buckets"))["buckets"]
    assert buckets["food"].startswith("Favourite food")
    await visitor.press("Change food")
    await visitor.press("Remove this bucket")
    await visitor.press("Remove", "dialog")
    await visitor.sees("The bucket food is removed.")


async def test_a_profile_is_read_as_it_was(visitor: Visitor) -> None:
    moments = []
    for day, place in ((1, "Lisbon"), (2, "Porto")):
        text = f"My name is Alice. I live in {place}."
        body = {"content": text, "date": f"2026-03-0{day}", "dreaming": "instant"}
        await visitor.ok("POST", "/ns/then/document", body)
        await visitor.world.settled()
        moments.append(datetime.now(UTC).isoformat().replace("+00:00", "Z"))
    await visitor.arrive("#/ns/then/profile")
    await visitor.sees("User lives in Porto")
    await visitor.go(f"#/ns/then/profile?at={moments[0]}")
    await visitor.sees("User lives in Lisbon")
    await visitor.sees("As it was on")
    assert "Porto" not in await visitor.browser.text("main")
    assert not await visitor.browser.run("return document.querySelector('main .danger')")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.enter("As of", "")
    await visitor.press("Show")
    await visitor.sees("User lives in Porto")
    await visitor.go(f'#/ns/then/search?q=Where does Alice live?&o={{"asOf":"{moments[0]}"}}')
    await visitor.sees("As it was on")
    assert "Porto" not in await visitor.browser.text("main")


async def test_what_the_organization_says_holds_in_every_namespace(visitor: Visitor) -> None:
    await visitor.ok("POST", "/ns/ruled/document", {"content": "A text."})
    await visitor.arrive("#/organization")
    await visitor.enter("Context", "We look after harbours.")
    await visitor.press("Save")
    await visitor.sees("The context is saved.")
    await visitor.enter("Name", "ships")
    await visitor.enter("What belongs in it", "Ships, boats and their crews")
    await visitor.click("details[open] button[type=submit]")
    await visitor.sees("The bucket ships is saved.")
    await visitor.press("Change ships")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.go("#/ns/ruled/settings")
    await visitor.sees("We look after harbours.")
    await visitor.go("#/ns/ruled/profile")
    await visitor.sees("Ships, boats and their crews")
    await visitor.sees("It is of every namespace")
    assert await visitor.audit() == []
    await visitor.press("the organization's")
    await visitor.press("Change ships")
    await visitor.press("Remove this bucket")
    await visitor.press("Remove", "dialog")
    await visitor.sees("The bucket ships is removed.")
    await visitor.enter("Context", "")
    await visitor.press("Save")
    await visitor.sees("The context is saved.")
    assert (await visitor.ok("GET", "/organization"))["organizationalContext"] is None
    assert (await visitor.ok("GET", "/admin/buckets"))["buckets"] == {}


async def test_a_context_is_kept_and_a_namespace_ends_when_one_is_sure(visitor: Visitor) -> None:
    await visitor.ok("POST", "/ns/ending/document", {"content": "A text."})
    await visitor.arrive("#/ns/ending/settings")
    await visitor.enter("Context", "Notes of a harbour master.")
    await visitor.press("Save")
    await visitor.sees("The context is saved.")
    assert await visitor.audit() == []
    assert (await visitor.ok("GET", "/ns/ending"))["supportingContext"] == "Notes of a harbour master."
    await visitor.press("Delete it")
    await visitor.press("Delete this namespace")
    await visitor.press("Delete everything", "dialog")
    await visitor.sees("ending is gone, with 1 document.")
    await visitor.world.client.refused(404, "GET", "/ns/ending")
