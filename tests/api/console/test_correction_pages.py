"""Correcting memories, deciding about updates, and the sentence of a memory on its page, in a real Chromium."""

import pytest

from tests.support.chromium import needs_chromium
from tests.support.console_user import ConsoleUser
from tests.support.pdf_writer import write_pdf

pytestmark = [pytest.mark.anyio, needs_chromium]
_CURRENT = "/ns/{}/list/memories"


async def _add(visitor: ConsoleUser, namespace: str, text: str, date: str) -> None:
    body = {"content": text, "date": date, "dreaming": "instant"}
    await visitor.ok("POST", f"/ns/{namespace}/document", body)
    await visitor.service.wait_until_idle()


async def _current(visitor: ConsoleUser, namespace: str) -> list[str]:
    await visitor.service.wait_until_idle()
    return [row["memory"] for row in (await visitor.ok("POST", _CURRENT.format(namespace), {}))["memories"]]


async def test_a_memory_is_edited_and_that_is_taken_back(visitor: ConsoleUser) -> None:
    await _add(visitor, "corrected", "I live in Lisbon.", "2026-03-02")
    await visitor.open_signed_in("#/ns/corrected/memories")
    await visitor.press("User lives in Lisbon")
    await visitor.press("Edit")
    await visitor.enter("Memory", "User lives in Faro", "dialog")
    assert await visitor.accessibility_violations() == []
    await visitor.browser.set_offline(offline=True)
    try:
        await visitor.press("Save", "dialog")
        await visitor.wait_for_text("The service can't be reached.")
    finally:
        await visitor.browser.set_offline(offline=False)
    await visitor.press("Save", "dialog")
    await visitor.wait_for_text("Memory changed.")
    await visitor.wait_for_text("Corrected by hand, or by an application")
    assert await _current(visitor, "corrected") == ["User lives in Faro"]
    await visitor.press("Undo")
    await visitor.wait_for_text("Taken back.")
    await visitor.wait_for_text("No earlier versions.")
    assert await visitor.text("h1") == "User lives in Lisbon"
    assert await _current(visitor, "corrected") == ["User lives in Lisbon"]


async def test_who_uses_the_keyboard_stays_where_they_were_and_reaches_undo(visitor: ConsoleUser) -> None:
    await _add(visitor, "keyboard", "I play the cello. I am allergic to nuts.", "2026-03-02")
    await visitor.open_signed_in("#/ns/keyboard/memories")
    await visitor.click("[aria-label='Correct User plays the cello']")
    await visitor.focus("[aria-label='Confirm: User plays the cello']")
    await visitor.browser.press("enter")
    await visitor.wait_for_text("Memory confirmed.")
    await visitor.wait_until_loaded()
    assert await visitor.focused() == "Confirm: User plays the cello"
    await visitor.focus("[aria-label='Forget: User plays the cello']")
    await visitor.browser.press("enter")
    await visitor.wait_for_text("Memory forgotten.")
    await visitor.wait_for_text("1 memory")
    assert await visitor.focused() == "Memories"
    for expected in ("keyboard", "Undo"):  # the namespace above the heading, then the message
        await visitor.browser.press_with_shift("tab")
        assert await visitor.focused() == expected
    await visitor.browser.press("enter")
    await visitor.wait_for_text("2 memories")
    assert await visitor.focused() == "Memories"


async def test_a_memory_is_forgotten_with_its_sentence(visitor: ConsoleUser) -> None:
    await _add(visitor, "redacted", "I live in Lisbon. I am allergic to nuts.", "2026-03-02")
    await visitor.open_signed_in("#/ns/redacted/memories")
    await visitor.press("User is allergic to nuts")
    await visitor.press("Take its sentence out")
    await visitor.wait_for_text("I am allergic to nuts.")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.press("Forget and take the sentences out", "dialog")
    await visitor.wait_for_text("Forgotten: 1, with their sentences.")
    await visitor.wait_for_text("1 memory")
    assert await _current(visitor, "redacted") == ["User lives in Lisbon"]
    found = await visitor.ok("POST", "/ns/redacted/search", {"query": "allergic to nuts", "searchMode": "chunks"})
    assert "nuts" not in str(found["results"])


