"""The page of standing questions: ask, test, see why deliveries fail, pause and delete, in a real Chromium."""

import pytest

from tests.support.chromium import needs_chromium
from tests.support.console_user import ConsoleUser
from tests.support.webhook_receiver import webhook_receiver

pytestmark = [pytest.mark.anyio, needs_chromium]


async def test_a_question_is_asked_tried_paused_and_deleted(visitor: ConsoleUser) -> None:
    async with webhook_receiver() as receiver:
        await visitor.open_signed_in("#/ns/watched/questions")
        await visitor.wait_for_text("No standing questions")
        await visitor.press("Ask a question")
        await visitor.enter("Question", "Where does she live?")
        await visitor.enter("Receiver", receiver.url)
        await visitor.press("Ask", "form")
        await visitor.wait_for_text("Keep this secret")
        assert (await visitor.text("dialog .secret")).startswith("whsec_")
        await visitor.browser.set_permission("clipboard-write", "denied")
        await visitor.press("Copy", "dialog")
        await visitor.wait_for_text("Not allowed by the browser: select it instead.")
        await visitor.browser.set_permission("clipboard-write", "granted")
        await visitor.press("Copy", "dialog")
        await visitor.wait_for_text("Copied.")
        assert await visitor.accessibility_violations() == []
        await visitor.press("Done", "dialog")
        await visitor.wait_for_text("1 standing question")
        assert await visitor.accessibility_violations() == []
        assert await visitor.horizontal_overflow() == 0
        await visitor.press("Test")
        await visitor.wait_for_text("The receiver took the test.")
        receiver.mood = "refuses"
        await visitor.press("Test")
        await visitor.wait_for_text("The receiver answered 500.")
        await visitor.press("Pause")
        await visitor.press("Resume")
        await visitor.press("Delete")
        await visitor.press("Delete", "dialog")
        await visitor.wait_for_text("No standing questions")
        assert [body["type"] for body in receiver.received] == ["question.test"]
