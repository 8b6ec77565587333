"""User of the console: a real service, a real Chromium, and the actions of a person."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import distribution
from itertools import count
from pathlib import Path
from typing import Any

from bench.doubles.sample_source import SampleProvider, SampleSource
from tests.support.asgi_server import serve_app
from tests.support.chromium import Browser, StaleElementError, chromium
from tests.support.connectors.connected_service import ConnectedService, run_connected_service
from tests.support.service_world import ADMIN

_PATIENCE = 20
_VISIT_NUMBERS = count(1)
"""Number in the address, which makes the browser load the page instead of only changing the fragment."""
WIDE = (1280, 900)
NARROW = (360, 740)
TABLET = (970, 740)
_FOCUSED_SCRIPT = """
const one = document.activeElement;
return one === document.body ? "" : (one.ariaLabel ?? one.innerText);
"""
_EXISTS_SCRIPT = "return document.querySelector(arguments[0])"
_TEXT_VISIBLE_SCRIPT = "return document.body.innerText.includes(arguments[0])"
_AXE_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_AXE_SCRIPT = """
const found = await axe.run(document, { runOnly: arguments[0] });
if (found.passes.length === 0) throw new Error("axe has judged nothing");
return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" | ")}`);
"""
_NARROW_CAPTIONS_SCRIPT = """
const captions = [...document.querySelectorAll("caption")].filter((one) => one.checkVisibility());
// Those of cards are there for screen readers alone.
const shown = captions.filter((one) => getComputedStyle(one).clipPath === "none");
const squeezed = shown.filter((one) => one.offsetWidth < one.parentElement.offsetWidth / 2);
return squeezed.map((one) => one.innerText);
"""
_OVERFLOW_SCRIPT = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass(frozen=True)
class ConsoleUser:
    """Person with a browser; `service` is the service behind the page."""

    service: ConnectedService
    source: SampleSource
    browser: Browser
    url: str

    async def sign_in(self, key: str = ADMIN) -> None:
        """Start without a session and sign in with a key."""
        # An image, because a page that is still signing in would store its key again.
        await self.browser.open(f"{self.url}/console/icon.svg")
        await self.browser.execute("sessionStorage.clear(); localStorage.clear()")
        await self.browser.open(f"{self.url}/console/?{next(_VISIT_NUMBERS)}")
        await self.enter("API key", key)
        await self.press("Sign in")
        await self.browser.wait_until("return document.querySelector('#sign-out')")
        await self.wait_until_loaded()

    async def open_signed_in(self, address: str, key: str = ADMIN) -> None:
        """Open an address of the console with a stored session."""
        if self.url not in await self.browser.address():
            await self.browser.open(f"{self.url}/console/icon.svg")
        await self.browser.execute("sessionStorage.setItem('recollect.key', arguments[0]); localStorage.clear()", key)
        await self.browser.open(f"{self.url}/console/?{next(_VISIT_NUMBERS)}{address}")
        await self.browser.wait_until("return document.querySelector('#sign-out')")
        await self.wait_until_loaded()

    async def navigate(self, address: str) -> None:
        """Go to an address of the console, like a link."""
        await self.browser.execute(_NAVIGATE_SCRIPT, address)
        await self.wait_until_loaded()

    async def wait_until_loaded(self) -> None:
        """Wait until no part of the page is loading."""
        await self.browser.wait_until(
            "return document.querySelector('h1') && !document.querySelector('[aria-busy=true]')"
        )

    async def wait_for_text(self, text: str) -> None:
        """Wait until the page shows a text."""
        await self._until(_TEXT_VISIBLE_SCRIPT, text)

    async def text(self, css: str) -> str:
        """Return the visible text of an element, once it exists."""
        await self._until(_EXISTS_SCRIPT, css)
        return await self.browser.inner_text(css)

    async def press(self, label: str, within: str = "body") -> None:
        """Click the button, link or summary with this label."""
        await self._click("[data-pressed]", _MARK_BY_LABEL_SCRIPT, label, within)

    async def click(self, css: str) -> None:
        """Click an element, once it exists."""
        await self._click(css, _EXISTS_SCRIPT, css)

    async def focus(self, css: str) -> None:
        """Focus an element, once it exists."""
        await self._until(_EXISTS_SCRIPT, css)
        await self.browser.execute("document.querySelector(arguments[0]).focus()", css)

    async def focused(self) -> str:
        """Return the label or the text of what has the focus; empty if nothing has it."""
        label: str = await self.browser.execute(_FOCUSED_SCRIPT)
        return label

    async def choose_file(self, css: str, *paths: Path) -> None:
        """Choose files in a file field, once it exists."""
        await self._retry_when_stale(lambda: self.browser.choose_file(css, *paths), _EXISTS_SCRIPT, css)

    async def _click(self, css: str, exists_script: str, *arguments: str) -> None:
        await self._retry_when_stale(lambda: self.browser.click(css), exists_script, *arguments)

    async def _retry_when_stale(self, act: Callable[[], Awaitable[None]], exists_script: str, *arguments: str) -> None:
        for _ in range(_PATIENCE):
            await self._until(exists_script, *arguments)
            with suppress(StaleElementError):  # the page was just rendered again
                return await act()
        raise AssertionError(f"{arguments[0]!r} keeps being rendered again")

    async def enter(self, label: str, text: str, within: str = "body") -> None:
        """Type into the field with this label."""
        await self._retry_when_stale(
            lambda: self.browser.fill("[data-entered]", text), _MARK_FIELD_SCRIPT, label, within
        )

    async def select(self, label: str, option: str) -> None:
        """Choose in the list with this label."""
        await self._until(_MARK_FIELD_SCRIPT, label, "body")
        chosen = await self.browser.execute(_CHOOSE_OPTION_SCRIPT, option)
        assert chosen, f"{label} has no {option!r}"

    async def _until(self, script: str, *arguments: str) -> None:
        try:
            await self.browser.wait_until(script, *arguments)
        except TimeoutError:
            shown = await self.browser.inner_text("body")
            raise AssertionError(f"no {arguments[0]!r} in:\n{shown}") from None

    async def accessibility_violations(self) -> list[str]:
        """Return axe's findings; in the dark scheme only contrasts, as everything else is the same."""
        await self.browser.set_color_scheme("dark")
        found = [f"dark: {violation}" for violation in await run_axe(self.browser, "color-contrast")]
        await self.browser.set_color_scheme("light")
        return found + await run_axe(self.browser, *_AXE_RULES)

    async def horizontal_overflow(self) -> int:
        """Return how many pixels the page is wider than a phone or a tablet.

        Raises:
            AssertionError: a table's caption has almost no width.
        """
        wider: list[int] = []
        for size in (NARROW, TABLET):
            await self.browser.set_viewport(*size)
            wider.append(await self.browser.execute(_OVERFLOW_SCRIPT))
            squeezed = await self.browser.execute(_NARROW_CAPTIONS_SCRIPT)
            assert not squeezed, f"too narrow to be read: {squeezed}"
        await self.browser.set_viewport(*WIDE)
        return max(wider)

    async def ok(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API as the administrator, without the browser."""
        return await self.service.client.ok(method, path, body)


_NAVIGATE_SCRIPT = """
await new Promise((arrived) => {
  addEventListener("hashchange", arrived, { once: true });
  if (location.hash === arguments[0]) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = arguments[0];
});
"""
_MARK_BY_LABEL_SCRIPT = """
document.querySelector("[data-pressed]")?.removeAttribute("data-pressed");
const all = [...document.querySelectorAll("button, a, summary, label")];
const shown = all.filter((one) => one.closest(arguments[1]) && one.checkVisibility());
const found = shown.find((one) => one.innerText.trim() === arguments[0]);
if (found) found.dataset.pressed = "yes";
return Boolean(found);
"""
_MARK_FIELD_SCRIPT = """
document.querySelector("[data-entered]")?.removeAttribute("data-entered");
const labels = [...document.querySelectorAll("label")].filter((one) => one.closest(arguments[1]));
const label = labels.find((one) => one.checkVisibility() && one.innerText.trim() === arguments[0]);
const found = label?.control;
if (found) found.dataset.entered = "yes";
return Boolean(found);
"""
_CHOOSE_OPTION_SCRIPT = """
const list = document.querySelector("[data-entered]");
const option = [...list.options].find((one) => one.text === arguments[0]);
if (option) { list.value = option.value; list.dispatchEvent(new Event("change", { bubbles: true })); }
return Boolean(option);
"""


async def run_axe(browser: Browser, *rules: str) -> list[str]:
    """Return what axe finds on the page against rules, or tags of rules."""
    if not await browser.execute("return Boolean(window.axe)"):
        await browser.execute(_axe())
    found: list[str] = await browser.execute(_AXE_SCRIPT, rules)
    return found


def _axe() -> str:
    """The package's file alone: its Python drives another browser."""
    path = distribution("axe-playwright-python").locate_file("axe_playwright_python/axe.min.js")
    return Path(str(path)).read_text()


@asynccontextmanager
async def console_session(folder: Path) -> AsyncIterator[ConsoleUser]:
    """Open a service with one source to connect, on a loopback port, and a browser."""
    shelf = SampleSource()
    async with (
        run_connected_service(
            folder / "data", {"github": SampleProvider()}, shelf.transport(), fetch_private_addresses=True
        ) as world,
        serve_app(world.app) as url,
        chromium(folder / "browser") as browser,
    ):
        await browser.set_viewport(*WIDE)
        yield ConsoleUser(world, shelf, browser, url.replace("127.0.0.1", "localhost"))
