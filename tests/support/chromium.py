"""Chromium, driven over the WebDriver protocol, as far as the console tests need it."""

import asyncio
import shutil
import subprocess
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import httpx2
import pytest

from tests.support.timeouts import WAIT_TIMEOUT_SECONDS
from tools.parent_watchdog import start_watchdog, stop_watchdog
from tools.port_reservation import reserved_port

CHROMEDRIVER: Final = shutil.which("chromedriver")
_STALE_ERRORS: Final = {"no such element", "stale element reference"}
_ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"
_ARGUMENTS: Final = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
needs_chromium = pytest.mark.skipif(
    CHROMEDRIVER is None, reason="needs a peer that is not installed: Chromium (`make browser` installs it)"
)
KEYS: Final = {
    "tab": "\ue004",
    "shift": "\ue008",
    "enter": "\ue007",
    "down": "\ue015",
    "up": "\ue013",
    "incarnation": " ",
    "escape": "\ue00c",
}


class StaleElementError(Exception):
    """Element that does not exist, or was rendered again meanwhile."""


class Browser:
    """Open a window."""

    def __init__(self, http: httpx2.AsyncClient, session: str) -> None:
        self._http = http
        self._session = session

    async def open(self, url: str) -> None:
        """Go to an address and wait until it is loaded."""
        await self._command("POST", "url", {"url": url})

    async def address(self) -> str:
        found: str = await self._command("GET", "url")
        return found

    async def execute(self, script: str, *arguments: Any) -> Any:
        """Run a function body in the page and return its result."""
        return await self._command("POST", "execute/sync", {"script": script, "args": list(arguments)})

    async def inner_text(self, css: str) -> str:
        """Return the visible text of an element; empty if it does not exist."""
        read: str = await self.execute("return document.querySelector(arguments[0])?.innerText ?? ''", css)
        return read

    async def click(self, css: str) -> None:
        """Click a visible element; StaleElementError if it does not exist."""
        await self._command("POST", f"element/{await self._find_element(css)}/click", {})

    async def fill(self, css: str, text: str) -> None:
        """Type into a field, in the place of what was there."""
        element = await self._find_element(css)
        await self._command("POST", f"element/{element}/clear", {})
        await self._command("POST", f"element/{element}/value", {"text": text})

    async def choose_file(self, css: str, *paths: Path) -> None:
        """Give files to a file field."""
        await self._command(
            "POST", f"element/{await self._find_element(css)}/value", {"text": "\n".join(map(str, paths))}
        )

    async def set_viewport(self, width: int, height: int) -> None:
        """The size of the page that is seen, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self._send_devtools_command("Emulation.setDeviceMetricsOverride", size)

    async def set_color_scheme(self, scheme: Literal["light", "dark"]) -> None:
        """Set the preferred color scheme of the system."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self._send_devtools_command("Emulation.setEmulatedMedia", {"features": features})

    async def disable_cache(self) -> None:
        """Load every file anew from now on."""
        await self._send_devtools_command("Network.enable", {})
        await self._send_devtools_command("Network.setCacheDisabled", {"cacheDisabled": True})

    async def enable_cache(self) -> None:
        await self._send_devtools_command("Network.setCacheDisabled", {"cacheDisabled": False})

    async def set_offline(self, *, offline: bool) -> None:
        """Cut the browser off from every server, or let it reach them again."""
        unlimited = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        await self._send_devtools_command("Network.enable", {})
        await self._send_devtools_command("Network.emulateNetworkConditions", {"offline": offline, **unlimited})

    async def set_permission(self, name: str, setting: Literal["granted", "denied"]) -> None:
        """Allow or forbid a page something, such as `clipboard-write`."""
        await self._send_devtools_command("Browser.setPermission", {"permission": {"name": name}, "setting": setting})

    async def screenshot(self) -> bytes:
        """Return a screenshot as PNG."""
        return b64decode(await self._command("GET", "screenshot"))

    async def severe_log_messages(self) -> list[str]:
        """Return script errors and policy violations since the last call."""
        entries = await self._command("POST", "se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE" and entry["source"] != "network"]

    async def _send_devtools_command(self, command: str, values: dict[str, Any]) -> None:
        await self._command("POST", "goog/cdp/execute", {"cmd": command, "params": values})

    async def _find_element(self, css: str) -> str:
        found = await self._command("POST", "element", {"using": "css selector", "value": css})
        element: str = found[_ELEMENT]
        return element

    async def press(self, *keys: str) -> None:
        """Type: names of `KEYS` or text."""
        await self._type([(kind, char) for key in keys for char in KEYS.get(key, key) for kind in ("keyDown", "keyUp")])

    async def press_with_shift(self, key: str) -> None:
        """Type a key of `KEYS` while shift is held."""
        held = KEYS["shift"]
        await self._type([("keyDown", held), ("keyDown", KEYS[key]), ("keyUp", KEYS[key]), ("keyUp", held)])

    async def _type(self, strokes: list[tuple[str, str]]) -> None:
        actions = [{"type": kind, "value": char} for kind, char in strokes]
        await self._command("POST", "actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    async def wait_until(self, script: str, *arguments: Any) -> Any:
        """Wait until a function's body returns something true, asking for a fifth of the time."""
        asked = time.monotonic()
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not (found := await self.execute(script, *arguments)):
                await asyncio.sleep(max(0.02, 4 * (time.monotonic() - asked)))
                asked = time.monotonic()
        return found

    async def _command(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self._http.request(method, f"/session/{self._session}/{path}", json=body)
        value = answer.json()["value"]
        if not answer.is_success and value["error"] in _STALE_ERRORS:
            raise StaleElementError(value["message"])
        assert answer.is_success, value
        return value


@asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Browser]:
    """A fresh browser that keeps what it has in this folder."""
    with reserved_port() as port, _chromedriver(port):
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_TIMEOUT_SECONDS) as http:
            await _wait_for_driver(http)
            options = {"args": [*_ARGUMENTS, f"--user-data-dir={folder}"]}
            logs = {"browser": "SEVERE"}
            capabilities = {
                "goog:chromeOptions": options,
                "goog:loggingPrefs": logs,
                "timeouts": {"script": round(WAIT_TIMEOUT_SECONDS * 1000)},
            }
            asked = {"capabilities": {"alwaysMatch": capabilities}}
            created = (await http.post("/session", json=asked)).json()["value"]
            assert "sessionId" in created, created
            yield Browser(http, created["sessionId"])
            await http.delete(f"/session/{created['sessionId']}")


@contextmanager
def _chromedriver(port: int) -> Iterator[None]:
    """A driver that listens, or will in a moment."""
    assert CHROMEDRIVER is not None
    driver = subprocess.Popen(  # noqa: S603 - it is what this machine calls it
        [CHROMEDRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    leashed = start_watchdog(driver.pid)
    try:
        yield
    finally:
        driver.terminate()
        driver.wait()
        stop_watchdog(leashed)


async def _wait_for_driver(http: httpx2.AsyncClient) -> None:
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while True:
            try:
                if (await http.get("/status")).is_success:
                    return
            except httpx2.TransportError:
                await asyncio.sleep(0.05)
