"""Somebody at the console: a real service, a real Chromium, and what a person does with them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import distribution
from itertools import count
from pathlib import Path
from typing import Any

import uvicorn

from tests.browser import Browser, GoneError, chromium
from tests.connectors.shelf import Shelf, ShelfProvider
from tests.connectors.world import Connected, connected
from tests.service.world import ADMIN

_PATIENCE = 20
_VISITS = count(1)
"""A page that is asked for by another address is loaded, not only scrolled."""
WIDE = (1280, 900)
NARROW = (360, 740)
TABLET = (970, 740)
_THERE = "return document.querySelector(arguments[0])"
_SEEN = "return document.body.innerText.includes(arguments[0])"
_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_AUDIT = """
const found = await axe.run(document, { runOnly: arguments[0] });
if (found.passes.length === 0) throw new Error("axe has judged nothing");
return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" | ")}`);
"""
_SQUEEZED = """
const captions = [...document.querySelectorAll("caption")].filter((one) => one.checkVisibility());
const squeezed = captions.filter((one) => one.offsetWidth < one.parentElement.offsetWidth / 2);
return squeezed.map((one) => one.innerText);
"""
_OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass(frozen=True)
class Visitor:
    """A person with a browser; `world` is the service behind the page."""

    world: Connected
    shelf: Shelf
    browser: Browser
    url: str

    async def sign_in(self, key: str = ADMIN) -> None:
        """Come with nothing but a key, and sign in with it."""
        # A picture, as a page that is still signing in would keep its key again.
        await self.browser.open(f"{self.url}/console/icon.svg")
        await self.browser.run("sessionStorage.clear(); localStorage.clear()")
        await self.browser.open(f"{self.url}/console/?{next(_VISITS)}")
        await self.enter("API key", key)
        await self.press("Sign in")
        await self.browser.until("return document.querySelector('#sign-out')")
        await self.loaded()

    async def arrive(self, address: str, key: str = ADMIN) -> None:
        """At an address within the console, signed in."""
        if self.url not in await self.browser.address():
            await self.browser.open(f"{self.url}/console/icon.svg")
        await self.browser.run(
            "sessionStorage.setItem('recollect.key', arguments[0]); localStorage.clear()", key
        )
        await self.browser.open(f"{self.url}/console/?{next(_VISITS)}{address}")
        await self.browser.until("return document.querySelector('#sign-out')")
        await self.loaded()

    async def go(self, address: str) -> None:
        """An address within the console, as a link leads there."""
        await self.browser.run(_GONE, address)
        await self.loaded()

    async def loaded(self) -> None:
        """Nothing is on its way any more."""
        await self.browser.until(
            "return document.querySelector('h1') && !document.querySelector('[aria-busy=true]')"
        )

    async def sees(self, text: str) -> None:
        """Wait until it is to be read."""
        await self._until(_SEEN, text)

    async def text(self, css: str) -> str:
        """What is to be read there, once it is there."""
        await self._until(_THERE, css)
        return await self.browser.text(css)

    async def press(self, label: str, within: str = "body") -> None:
        """Click the button, link or summary that says so."""
        await self._click("[data-pressed]", _MARKED, label, within)

    async def click(self, css: str) -> None:
        """Click what is there, as soon as it is."""
        await self._click(css, _THERE, css)

    async def choose_file(self, css: str, *paths: Path) -> None:
        """Give files to a file field, as soon as it is there."""
        await self._persist(lambda: self.browser.choose_file(css, *paths), _THERE, css)

    async def _click(self, css: str, there: str, *arguments: str) -> None:
        await self._persist(lambda: self.browser.click(css), there, *arguments)

    async def _persist(self, act: Callable[[], Awaitable[None]], there: str, *arguments: str) -> None:
        for _ in range(_PATIENCE):
            await self._until(there, *arguments)
            with suppress(GoneError):  # the page was just put anew
                return await act()
        raise AssertionError(f"{arguments[0]!r} is put anew again and again")

    async def enter(self, label: str, text: str, within: str = "body") -> None:
        """Type into the field with this label."""
        await self._persist(lambda: self.browser.fill("[data-entered]", text), _LABELLED, label, within)

    async def select(self, label: str, option: str) -> None:
        """Choose in the list with this label."""
        await self._until(_LABELLED, label, "body")
        chosen = await self.browser.run(_CHOSEN, option)
        assert chosen, f"{label} has no {option!r}"

    async def _until(self, script: str, *arguments: str) -> None:
        try:
            await self.browser.until(script, *arguments)
        except TimeoutError:
            shown = await self.browser.text("body")
            raise AssertionError(f"no {arguments[0]!r} in:\n{shown}") from None

    async def audit(self) -> list[str]:
        """What axe finds wrong with the page; of the dark scheme its contrasts, as all else is the same."""
        await self.browser.prefer("dark")
        found = [f"dark: {one}" for one in await self._judged("color-contrast")]
        await self.browser.prefer("light")
        return found + await self._judged(*_RULES)

    async def _judged(self, *rules: str) -> list[str]:
        if not await self.browser.run("return Boolean(window.axe)"):
            await self.browser.run(_axe())
        found: list[str] = await self.browser.run(_AUDIT, rules)
        return found

    async def overflow(self) -> int:
        """By how many pixels the page is wider than a telephone, or a tablet, where tables are tables.

        AssertionError where the line above a table has next to no width.
        """
        wider: list[int] = []
        for size in (NARROW, TABLET):
            await self.browser.resize(*size)
            wider.append(await self.browser.run(_OVERFLOW))
            squeezed = await self.browser.run(_SQUEEZED)
            assert not squeezed, f"too narrow to be read: {squeezed}"
        await self.browser.resize(*WIDE)
        return max(wider)

    async def ok(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the service past the browser, as the administrator."""
        return await self.world.client.ok(method, path, body)


_GONE = """
await new Promise((arrived) => {
  addEventListener("hashchange", arrived, { once: true });
  if (location.hash === arguments[0]) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = arguments[0];
});
"""
_MARKED = """
document.querySelector("[data-pressed]")?.removeAttribute("data-pressed");
const all = [...document.querySelectorAll("button, a, summary, label")];
const shown = all.filter((one) => one.closest(arguments[1]) && one.checkVisibility());
const found = shown.find((one) => one.innerText.trim() === arguments[0]);
if (found) found.dataset.pressed = "yes";
return Boolean(found);
"""
_LABELLED = """
document.querySelector("[data-entered]")?.removeAttribute("data-entered");
const labels = [...document.querySelectorAll("label")].filter((one) => one.closest(arguments[1]));
const label = labels.find((one) => one.checkVisibility() && one.innerText.trim() === arguments[0]);
const found = label?.control;
if (found) found.dataset.entered = "yes";
return Boolean(found);
"""
_CHOSEN = """
const list = document.querySelector("[data-entered]");
const option = [...list.options].find((one) => one.text === arguments[0]);
if (option) { list.value = option.value; list.dispatchEvent(new Event("change", { bubbles: true })); }
return Boolean(option);
"""


def _axe() -> str:
    """The package's file alone: its Python drives another browser."""
    path = distribution("axe-playwright-python").locate_file("axe_playwright_python/axe.min.js")
    return Path(str(path)).read_text()


@asynccontextmanager
async def visiting(folder: Path) -> AsyncIterator[Visitor]:
    """A service with one source to connect, on a port of loopback, and a browser."""
    shelf = Shelf()
    async with (
        connected(folder / "data", {"github": ShelfProvider()}, shelf.transport()) as world,
        _served(world) as url,
        chromium(folder / "browser") as browser,
    ):
        await browser.resize(*WIDE)
        yield Visitor(world, shelf, browser, url)


@asynccontextmanager
async def _served(world: Connected) -> AsyncIterator[str]:
    server = uvicorn.Server(
        uvicorn.Config(world.app, host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    )
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        yield f"http://localhost:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
