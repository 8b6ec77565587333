"""Documents and memories in a real Chromium: adding, reading, walking, forgetting."""

from pathlib import Path

import pytest

from tests.api.console.visitor import Visitor
from tests.browser import needs_chromium

pytestmark = [pytest.mark.anyio, needs_chromium]
_DROP = """
const files = new DataTransfer();
files.items.add(new File([arguments[0]], arguments[1], { type: "text/markdown" }));
document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true }));
"""


async def test_a_text_a_file_and_a_dropped_file_are_added(visitor: Visitor, tmp_path: Path) -> None:
    await visitor.arrive("#/ns/shelf/documents")
    await visitor.sees("There are no documents here yet")
    assert await visitor.audit() == []
    await visitor.enter("Text or URL", "The kettle is blue.")
    await visitor.enter("Id (if it has one of yours)", "kettle")
    await visitor.press("Add")
    await visitor.sees("1 document")
    page = tmp_path / "bees.md"
    page.write_text("# Bees\n\nThe bees returned to the orchard in April.\n")
    await visitor.choose_file("input[type=file]", page)
    await visitor.browser.run(_DROP, "# Owls\n\nThe owls came back in May.\n", "owls.md")
    await visitor.sees("3 documents")
    await visitor.browser.until("return document.querySelectorAll('td .badge.good').length === 3")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0


async def test_a_file_that_cannot_be_read_says_why(visitor: Visitor, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 and nothing more")
    await visitor.arrive("#/ns/broken/documents")
    await visitor.choose_file("input[type=file]", broken)
    await visitor.browser.until("return document.querySelector('td .badge.bad')")
    assert await visitor.browser.text("td .trouble")
    await visitor.press("broken.pdf")
    await visitor.sees("failed")
    await visitor.press("Delete this document")
    await visitor.press("Delete", "dialog")
    await visitor.sees("The document is deleted.")
    await visitor.sees("There are no documents here yet")


async def test_chosen_documents_are_deleted_after_a_question(visitor: Visitor) -> None:
    for name in ("one", "two", "three"):
        await visitor.ok("POST", "/ns/chosen/document", {"content": f"This is {name}.", "id": name})
    await visitor.world.settled()
    await visitor.arrive("#/ns/chosen/documents")
    for name in ("one", "two"):
        await visitor.click(f"#choose-{name}")
    await visitor.press("Delete the chosen")
    await visitor.browser.press("enter")
    assert (await visitor.ok("POST", "/ns/chosen/list/documents", {}))["pagination"]["totalItems"] == 3
    await visitor.press("Delete the chosen")
    await visitor.press("Delete", "dialog")
    await visitor.sees("2 documents deleted.")
    await visitor.sees("1 document")


async def test_a_document_is_changed(visitor: Visitor, tmp_path: Path) -> None:
    metadata = {"kind": "note", "pages": 3, "tags": ["blue"], "code": "007"}
    body = {"content": "The kettle is blue.", "id": "kettle", "metadata": metadata}
    await visitor.ok("POST", "/ns/changed/document", body)
    await visitor.world.settled()
    await visitor.arrive("#/ns/changed/documents/kettle")
    await visitor.press("Events in the log")
    await visitor.sees("documents.submitted.v1/")
    await visitor.press("Change this document")
    await visitor.enter("Text", "The kettle is red.")
    await visitor.press("Add a field")
    await visitor.browser.press("colours", "tab", '["red", "white"]')
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.press("Save")
    await visitor.sees("The document is changed.")
    await visitor.sees("colours: red, white")
    await visitor.world.settled()
    changed = await visitor.ok("GET", "/ns/changed/document/kettle")
    assert changed["content"] == "The kettle is red."
    assert changed["metadata"] == {**metadata, "colours": ["red", "white"]}
    page = tmp_path / "kettle.md"
    page.write_text("The kettle is gone.\n")
    await visitor.press("Change this document")
    await visitor.choose_file("#change input[type=file]", page)
    await visitor.press("Replace the text")
    await visitor.sees("The document is what the file says.")
    await visitor.sees("The kettle is gone.")
    await visitor.sees("colours: red, white")


async def test_what_is_added_is_added_with_metadata(visitor: Visitor) -> None:
    await visitor.arrive("#/ns/described/documents")
    await visitor.enter("Text or URL", "The kettle is blue.")
    await visitor.press("Metadata, date and context")
    await visitor.press("Add a field")
    await visitor.browser.press("kind", "tab", "note")
    await visitor.press("Add")
    await visitor.sees("1 document")
    await visitor.browser.run(_DROP, "# Owls\n\nThe owls came back in May.\n", "owls.md")
    await visitor.sees("2 documents")
    assert await visitor.audit() == []
    rows = (await visitor.ok("POST", "/ns/described/list/documents", {}))["documents"]
    assert [row["metadata"] for row in rows] == [{"kind": "note"}] * 2


async def test_a_key_that_reads_sees_nothing_to_write_with(visitor: Visitor) -> None:
    await visitor.ok("POST", "/ns/readable/document", {"content": "A text.", "id": "text"})
    await visitor.world.settled()
    body = {"name": "reader", "role": "read", "namespaces": ["readable"]}
    await visitor.sign_in((await visitor.ok("POST", "/admin/keys", body))["key"])
    await visitor.sees("reader · read")
    for address in ("documents", "documents/text", "memories", "profile", "connectors", "settings"):
        await visitor.go(f"#/ns/readable/{address}")
        await visitor.loaded()
        written = "main .danger, main .primary, main .prose, main .adding, main input[type=file]"
        assert await visitor.browser.run(f"return document.querySelector('{written}')") is None
    for address in ("keys", "organization", "pipeline"):
        await visitor.go(f"#/{address}")
        await visitor.sees("This needs an admin key")
    await visitor.go("#/ns/another/documents")
    await visitor.sees("The key does not open this namespace")


async def test_versions_are_walked_and_one_is_forgotten(visitor: Visitor) -> None:
    for day, place in ((1, "Lisbon"), (2, "Porto")):
        text = f"My name is Alice. I live in {place}."
        body = {"content": text, "date": f"2026-03-0{day}", "dreaming": "instant"}
        await visitor.ok("POST", "/ns/walk/document", body)
        await visitor.world.settled()
    await visitor.arrive("#/ns/walk/memories")
    await visitor.press("User lives in Porto")
    await visitor.sees("Earlier versions")
    await visitor.browser.until("return document.querySelector('.lines path')")
    await visitor.sees("I live in Porto.")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.click("a.node")
    await visitor.sees("Nothing was replaced by it.")
    assert "User lives in Lisbon" in await visitor.browser.text(".node.centre")
    assert await visitor.browser.run("return document.activeElement.tagName") == "H1"
    await visitor.go("#/ns/walk/memories")
    await visitor.press("Forget by meaning")
    await visitor.enter("What to forget", "lives in Porto")
    await visitor.press("Look")
    await visitor.press("Forget", "dialog")
    await visitor.sees("Forgotten: ")
    await visitor.browser.until("return !document.querySelector('main').innerText.includes('Porto')")
    await visitor.press("Show the whole history: what was replaced, forgotten or has expired")
    await visitor.sees("forgotten")
    assert await visitor.audit() == []
    assert await visitor.overflow() == 0
    await visitor.go('#/ns/walk/search?q=lives in Porto&o={"searchMode":"memories"}')
    await visitor.sees("Nothing found")
    await visitor.press("With what was forgotten or has expired")
    await visitor.press("Search", "main")
    await visitor.sees("1 result in")
    assert "Forgotten" in await visitor.browser.text(".result header")
