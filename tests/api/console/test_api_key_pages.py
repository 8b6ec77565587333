"""Keys, profiles and settings in a real Chromium: what is made there works, and what is refused is said."""

from datetime import UTC, datetime

import pytest

from tests.support.chromium import needs_chromium
from tests.support.console_user import ConsoleUser

pytestmark = [pytest.mark.anyio, needs_chromium]


async def test_a_key_is_made_used_and_revoked(visitor: ConsoleUser) -> None:
    await visitor.ok("POST", "/ns/mine/document", {"content": "A text."})
    await visitor.ok("POST", "/ns/theirs/document", {"content": "A text."})
    await visitor.open_signed_in("#/keys")
    await visitor.press("Create a key")
    await visitor.enter("Name", "of a test")
    await visitor.select("Role", "Read: sees everything, changes nothing")
    await visitor.enter("Namespaces", "mine, mine:*")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.press("Create")
    await visitor.wait_for_text("Shown only once")
    key = await visitor.text("dialog code")
    await visitor.press("Done", "dialog")
    await visitor.sign_in(key)
    await visitor.wait_for_text("mine")
    assert "theirs" not in await visitor.browser.inner_text("main")
    assert "Keys" not in await visitor.browser.inner_text("nav")
    await visitor.navigate("#/keys")
    await visitor.wait_for_text("This needs an admin key")
    await visitor.open_signed_in("#/keys")
    await visitor.click("[aria-label='Revoke of a test']")
    await visitor.press("Revoke", "dialog")
    await visitor.wait_for_text("of a test is revoked.")
    await visitor.service.client.as_key(key).fails(401, "GET", "/ns")


async def test_a_key_has_limits_and_gets_a_new_secret(visitor: ConsoleUser) -> None:
    await visitor.open_signed_in("#/keys")
    await visitor.press("Create a key")
    await visitor.enter("Name", "limited")
    await visitor.enter("Expires after (days)", "30")
    await visitor.enter("Requests per minute", "600")
    await visitor.enter("Documents per month", "0")
    await visitor.press("Create")
    before = visitor.service.client.as_key(await visitor.text("dialog code"))
    await visitor.press("Done", "dialog")
    await visitor.wait_for_text("600 requests per minute")
    await visitor.wait_for_text("0 documents per month")
    await visitor.wait_for_text("in 4 weeks")
    await before.fails(402, "POST", "/ns/limited/document", {"content": "A text."})
    await visitor.click("[aria-label='Change limited']")
    await visitor.enter("Documents per month", "1", "dialog")
    await visitor.enter("Requests per minute", "", "dialog")
    await visitor.press("No expiry")
    assert await visitor.accessibility_violations() == []
    await visitor.press("Save", "dialog")
    await visitor.wait_for_text("limited is changed.")
    await visitor.wait_for_text("1 document per month")
    await before.ok("POST", "/ns/limited/document", {"content": "A text."})
    shown = (await visitor.ok("GET", "/admin/keys"))["keys"]
    assert [key["expiresAt"] for key in shown if key["name"] == "limited"] == [None]
    await visitor.click("[aria-label='New secret for limited']")
    await visitor.wait_for_text("Rotates the secret")
    assert await visitor.accessibility_violations() == []
    await visitor.press("Rotate", "dialog")
    await visitor.wait_for_text("Shown only once")
    after = visitor.service.client.as_key(await visitor.text("dialog code"))
    await visitor.press("Done", "dialog")
    await visitor.wait_for_text("Previous secret expires")
    for key in (before, after):
        assert (await key.ok("GET", "/admin/whoami"))["name"] == "limited"
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0


async def test_who_renews_their_own_key_goes_on_with_the_new_secret(visitor: ConsoleUser) -> None:
    created = await visitor.ok("POST", "/admin/keys", {"name": "renewed", "role": "admin"})
    await visitor.open_signed_in("#/keys", created["key"])
    await visitor.click("[aria-label='New secret for renewed']")
    await visitor.enter("Keep the previous secret valid for (hours)", "0")
    await visitor.press("Rotate", "dialog")
    await visitor.press("Done", "dialog")
    await visitor.service.client.as_key(created["key"]).fails(401, "GET", "/ns")
    await visitor.press("Namespaces", "nav")
    await visitor.wait_until_loaded()
    assert await visitor.browser.inner_text("h1") == "Namespaces"


