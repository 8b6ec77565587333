"""Signing in, namespaces and search, in a real Chromium."""

import pytest

from tests.support.chromium import needs_chromium
from tests.support.console_user import ConsoleUser

pytestmark = [pytest.mark.anyio, needs_chromium]
TEXT = "The lighthouse keeper collects blue glass bottles. He has never been to sea. Every bottle has a name."


@pytest.fixture
async def lighthouse(visitor: ConsoleUser) -> str:
    """A namespace with a document."""
    body = {"content": TEXT, "id": "keeper", "metadata": {"kind": "note"}, "dreaming": "instant"}
    await visitor.ok("POST", "/ns/lighthouse/document", body)
    await visitor.service.wait_until_idle()
    return "lighthouse"


async def test_a_wrong_key_is_told_and_a_right_one_opens(visitor: ConsoleUser, lighthouse: str) -> None:
    await visitor.sign_in()
    await visitor.press("Sign out")
    await visitor.browser.open(f"{visitor.url}/console")
    await visitor.enter("API key", "rk_wrong")
    await visitor.press("Sign in")
    await visitor.wait_for_text("The API key is not valid")
    await visitor.sign_in()
    await visitor.wait_for_text(lighthouse)
    await visitor.browser.wait_until("return document.querySelector('.spark')")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.press("Sign out")
    await visitor.wait_for_text("Sign in with an API key")
    assert await visitor.browser.execute("return sessionStorage.length") == 0


async def test_a_question_is_answered_and_leads_to_its_source(visitor: ConsoleUser, lighthouse: str) -> None:
    await visitor.sign_in()
    await visitor.press("Namespaces")
    await visitor.press(lighthouse)
    await visitor.wait_for_text("Results are ranked by similarity")
    await visitor.press("Options")
    await visitor.select("Search in", "Passages only")
    await visitor.enter("Question", "Who collects bottles?")
    await visitor.browser.press("enter")
    await visitor.wait_for_text("1 result in")
    marked = await visitor.browser.execute(
        "return [...document.querySelectorAll('.result mark')].map((one) => one.innerText)"
    )
    assert "collects" in marked
    await visitor.click(".why summary")
    await visitor.wait_for_text("words of the question stand in it")
    await visitor.wait_for_text("Scaled with midpoint")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.click(".result footer a")
    assert await visitor.text(".document mark") == TEXT
    assert await visitor.accessibility_violations() == []


async def test_a_memory_leads_to_the_words_that_say_it(visitor: ConsoleUser) -> None:
    text = "🌊🌊 The sea is wide. My name is Ada. I live in Rome now. Ships pass by."
    await visitor.ok("POST", "/ns/words/document", {"content": text, "id": "sea", "dreaming": "instant"})
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in('#/ns/words/search?q=lives in Rome&o={"searchMode":"memories","limit":1}')
    await visitor.wait_for_text("1 result in")
    await visitor.click(".result footer a")
    await visitor.browser.wait_until("return document.querySelector('.document mark')")
    assert await visitor.browser.inner_text(".document mark") == "I live in Rome now."


async def test_a_filter_is_chosen_and_a_broken_one_is_told(visitor: ConsoleUser) -> None:
    for kind in ("note", "mail"):
        body = {"content": f"The harbour is closed, says the {kind}.", "metadata": {"kind": kind}}
        await visitor.ok("POST", "/ns/filtered/document", body)
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in("#/ns/filtered/search")
    await visitor.enter("Question", "harbour")
    await visitor.press("Options")
    await visitor.press("Add a condition")
    await visitor.enter("Field", "kind")
    await visitor.enter("Value", "MAIL")
    await visitor.press("Ignore case")
    await visitor.press("Search", "main")
    await visitor.wait_for_text("1 result in")
    kinds = "return [...document.querySelectorAll('.chips li')].map((one) => one.innerText)"
    assert set(await visitor.browser.execute(kinds)) == {"kind: mail"}
    assert await visitor.accessibility_violations() == []
    await visitor.press("Edit as JSON")
    await visitor.enter("Filter expression", "{")
    await visitor.press("Search", "main")
    await visitor.wait_for_text("The filter is not JSON")


async def test_a_keyboard_is_enough(visitor: ConsoleUser, lighthouse: str) -> None:
    await visitor.open_signed_in(f"#/ns/{lighthouse}/search")
    await visitor.browser.press("g", "d")
    await visitor.wait_for_text("1 document")
    await visitor.browser.press("g", "s")
    await visitor.wait_for_text("Results are ranked by similarity")
    await visitor.browser.press("/")
    await visitor.browser.press("bottles", "enter")
    await visitor.wait_for_text("collects blue glass")
    await visitor.browser.execute("document.activeElement.blur()")
    await visitor.browser.press("?")
    await visitor.wait_for_text("Keyboard shortcuts")
    assert await visitor.accessibility_violations() == []
    await visitor.press("Use these shortcuts", "dialog")
    await visitor.browser.press("escape")
    await visitor.browser.press("g", "n")
    assert await visitor.browser.inner_text("h1") == "Search"


