"""Adding something and watching it on its way, in a real Chromium."""

import pytest

from tests.support.chromium import needs_chromium
from tests.support.console_user import NARROW, WIDE, ConsoleUser

pytestmark = [pytest.mark.anyio, needs_chromium]


async def test_what_is_added_is_followed_to_its_memories(visitor: ConsoleUser) -> None:
    await visitor.open_signed_in("#/ns/watched/documents")
    await visitor.enter("Text or URL", "I live in Lisbon. My sister is called Inês.")
    await visitor.select("Extract memories", "At once")
    await visitor.press("Add", "main")
    reached = "return [...document.querySelectorAll('.steps .good')].map((one) => one.innerText).join()"
    await visitor.browser.wait_until(f"return (() => {{ {reached} }})() === 'Queued,Read,Searchable,2 memories'")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.browser.set_viewport(*NARROW)
    await visitor.browser.set_viewport(*WIDE)


async def test_a_failure_is_told_where_it_was_added(visitor: ConsoleUser) -> None:
    await visitor.open_signed_in("#/ns/watched-failure/documents")
    await visitor.enter("Text or URL", "http://127.0.0.1:1/nothing")
    await visitor.press("Add", "main")
    await visitor.browser.wait_until("return document.querySelector('.steps .bad')")
    await visitor.ok("DELETE", "/ns/watched-failure")  # pages of other tests show what needs attention