@pytest.mark.parametrize(
    ("scopes", "offered"),
    [
        (["read"], set()),
        (["read", "write"], {"Add documents", "Change this document", "Save"}),
        (
            ["read", "forget"],
            {"Delete selected", "Delete this document", "Forget by description", "Delete this namespace"},
        ),
        (["read", "connect"], {"Connect a source"}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
async def test_a_key_with_a_part_of_its_role_is_offered_only_that(
    visitor: ConsoleUser, scopes: list[str], offered: set[str]
) -> None:
    await visitor.ok(
        "POST", "/ns/partly/document", {"content": "I live in Lisbon.", "id": "note", "dreaming": "instant"}
    )
    await visitor.service.wait_until_idle()
    key = (await visitor.ok("POST", "/admin/keys", {"name": "part", "role": "write", "scopes": scopes}))["key"]
    await visitor.open_signed_in("#/ns/partly/documents", key)
    assert sorted((await visitor.text(".who")).removeprefix("part · ").split(", ")) == sorted(scopes)
    found: set[str] = set()
    for page in ("documents", "documents/note", "memories", "connectors", "settings"):
        await visitor.navigate(f"#/ns/partly/{page}")
        script = "return [...document.querySelectorAll('main button, main summary')].map((one) => one.innerText)"
        found |= set(await visitor.browser.execute(script))
    always = {"Sort and filter", "Filter", "Find", "1 passage", "Events in the log"}
    assert found - always == offered


async def test_a_key_is_pasted_with_its_header_and_no_other_text_is_sent(visitor: ConsoleUser) -> None:
    created = await visitor.ok("POST", "/admin/keys", {"name": "pasted", "role": "read"})
    await visitor.sign_in(f"Bearer {created['key']}")
    await visitor.press("Sign out")
    await visitor.enter("API key", "\u043a\u043b\u044e\u0447")
    await visitor.press("Sign in")
    await visitor.wait_for_text("It has characters that no key has.")


async def test_a_key_that_ends_meanwhile_leads_back_to_the_door(visitor: ConsoleUser) -> None:
    created = await visitor.ok("POST", "/admin/keys", {"name": "short", "role": "read"})
    await visitor.sign_in(created["key"])
    await visitor.ok("DELETE", f"/admin/keys/{created['id']}")
    await visitor.press("Namespaces", "nav")
    await visitor.wait_for_text("The API key is not valid")
    await visitor.wait_for_text("Sign in with an API key")


async def test_a_profile_is_read_and_its_buckets_are_changed(visitor: ConsoleUser) -> None:
    text = "My name is Alice. I live in Lisbon. My favourite food is grilled sardines. I like swimming."
    await visitor.ok("POST", "/ns/profiled/document", {"content": text, "dreaming": "instant"})
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in("#/ns/profiled/profile")
    await visitor.wait_for_text("User lives in Lisbon")
    await visitor.press("Add a bucket")
    await visitor.enter("Name", "food")
    await visitor.enter("Description", "Favourite food, dishes, what somebody likes to eat")
    await visitor.press("Save")
    await visitor.wait_for_text("The bucket food is saved.")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    buckets = (await visitor.ok("GET", "/ns/profiled/profile/buckets"))["buckets"]
    assert buckets["food"].startswith("Favourite food")
    await visitor.press("Change food")
    await visitor.press("Remove this bucket")
    await visitor.press("Remove", "dialog")
    await visitor.wait_for_text("The bucket food is removed.")


async def test_a_profile_is_read_as_it_was(visitor: ConsoleUser) -> None:
    moments = []
    for day, place in ((1, "Lisbon"), (2, "Porto")):
        text = f"My name is Alice. I live in {place}."
        body = {"content": text, "date": f"2026-03-0{day}", "dreaming": "instant"}
        await visitor.ok("POST", "/ns/then/document", body)
        await visitor.service.wait_until_idle()
        moments.append(datetime.now(UTC).isoformat().replace("+00:00", "Z"))
    await visitor.open_signed_in("#/ns/then/profile")
    await visitor.wait_for_text("User lives in Porto")
    await visitor.navigate(f"#/ns/then/profile?at={moments[0]}")
    await visitor.wait_for_text("User lives in Lisbon")
    assert (await visitor.text(".state.past")).startswith("As of ")
    assert "Porto" not in await visitor.browser.inner_text("main")
    assert not await visitor.browser.execute("return document.querySelector('main .danger')")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.enter("As of", "")
    await visitor.press("Show")
    await visitor.wait_for_text("User lives in Porto")
    await visitor.navigate(f'#/ns/then/search?q=Where does Alice live?&o={{"asOf":"{moments[0]}"}}')
    assert (await visitor.text(".state.past")).startswith("As of ")
    assert "Porto" not in await visitor.browser.inner_text("main")


async def test_what_the_organization_says_holds_in_every_namespace(visitor: ConsoleUser) -> None:
    await visitor.ok("POST", "/ns/ruled/document", {"content": "A text."})
    await visitor.open_signed_in("#/organization")
    await visitor.enter("Context", "We look after harbours.")
    await visitor.press("Save")
    await visitor.wait_for_text("The context is saved.")
    await visitor.press("Add a bucket")
    await visitor.enter("Name", "ships")
    await visitor.enter("Description", "Ships, boats and their crews")
    await visitor.click(".panel button[type=submit]")
    await visitor.wait_for_text("The bucket ships is saved.")
    await visitor.press("Change ships")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.navigate("#/ns/ruled/settings")
    await visitor.wait_for_text("We look after harbours.")
    await visitor.navigate("#/ns/ruled/profile")
    await visitor.wait_for_text("Ships, boats and their crews")
    await visitor.wait_for_text("Defined for all namespaces")
    assert await visitor.accessibility_violations() == []
    await visitor.press("the organization's")
    await visitor.press("Change ships")
    await visitor.press("Remove this bucket")
    await visitor.press("Remove", "dialog")
    await visitor.wait_for_text("The bucket ships is removed.")
    await visitor.enter("Context", "")
    await visitor.press("Save")
    await visitor.wait_for_text("The context is saved.")
    assert (await visitor.ok("GET", "/organization"))["organizationalContext"] is None
    assert (await visitor.ok("GET", "/admin/buckets"))["buckets"] == {}


async def test_a_context_is_kept_and_a_namespace_ends_when_one_is_sure(visitor: ConsoleUser) -> None:
    await visitor.ok("POST", "/ns/ending/document", {"content": "A text."})
    await visitor.open_signed_in("#/ns/ending/settings")
    await visitor.enter("Context", "Notes of a harbour master.")
    await visitor.press("Save")
    await visitor.wait_for_text("The context is saved.")
    assert await visitor.accessibility_violations() == []
    assert (await visitor.ok("GET", "/ns/ending"))["supportingContext"] == "Notes of a harbour master."
    await visitor.press("Delete this namespace")
    await visitor.press("Delete everything", "dialog")
    await visitor.wait_for_text("ending was deleted, with 1 document.")
    await visitor.service.client.fails(404, "GET", "/ns/ending")
