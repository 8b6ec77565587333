"""`make pictures`: the screenshots of docs/guides/console.md, and small ones of all pages for docs/console-pages.md."""

import asyncio
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import PIL.Image

from pipeline.bus.records import ProducerRecord
from tests.support.console_user import ConsoleUser, console_session
from tests.support.pdf_writer import write_pdf
from tests.support.webhook_receiver import webhook_receiver

FOLDER = Path(__file__).parents[3] / "docs" / "images"
SIZE = (1280, 800)
SMALL_SIZE, SMALL_COLORS = (720, 450), 96
SMALL_FOLDER = FOLDER / "console-pages"
CONVERSATION = {
    "2026-03-02": "My name is Alice Moreira. I live in Lisbon and I work as a marine biologist.",
    "2026-04-11": "I have a sister called Inês. My favourite food is grilled sardines. I play the cello.",
    "2026-06-20": "I moved to Porto last week. I now live in Porto, close to the river.",
    "2026-09-05": "I now live in Bergen. I work for the aquarium in Bergen. I am learning Norwegian.",
}
NOTES = {
    "kelp": "# Kelp survey\n\nThe kelp beds north of the harbour grew by a fifth since spring. Divers counted"
    " forty urchins per square metre at the outer reef, fewer. The next count is due in October.",
    "budget": "# Budget\n\nThe boat costs 1,200 euros a day. Two days in October are paid for.",
}
SURVEY_PAGES, PAGE_OF_THE_HARBOUR_MASTER = 50, 37


def _survey() -> bytes:
    """A PDF of 50 pages, one of which says who the harbour master is."""
    pages = []
    for page in range(1, SURVEY_PAGES + 1):
        stations = [f"Station {page}.{n}: depth {(7 * page + 3 * n) % 40} m, sand and gravel." for n in range(1, 16)]
        if page == PAGE_OF_THE_HARBOUR_MASTER:
            stations[6:6] = ["Marta Lindqvist lives in Tromso and works as a harbour master."]
        pages.append("\n".join([f"Harbour survey, page {page}", "", *stations]))
    return write_pdf(pages)


async def fill_namespace(visitor: ConsoleUser) -> None:
    for day, text in CONVERSATION.items():
        body = {"content": text, "date": day, "dreaming": "instant", "metadata": {"kind": "chat"}}
        await visitor.ok("POST", "/ns/alice/document", body)
        await visitor.service.wait_until_idle()
    for name, text in NOTES.items():
        body = {"content": text, "id": name, "dreaming": "instant", "metadata": {"kind": "note"}}
        await visitor.ok("POST", "/ns/alice/document", body)
    files = {"file": ("harbour-survey.pdf", _survey(), "application/pdf")}
    await visitor.service.client.ok("POST", "/ns/alice/document/file", files=files, data={"dreaming": "instant"})
    await visitor.service.wait_until_idle()


async def _save_screenshot(visitor: ConsoleUser, name: str) -> None:
    (FOLDER / f"console-{name}.png").write_bytes(await visitor.browser.screenshot())


async def take_small_pages(visitor: ConsoleUser) -> None:
    """Save a small picture of every page, `NAME-now.png`, from what the larger pictures have filled."""
    documents = (await visitor.ok("POST", "/ns/alice/list/documents", {}))["documents"]
    survey = next(row["id"] for row in documents if row["type"] == "pdf")
    rows = (await visitor.ok("POST", "/ns/alice/list/memories?limit=100", {}))["memories"]
    marta = next(row["id"] for row in rows if "harbour master" in row["memory"])
    bergen = next(row["id"] for row in rows if "lives in Bergen" in row["memory"])
    connector = (await visitor.ok("GET", "/connectors"))["connectors"][0]["id"]
    pages = ("namespaces", "organization", "pipeline", "usage", "audit", "keys", "design")
    of_alice = ("documents", "memories", "review", "graph", "profile", "questions", "connectors", "settings")
    addresses = {"home": "", **{page: page for page in pages}, **{page: f"ns/alice/{page}" for page in of_alice}}
    addresses["search"] = "ns/alice/search?q=Where do I live?"
    addresses["document"] = f"ns/alice/documents/{survey}?memory={marta}"
    addresses["memory"] = f"ns/alice/memories/{bergen}"
    addresses["connector"] = f"ns/alice/connectors/{connector}"
    for name, address in addresses.items():
        await visitor.navigate(f"#/{address}")
        await visitor.browser.wait_until(_DRAWN)
        await _save_small(visitor, name)
    await visitor.press("Sign out")
    await visitor.wait_for_text("API key")
    await _save_small(visitor, "sign-in")