async def test_an_update_is_declined_beside_both_sources(visitor: ConsoleUser) -> None:
    await _add(visitor, "reviewed", "I live in Lisbon.", "2026-03-02")
    await _add(visitor, "reviewed", "I now live in Porto.", "2026-06-20")
    await visitor.open_signed_in("#/ns/reviewed/review")
    await visitor.wait_for_text("I live in Lisbon.")
    await visitor.wait_for_text("I now live in Porto.")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.press("Keep the old one")
    await visitor.wait_for_text("Nothing to review")
    assert await _current(visitor, "reviewed") == ["User lives in Lisbon"]


async def test_the_sentence_of_a_memory_is_marked_on_its_page_of_a_pdf(visitor: ConsoleUser) -> None:
    pages = ["Nothing of note.", "Depth 4 m, sand.\nMarta Lindqvist lives in Tromso.\nDepth 9 m, rock."]
    files = {"file": ("survey.pdf", write_pdf(pages), "application/pdf")}
    await visitor.service.client.ok("POST", "/ns/paged/document/file", files=files, data={"dreaming": "instant"})
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in("#/ns/paged/memories")
    await visitor.press("Marta Lindqvist lives in Tromso")
    await visitor.press("survey.pdf", "main")
    await visitor.browser.wait_until("return document.querySelector('.page:has(.mark) img')")
    assert await visitor.browser.execute("return document.querySelector('.page:has(.mark)').dataset.page") == "2"
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.press("Text")
    await visitor.wait_for_text("Depth 9 m, rock.")
    assert "Tromso" in await visitor.text(".document mark")


async def test_memories_are_filtered_by_state_and_time(visitor: ConsoleUser) -> None:
    await _add(visitor, "sifted", "I live in Lisbon.", "2026-03-02")
    await _add(visitor, "sifted", "I now live in Porto.", "2026-06-20")
    await visitor.open_signed_in("#/ns/sifted/memories?state=replaced")
    await visitor.wait_for_text("User lives in Lisbon")
    assert "Porto" not in await visitor.browser.inner_text("tbody")
    assert await visitor.accessibility_violations() == []
    await visitor.select("State", "Forgotten or ended")
    await visitor.wait_for_text("No memory matches the filter.")
    path = "/ns/sifted/explain/memories?since=2999-01-01T00:00:00Z"
    assert (await visitor.ok("GET", path))["memories"] == []


async def test_a_memory_in_arabic_runs_from_the_right_although_its_subject_is_in_english(visitor: ConsoleUser) -> None:
    sentence = (
        "\u0627\u0646\u062a\u0642\u0644\u062a \u0625\u0644\u0649 \u0628\u064a\u0631\u0648\u062a \u0645\u0639 Siemens."
    )
    await _add(visitor, "beirut", sentence, "2026-03-02")
    await _add(visitor, "beirut", "I live in Lisbon.", "2026-03-03")
    await visitor.open_signed_in("#/ns/beirut/memories")
    await visitor.wait_for_text("User: ")
    links = """document.querySelectorAll("main a[href*='/memories/']")"""
    directions = f"return [...{links}].map((one) => getComputedStyle(one).direction)"
    assert await visitor.browser.execute(directions) == ["ltr", "rtl"]
    await visitor.navigate('#/ns/beirut/search?q=\u0628\u064a\u0631\u0648\u062a&o={"searchMode":"memories"}')
    await visitor.wait_for_text("User: ")
    script = "return getComputedStyle(document.querySelector('.result .text:has(mark)')).direction"
    assert await visitor.browser.execute(script) == "rtl"
