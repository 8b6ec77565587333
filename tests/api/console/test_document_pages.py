"""Documents and memories in a real Chromium: adding, reading, walking, forgetting."""

from pathlib import Path

import pytest

from tests.support.chromium import needs_chromium
from tests.support.console_user import NARROW, WIDE, ConsoleUser
from tests.support.file_samples import xlsx

pytestmark = [pytest.mark.anyio, needs_chromium]
_DROP = """
const files = new DataTransfer();
files.items.add(new File([arguments[0]], arguments[1], { type: "text/markdown" }));
document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true }));
"""


async def test_a_text_a_file_and_a_dropped_file_are_added(visitor: ConsoleUser, tmp_path: Path) -> None:
    await visitor.open_signed_in("#/ns/shelf/documents")
    await visitor.wait_for_text("There are no documents here yet")
    assert await visitor.accessibility_violations() == []
    await visitor.enter("Text or URL", "The kettle is blue.")
    await visitor.enter("Id (optional)", "kettle")
    await visitor.press("Add")
    await visitor.wait_for_text("1 document")
    page = tmp_path / "bees.md"
    page.write_text("# Bees\n\nThe bees returned to the orchard in April.\n")
    await visitor.choose_file("input[type=file]", page)
    await visitor.browser.execute(_DROP, "# Owls\n\nThe owls came back in May.\n", "owls.md")
    await visitor.wait_for_text("3 documents")
    await visitor.browser.wait_until("return document.querySelectorAll('td .badge.good').length === 3")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0


async def test_a_file_is_chosen_again_and_one_dropped_beside_its_place_opens_nothing(
    visitor: ConsoleUser, tmp_path: Path
) -> None:
    page = tmp_path / "bees.md"
    page.write_text("# Bees")
    await visitor.open_signed_in("#/ns/again/documents")
    for _ in range(2):
        await visitor.choose_file("input[type=file]", page)
        assert await visitor.browser.execute("return document.querySelector('input[type=file]').value") == ""
    await visitor.wait_for_text("1 document")
    await visitor.browser.execute(
        "window.dropped = null; addEventListener('drop', (event) => (window.dropped = event))"
    )
    await visitor.browser.execute(
        _DROP.replace('".drop"', '"h1"').replace("bubbles: true", "bubbles: true, cancelable: true"), "x", "x.md"
    )
    assert await visitor.browser.execute("return window.dropped.defaultPrevented")