async def test_the_scheme_is_the_systems_until_one_is_chosen(visitor: ConsoleUser) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    await visitor.sign_in()
    await visitor.browser.set_color_scheme("dark")
    dark = await visitor.browser.execute(ground)
    await visitor.select("Theme", "Light")
    assert await visitor.browser.execute(ground) != dark
    await visitor.browser.open(visitor.url + "/console/?again")
    await visitor.wait_until_loaded()
    assert await visitor.browser.execute(ground) != dark
    await visitor.select("Theme", "System")
    assert await visitor.browser.execute(ground) == dark
    await visitor.browser.set_color_scheme("light")


async def test_a_missing_document_is_explained_and_settings_are_compared(visitor: ConsoleUser, lighthouse: str) -> None:
    await visitor.ok("POST", f"/ns/{lighthouse}/document", {"content": "Bread rises in a warm kitchen.", "id": "bread"})
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in(f"#/ns/{lighthouse}/search?q=Who collects the bottles?")
    await visitor.wait_for_text("results in")
    await visitor.press("Why is a document not here?")
    await visitor.browser.wait_until("return document.querySelector('datalist option')")
    title = await visitor.browser.execute("return document.querySelector('datalist').options[0].value")
    assert title != "bread"
    await visitor.enter("Document", title)
    await visitor.press("Explain")
    await visitor.browser.wait_until("return document.querySelector('.why-not h2')")
    await visitor.enter("Document", "bread")
    await visitor.press("Explain")
    await visitor.browser.wait_until("return document.querySelector('.why-not h2')")
    await visitor.press("Compare with other settings")
    await visitor.enter("Minimum similarity", "1", ".compare")
    await visitor.press("Compare")
    await visitor.wait_for_text("With these settings: 0 results")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0


async def test_only_what_the_search_matches_is_marked(visitor: ConsoleUser) -> None:
    for id_, text in (("chinese", "他在北京吃了烤鸭。"), ("english", "The end of the road.")):
        await visitor.ok("POST", "/ns/marked/document", {"content": text, "id": id_})
    await visitor.service.wait_until_idle()
    marked = "return [...document.querySelectorAll('.result mark')].map((one) => one.innerText)"
    for query, expected in (("北京烤鸭", ["北京", "烤鸭"]), ("What is the end of it?", ["end"])):
        await visitor.open_signed_in(
            f'#/ns/marked/search?q={query}&o={{"limit":1,"threshold":0,"searchMode":"chunks"}}'
        )
        await visitor.wait_for_text("1 result in")
        assert await visitor.browser.execute(marked) == expected


async def test_a_search_where_nothing_is_stored_leads_to_adding(visitor: ConsoleUser) -> None:
    await visitor.open_signed_in("#/ns/never-used/search?q=anything")
    await visitor.wait_for_text("Nothing is stored here yet")
    assert await visitor.accessibility_violations() == []
    await visitor.press("Add documents")
    await visitor.wait_for_text("There are no documents here yet")
    await visitor.open_signed_in("#/ns/never-used/settings")
    await visitor.wait_for_text("exists from its first document on")


async def test_markdown_of_a_passage_is_shown_as_links_and_tables(visitor: ConsoleUser) -> None:
    text = (
        "The **fees** rise, see [the list](https://example.org/fees).\n\n| Boat | Fee |\n| --- | --- |\n| 8 m | 96 |\n"
    )
    files = {"file": ("fees.md", text.encode(), "text/markdown")}
    await visitor.service.client.ok("POST", "/ns/fees/document/file", files=files)
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in("#/ns/fees/search?q=fees list")
    assert await visitor.text(".result .text td") == "8 m"
    assert await visitor.text(".result .text a") == "the list"
    assert await visitor.accessibility_violations() == []


async def test_the_way_back_leads_to_the_question_before(visitor: ConsoleUser, lighthouse: str) -> None:
    await visitor.open_signed_in(f"#/ns/{lighthouse}/search")
    for question in ("Who collects bottles?", "Who keeps the light?"):
        await visitor.enter("Question", question)
        await visitor.press("Search", "main")
        await visitor.wait_until_loaded()
    await visitor.browser.execute("history.back()")
    shown = "return document.querySelector('[data-find]').value === arguments[0]"
    await visitor.browser.wait_until(shown, "Who collects bottles?")
    await visitor.wait_for_text("in ")
