"""`python -m tests.api.console.newcomer_trial`: tasks of a newcomer in clicks and seconds, and the weight of pages."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.api.console.screenshots import PAGE_OF_THE_HARBOUR_MASTER, fill_namespace
from tests.support.console_user import ConsoleUser, console_session

SIZE = (1440, 900)
PAGES = ("", "namespaces", *(f"ns/alice/{tab}" for tab in ("search", "documents", "memories", "review", "profile")))
_WEIGHT_SCRIPT = """
const paint = performance.getEntriesByName("first-contentful-paint")[0];
if (!paint) return null;
const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
return [paint.startTime, entries.reduce((sum, entry) => sum + entry.encodedBodySize, 0)];
"""
_PAGE_SHOWN = "return document.querySelector('.page:has(.mark) img')?.closest('.page').dataset.page"


@dataclass
class NewcomerTrial:
    """A newcomer who signs in anew for each task. `rows`: task, clicks and typed answers, seconds."""

    visitor: ConsoleUser
    rows: list[tuple[str, int, int, float]] = field(default_factory=list)
    clicks: int = 0
    entries: int = 0

    async def press(self, label: str, within: str = "body") -> None:
        self.clicks += 1
        await self.visitor.press(label, within)

    async def click(self, css: str) -> None:
        self.clicks += 1
        await self.visitor.click(css)

    async def select(self, label: str, option: str) -> None:
        self.clicks += 2
        await self.visitor.select(label, option)

    async def enter(self, label: str, text: str, within: str = "body") -> None:
        self.entries += 1
        await self.visitor.enter(label, text, within)

    @asynccontextmanager
    async def task(self, name: str, start: str = "") -> AsyncIterator[None]:
        """Time a task from an address of the console on."""
        self.clicks = self.entries = 0
        await self.visitor.open_signed_in(f"#/{start}")
        started = perf_counter()
        yield
        self.rows.append((name, self.clicks, self.entries, perf_counter() - started))


async def _find_a_fact(trial: NewcomerTrial) -> None:
    async with trial.task("find a fact in a PDF of 50 pages and see its page"):
        await trial.select("In namespace", "alice")
        await trial.enter("Ask what is remembered", "Where does the harbour master live?")
        await trial.press("Search", "main")
        await trial.click(".result footer a[href*='harbour'], .result footer a")
        page = await trial.visitor.browser.wait_until(_PAGE_SHOWN)
        assert page == str(PAGE_OF_THE_HARBOUR_MASTER)


async def _correct_it(trial: NewcomerTrial) -> None:
    async with trial.task("correct it"):
        await trial.select("In namespace", "alice")
        await trial.enter("Ask what is remembered", "Where does the harbour master live?")
        await trial.press("Search", "main")
        await trial.press("Memories", "nav")
        await trial.press("Marta Lindqvist lives in Tromso")
        await trial.press("Edit")
        await trial.enter("Memory", "Marta Lindqvist lives in Bodø", "dialog")
        await trial.press("Save", "dialog")
        await trial.visitor.wait_for_text("Memory changed.")


async def _see_march(trial: NewcomerTrial) -> None:
    async with trial.task("see what was known in March", "ns/alice/search"):
        await trial.enter("Question", "Where does Alice live?")
        await trial.press("Options")
        trial.entries += 1
        await trial.visitor.browser.execute(
            "const input = document.querySelector('input[type=datetime-local]'); input.value = '2026-03-31T12:00:00';"
            "input.dispatchEvent(new Event('input', { bubbles: true }));"
            "input.dispatchEvent(new Event('change', { bubbles: true }));"
        )
        await trial.press("Search", "main")
        await trial.visitor.wait_for_text("As of ")


async def _connect_a_source(trial: NewcomerTrial) -> None:
    visitor = trial.visitor
    visitor.source.put("kettle", "The kettle is blue.", board="kitchen")
    async with trial.task("connect a source and see its first document", "ns/alice/connectors"):
        await trial.press("Connect a source")
        await trial.press("Connect")
        await visitor.browser.wait_until(
            "return location.host === 'shelf.test' || location.protocol === 'chrome-error:'"
        )
        trial.clicks += 1  # to allow it at the provider
        back = await visitor.service.authorize(await visitor.browser.address())
        await visitor.browser.open(back.headers["location"])
        await visitor.wait_for_text("Connected. The first sync has started.")
        await trial.press("Documents", "nav")
        await visitor.wait_for_text("kettle")


async def _find_the_failure(trial: NewcomerTrial, folder: Path) -> None:
    broken = folder / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 and nothing more")
    await trial.visitor.open_signed_in("#/ns/alice/documents")
    await trial.visitor.press("Add documents")
    await trial.visitor.choose_file("input[type=file]", broken)
    await trial.visitor.browser.wait_until("return document.querySelector('td .badge.bad')")
    async with trial.task("find out why a document failed"):
        await trial.visitor.wait_for_text("Needs attention")
        await trial.click("a[href*='ns/alice/documents/']")
        await trial.visitor.wait_for_text("failed")


async def _weigh_pages(visitor: ConsoleUser) -> list[tuple[str, float, float]]:
    """First contentful paint (ms) and transferred size (KB) of each page, opened anew."""
    documents = (await visitor.ok("POST", "/ns/alice/list/documents", {}))["documents"]
    survey = next(row["id"] for row in documents if row["type"] == "pdf")
    rows = []
    for page in (*PAGES, f"ns/alice/documents/{survey}"):
        await visitor.open_signed_in(f"#/{page}")
        paint, size = await visitor.browser.wait_until(_WEIGHT_SCRIPT)
        rows.append((page or "home", paint, size / 1000))
    return rows


async def _run() -> str:
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with console_session(Path(folder)) as visitor:
            await visitor.browser.set_viewport(*SIZE)
            await fill_namespace(visitor)
            weights, trial = await _weigh_pages(visitor), NewcomerTrial(visitor)
            for attempt in (_find_a_fact, _correct_it, _see_march, _connect_a_source):
                await attempt(trial)
            await _find_the_failure(trial, Path(folder))
    lines = ["| Task | clicks | typed answers | seconds |", "|---|---:|---:|---:|"]
    lines += [f"| {name} | {clicks} | {typed} | {seconds:.1f} |" for name, clicks, typed, seconds in trial.rows]
    lines += ["", "| Page | first paint | size |", "|---|---:|---:|"]
    lines += [f"| {page} | {paint:.0f} ms | {size:.0f} KB |" for page, paint, size in weights]
    return "\n".join([*lines, "", f"load {os.getloadavg()[0]:.1f}", ""])


def main() -> None:
    """Print both tables in Markdown, with the load of the machine."""
    sys.stdout.write(asyncio.run(_run()))


if __name__ == "__main__":
    main()