async def test_a_file_that_cannot_be_read_says_why(visitor: ConsoleUser, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 and nothing more")
    await visitor.open_signed_in("#/ns/broken/documents")
    await visitor.choose_file("input[type=file]", broken)
    await visitor.browser.wait_until("return document.querySelector('td .badge.bad')")
    assert await visitor.browser.inner_text("td .trouble")
    await visitor.press("broken.pdf")
    await visitor.wait_for_text("failed")
    await visitor.press("Delete this document")
    await visitor.press("Delete", "dialog")
    await visitor.wait_for_text("The document is deleted.")
    await visitor.wait_for_text("There are no documents here yet")


_MAIL = b"""From: Karim <karim@example.org>
To: Alice <alice@example.org>
Date: Thu, 5 Mar 2026 10:12:00 +0200
Subject: =?utf-8?b?2KfZhNmF2YrZhtin2KE=?= / Harbour
Content-Type: text/html; charset=utf-8

<h3>Harbour meeting</h3><p>I moved to Beirut. <a href="javascript:alert(1)">click here</a></p>
<table><tr><th>Day</th><th>Place</th></tr><tr><td>Monday</td><td>Pier 4</td></tr></table>
<img src=x onerror="document.title='taken over'">
"""


async def _upload(visitor: ConsoleUser, name: str, content: bytes, kind: str) -> str:
    """Return the id of the document, once it is read."""
    answer = await visitor.service.client.ok("POST", "/ns/odd/document/file", files={"file": (name, content, kind)})
    await visitor.service.wait_until_idle()
    document: str = answer["id"]
    return document


async def test_a_mail_with_markup_is_shown_as_text_with_its_tables(visitor: ConsoleUser) -> None:
    mail = await _upload(visitor, "mail.eml", _MAIL, "message/rfc822")
    await visitor.open_signed_in(f"#/ns/odd/documents/{mail}")
    await visitor.browser.set_viewport(*NARROW)
    await visitor.wait_for_text("Place")
    text = await visitor.text(".document")
    assert "click here" in text
    assert "javascript" not in text
    assert await visitor.browser.execute("return document.title") != "taken over"
    await visitor.browser.set_viewport(*WIDE)
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0


async def test_a_spreadsheet_in_two_scripts_keeps_its_rows(visitor: ConsoleUser) -> None:
    rows = [["Item", "Euro"], ["Boat", "1200"], ["\u0627\u0644\u0642\u0627\u0631\u0628", "\u0665\u0660\u0660"]]
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    sheet = await _upload(visitor, "budget.xlsx", xlsx(rows), kind)
    await visitor.open_signed_in(f"#/ns/odd/documents/{sheet}")
    await visitor.wait_for_text("1200")
    assert await visitor.browser.execute("return document.querySelectorAll('.document tr').length") == len(rows)
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0


async def test_chosen_documents_are_deleted_after_a_question(visitor: ConsoleUser) -> None:
    for name in ("one", "two", "three"):
        await visitor.ok("POST", "/ns/chosen/document", {"content": f"This is {name}.", "id": name})
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in("#/ns/chosen/documents")
    for name in ("one", "two"):
        await visitor.click(f"#choose-{name}")
    await visitor.press("Delete selected")
    await visitor.browser.press("enter")
    assert (await visitor.ok("POST", "/ns/chosen/list/documents", {}))["pagination"]["totalItems"] == 3
    await visitor.press("Delete selected")
    await visitor.press("Delete", "dialog")
    await visitor.wait_for_text("2 documents deleted.")
    await visitor.wait_for_text("1 document")


async def test_a_list_that_changes_keeps_the_focus(visitor: ConsoleUser) -> None:
    await visitor.ok("POST", "/ns/growing/document", {"content": "The kettle is blue."})
    await visitor.open_signed_in("#/ns/growing/documents")
    await visitor.focus("tbody a")
    await visitor.ok("POST", "/ns/growing/document", {"content": "The pot is red."})
    await visitor.wait_for_text("2 documents")
    assert await visitor.focused() == "The kettle is blue."


async def test_a_text_that_somebody_else_changed_is_not_replaced_unseen(visitor: ConsoleUser) -> None:
    await visitor.ok("POST", "/ns/shared/document", {"content": "The kettle is blue.", "id": "kettle"})
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in("#/ns/shared/documents/kettle")
    await visitor.press("Change this document")
    await visitor.enter("Text", "The kettle is red.")
    await visitor.ok("PATCH", "/ns/shared/document/kettle", {"content": "The kettle is green."})
    await visitor.press("Save")
    await visitor.wait_for_text("Somebody changed the text meanwhile.")
    assert (await visitor.ok("GET", "/ns/shared/document/kettle"))["content"] == "The kettle is green."
    await visitor.press("Save")
    await visitor.wait_for_text("The document is changed.")
    assert (await visitor.ok("GET", "/ns/shared/document/kettle"))["content"] == "The kettle is red."


async def test_a_document_is_changed(visitor: ConsoleUser, tmp_path: Path) -> None:
    metadata = {"kind": "note", "pages": 3, "tags": ["blue"], "code": "007"}
    body = {"content": "The kettle is blue.", "id": "kettle", "metadata": metadata}
    await visitor.ok("POST", "/ns/changed/document", body)
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in("#/ns/changed/documents/kettle")
    await visitor.press("Events in the log")
    await visitor.wait_for_text("documents.submitted.v1/")
    await visitor.press("Change this document")
    await visitor.enter("Text", "The kettle is red.")
    await visitor.press("Add a field")
    await visitor.browser.press("colours", "tab", '["red", "white"]')
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.press("Save")
    await visitor.wait_for_text("The document is changed.")
    await visitor.wait_for_text("colours: red, white")
    await visitor.service.wait_until_idle()
    changed = await visitor.ok("GET", "/ns/changed/document/kettle")
    assert changed["content"] == "The kettle is red."
    assert changed["metadata"] == {**metadata, "colours": ["red", "white"]}
    page = tmp_path / "kettle.md"
    page.write_text("The kettle is gone.\n")
    await visitor.press("Change this document")
    await visitor.choose_file("#change input[type=file]", page)
    await visitor.press("Replace the text")
    await visitor.wait_for_text("The document text was replaced by the file.")
    await visitor.wait_for_text("The kettle is gone.")
    await visitor.wait_for_text("colours: red, white")


async def test_what_is_added_is_added_with_metadata(visitor: ConsoleUser) -> None:
    await visitor.open_signed_in("#/ns/described/documents")
    await visitor.enter("Text or URL", "The kettle is blue.")
    await visitor.press("Metadata, date and context")
    await visitor.press("Add a field")
    await visitor.browser.press("kind", "tab", "note")
    await visitor.press("Add")
    await visitor.wait_for_text("1 document")
    await visitor.browser.execute(_DROP, "# Owls\n\nThe owls came back in May.\n", "owls.md")
    await visitor.wait_for_text("2 documents")
    assert await visitor.accessibility_violations() == []
    rows = (await visitor.ok("POST", "/ns/described/list/documents", {}))["documents"]
    assert [row["metadata"] for row in rows] == [{"kind": "note"}] * 2


async def test_a_key_that_reads_sees_nothing_to_write_with(visitor: ConsoleUser) -> None:
    await visitor.ok("POST", "/ns/readable/document", {"content": "A text.", "id": "text"})
    await visitor.service.wait_until_idle()
    body = {"name": "reader", "role": "read", "namespaces": ["readable"]}
    await visitor.sign_in((await visitor.ok("POST", "/admin/keys", body))["key"])
    await visitor.wait_for_text("reader · read")
    for address in ("documents", "documents/text", "memories", "profile", "connectors", "settings"):
        await visitor.navigate(f"#/ns/readable/{address}")
        await visitor.wait_until_loaded()
        written = "main .danger, main .primary, main .prose, main .adding, main input[type=file]"
        assert await visitor.browser.execute(f"return document.querySelector('{written}')") is None
    for address in ("keys", "organization", "pipeline"):
        await visitor.navigate(f"#/{address}")
        await visitor.wait_for_text("This needs an admin key")
    await visitor.navigate("#/ns/another/documents")
    await visitor.wait_for_text("The key does not open this namespace")


async def test_versions_are_walked_and_one_is_forgotten(visitor: ConsoleUser) -> None:
    for day, place in ((1, "Lisbon"), (2, "Porto")):
        text = f"My name is Alice. I live in {place}."
        body = {"content": text, "date": f"2026-03-0{day}", "dreaming": "instant"}
        await visitor.ok("POST", "/ns/walk/document", body)
        await visitor.service.wait_until_idle()
    await visitor.open_signed_in("#/ns/walk/memories")
    await visitor.press("User lives in Porto")
    await visitor.wait_for_text("Earlier versions")
    await visitor.browser.wait_until("return document.querySelector('.lines path')")
    await visitor.wait_for_text("I live in Porto.")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.click("a.node")
    await visitor.wait_for_text("No earlier versions.")
    assert "User lives in Lisbon" in await visitor.browser.inner_text(".node.centre")
    assert await visitor.browser.execute("return document.activeElement.tagName") == "H1"
    await visitor.navigate("#/ns/walk/memories")
    await visitor.press("Forget by description")
    await visitor.enter("What to forget", "lives in Porto")
    await visitor.press("Preview")
    await visitor.press("Forget", "dialog")
    await visitor.wait_for_text("Forgotten: ")
    await visitor.browser.wait_until("return !document.querySelector('main').innerText.includes('Porto')")
    await visitor.press("Filter")
    await visitor.select("State", "All")
    await visitor.wait_for_text("forgotten")
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
    await visitor.navigate('#/ns/walk/search?q=lives in Porto&o={"searchMode":"memories"}')
    await visitor.wait_for_text("Nothing found")
    await visitor.press("Include forgotten and expired memories")
    await visitor.press("Search", "main")
    await visitor.wait_for_text("1 result in")
    assert "Forgotten" in await visitor.browser.inner_text(".result header")


async def test_the_original_is_saved_as_it_was_uploaded(visitor: ConsoleUser) -> None:
    page = b"<html><title>Tides</title><p>High water is at noon.</p></html>"
    files = {"file": ("tides.html", page, "text/html")}
    added = await visitor.service.client.ok("POST", "/ns/kept/document/file", files=files)
    await visitor.service.wait_until_idle()
    await visitor.open_signed_in(f"#/ns/kept/documents/{added['id']}")
    await visitor.browser.execute(
        "const make = URL.createObjectURL; URL.createObjectURL = (b) => { window.saved = b.size; return make(b); }"
    )
    await visitor.press("Download the original")
    await visitor.browser.wait_until(f"return window.saved === {len(page)}")
    assert await visitor.horizontal_overflow() == 0
