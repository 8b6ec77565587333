"""Signing in, namespaces and search, in a real Chromium."""

import pytest

from tests.api.console.visitor import Visitor
from tests.browser import needs_chromium

pytestmark = [pytest.mark.anyio, needs_chromium]
TEXT = "The lighthouse keeper collects blue glass bottles. He has never been to sea. Every bottle has a name."


@pytest.fixture
async def lighthouse(visitor: Visitor) -> str:
    """A namespace with a document."""
    body = {"content": TEXT, "id": "keeper", "metadata": {"kind": "note"}, "dreaming": "instant"}
    await visitor.ok("POST", "/ns/lighthouse/document", body)
    await visitor.world.settled()
    return "lighthouse"


async def test_a_wrong_key_is_told_and_a_right_one_opens(visitor: Visitor, lighthouse: str) -> None:
    await visitor.browser.open(f"{visitor.url}/console")
    await visitor.enter("API key", "rk_wrong")
    await visitor.press("Sign in")
    await visitor.sees("The API key is not valid")
    await visitor.sign_in()
    await visitor.sees(lighthouse)
    await visitor.press("Sign out")
    await visitor.sees("Sign in with an API key")
    assert await visitor.browser.run("return sessionStorage.length") == 0


async def test_a_question_is_answered_and_leads_to_its_source(visitor: Visitor, lighthouse: str) -> None:
    await visitor.sign_in()
    await visitor.press(lighthouse)
    await visitor.sees("Ask in your own words")
    await visitor.press("Options")
    await visitor.select("Find", "Passages only")
    await visitor.enter("Question", "Who collects bottles?")
    await visitor.browser.press("enter")
    await visitor.sees("1 result in")
    marked = await visitor.browser.run(
        "return [...document.querySelectorAll('.result mark')].map((one) => one.innerText)"
    )
    assert "collects" in marked
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.browser.click(".result footer a")
    await visitor.sees("What is remembered of it")
    assert await visitor.browser.text(".document mark") == TEXT
    assert await visitor.audit() == []
