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
    await visitor.sign_in()
    await visitor.press("Sign out")
    await visitor.browser.open(f"{visitor.url}/console")
    await visitor.enter("API key", "rk_wrong")
    await visitor.press("Sign in")
    await visitor.sees("The API key is not valid")
    await visitor.sign_in()
    await visitor.sees(lighthouse)
    await visitor.browser.until("return document.querySelector('.spark')")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
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
    await visitor.click(".why summary")
    await visitor.sees("words of the question stand in it")
    await visitor.sees("On the scale of this service")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.click(".result footer a")
    await visitor.sees("What is remembered of it")
    assert await visitor.browser.text(".document mark") == TEXT
    assert await visitor.audit() == []


async def test_a_memory_leads_to_the_words_that_say_it(visitor: Visitor) -> None:
    text = "🌊🌊 The sea is wide. My name is Ada. I live in Rome now. Ships pass by."
    await visitor.ok("POST", "/ns/words/document", {"content": text, "id": "sea", "dreaming": "instant"})
    await visitor.world.settled()
    await visitor.arrive('#/ns/words/search?q=lives in Rome&o={"searchMode":"memories","limit":1}')
    await visitor.sees("1 result in")
    await visitor.click(".result footer a")
    await visitor.browser.until("return document.querySelector('.document mark')")
    assert await visitor.browser.text(".document mark") == "I live in Rome now."


async def test_a_filter_is_chosen_and_a_broken_one_is_told(visitor: Visitor) -> None:
    for kind in ("note", "mail"):
        body = {"content": f"The harbour is closed, says the {kind}.", "metadata": {"kind": kind}}
        await visitor.ok("POST", "/ns/filtered/document", body)
    await visitor.world.settled()
    await visitor.arrive("#/ns/filtered/search")
    await visitor.enter("Question", "harbour")
    await visitor.press("Options")
    await visitor.press("Add a condition")
    await visitor.enter("Field", "kind")
    await visitor.enter("Value", "MAIL")
    await visitor.press("Upper and lower case alike")
    await visitor.press("Search", "main")
    await visitor.sees("results in")
    kinds = "return [...document.querySelectorAll('.chips li')].map((one) => one.innerText)"
    assert set(await visitor.browser.run(kinds)) == {"kind: mail"}
    assert await visitor.audit() == []
    await visitor.press("Write it as JSON")
    await visitor.enter("Filter expression", "{")
    await visitor.press("Search", "main")
    await visitor.sees("The filter is not JSON")


async def test_a_keyboard_is_enough(visitor: Visitor, lighthouse: str) -> None:
    await visitor.arrive(f"#/ns/{lighthouse}/search")
    await visitor.browser.press("g", "d")
    await visitor.sees("1 document")
    await visitor.browser.press("g", "s")
    await visitor.sees("Ask in your own words")
    await visitor.browser.press("/")
    await visitor.browser.press("bottles", "enter")
    await visitor.sees("collects blue glass")
    await visitor.browser.run("document.activeElement.blur()")
    await visitor.browser.press("?")
    await visitor.sees("Keyboard shortcuts")
    assert await visitor.audit() == []
    await visitor.press("Use these shortcuts", "dialog")
    await visitor.browser.press("escape")
    await visitor.browser.press("g", "n")
    assert await visitor.browser.text("h1") == "Search"


async def test_the_scheme_is_the_systems_until_one_is_chosen(visitor: Visitor) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    await visitor.sign_in()
    await visitor.browser.prefer("dark")
    dark = await visitor.browser.run(ground)
    await visitor.select("Theme", "Light")
    assert await visitor.browser.run(ground) != dark
    await visitor.browser.open(visitor.url + "/console/?again")
    await visitor.loaded()
    assert await visitor.browser.run(ground) != dark
    await visitor.select("Theme", "System")
    assert await visitor.browser.run(ground) == dark
    await visitor.browser.prefer("light")