_DRAWN = """
const drawn = document.querySelector(".page:has(.mark), .canvas");
return !document.querySelector(".reader-bar, .graph-page") || drawn?.querySelector("img, canvas");
"""
"""The page of a PDF, and the graph, are drawn after the page is loaded."""


async def _save_small(visitor: ConsoleUser, name: str) -> None:
    picture = PIL.Image.open(BytesIO(await visitor.browser.screenshot())).convert("RGB").resize(SMALL_SIZE)
    SMALL_FOLDER.mkdir(exist_ok=True)
    picture.quantize(SMALL_COLORS).save(SMALL_FOLDER / f"{name}-now.png", optimize=True)


async def _take_review_and_document(visitor: ConsoleUser) -> None:
    await visitor.navigate("#/ns/alice/review")
    await visitor.wait_for_text("Keep the old one")
    await _save_screenshot(visitor, "review")
    rows = (await visitor.ok("POST", "/ns/alice/list/memories?limit=100", {}))["memories"]
    documents = (await visitor.ok("POST", "/ns/alice/list/documents", {}))["documents"]
    survey = next(row["id"] for row in documents if row["type"] == "pdf")
    marta = next(row["id"] for row in rows if "harbour master" in row["memory"])
    await visitor.navigate(f"#/ns/alice/documents/{survey}?memory={marta}")
    await visitor.browser.wait_until("return document.querySelector('.page .mark')?.parentElement.querySelector('img')")
    await _save_screenshot(visitor, "document")


async def _take_questions(visitor: ConsoleUser) -> None:
    async with webhook_receiver() as receiver:
        for query in ("Where does Alice live?", "What is Alice allergic to?"):
            await visitor.ok("POST", "/ns/alice/explain/questions", {"query": query, "url": receiver.url})
        await visitor.navigate("#/ns/alice/questions")
        await visitor.wait_for_text("2 standing questions")
        await visitor.press("Test")
        await visitor.wait_for_text("The receiver took the test.")
        await _save_screenshot(visitor, "questions")
        await visitor.browser.execute("document.querySelector('.said').replaceChildren()")


async def _take_screenshots(visitor: ConsoleUser) -> None:
    await fill_namespace(visitor)
    await visitor.browser.set_viewport(*SIZE)
    await visitor.sign_in()
    await visitor.navigate("#/ns/alice/search?q=Where do I live?")
    await visitor.wait_for_text("results in")
    await _save_screenshot(visitor, "search")
    await _take_review_and_document(visitor)
    await visitor.navigate("#/")
    await visitor.wait_for_text("New memories")
    await _save_screenshot(visitor, "home")
    await _take_questions(visitor)
    await visitor.navigate("#/ns/alice/graph")
    await visitor.browser.wait_until("return document.querySelector('.canvas canvas')")
    await _save_screenshot(visitor, "graph")
    await visitor.navigate("#/ns/alice/documents")
    await _save_screenshot(visitor, "documents")
    await visitor.navigate("#/ns/alice/memories?state=replaced")
    await visitor.browser.set_color_scheme("dark")
    await visitor.press("User now lives in Porto, close to the river")
    await visitor.wait_for_text("Earlier versions")
    await _save_screenshot(visitor, "memory")
    await visitor.browser.set_color_scheme("light")
    await visitor.ok("POST", "/admin/keys", {"name": "dashboard", "role": "read", "expiresInDays": 90})
    limits = {"rateLimit": 600, "monthlyDocuments": 20_000, "monthlySearches": 100_000}
    key = await visitor.ok("POST", "/admin/keys", {"name": "web app", "namespaces": ["team-a:*"], **limits})
    await visitor.ok("POST", f"/admin/keys/{key['id']}/rotate", {"overlapHours": 48})
    await visitor.navigate("#/keys")
    await _save_screenshot(visitor, "keys")
    visitor.source.put("tides", "High water is at noon.", title="Tides of October")
    visitor.source.put("crew", "Who sails when.", title="Crew list")
    visitor.source.unreadable.add("crew")
    connector = await visitor.service.create("alice", "github")
    await visitor.service.wait_for_run(connector)
    await visitor.navigate(f"#/ns/alice/connectors/{connector}")
    await _save_screenshot(visitor, "connector")
    entry = ProducerRecord(key=b"note", value=b'{"content": 7}', headers={})
    await visitor.service.live.pipeline.bus.append("documents.submitted.v1", [entry])
    await visitor.navigate("#/pipeline")
    await visitor.wait_for_text("1 record in the dead-letter queue")
    await _save_screenshot(visitor, "pipeline")


async def _main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with console_session(Path(folder)) as visitor:
            await _take_screenshots(visitor)
            await take_small_pages(visitor)


if __name__ == "__main__":
    asyncio.run(_main())
