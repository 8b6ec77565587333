"""A real Chromium, driven over the WebDriver protocol: what the tests of pages need, and no more."""

import asyncio
import shutil
import subprocess
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import httpx2
import pytest

from tests.patience import PATIENCE
from tools.leash import leash, unleash
from tools.ports import held_port

DRIVER: Final = shutil.which("chromedriver")
_GONE: Final = {"no such element", "stale element reference"}
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
    DRIVER is None, reason="needs a peer that is not installed: Chromium (`make browser` installs it)"
)
KEYS: Final = {
    "tab": "\ue004",
    "enter": "\ue007",
    "down": "\ue015",
    "up": "\ue013",
    "space": " ",
    "escape": "\ue00c",
}


class GoneError(Exception):
    """What was to be clicked is not there, or was put anew while it was looked for."""


class Browser:
    """One window."""

    def __init__(self, http: httpx2.AsyncClient, session: str) -> None:
        self._http = http
        self._session = session

    async def open(self, url: str) -> None:
        """Go to an address and wait until it is loaded."""
        await self._ask("POST", "url", {"url": url})

    async def address(self) -> str:
        found: str = await self._ask("GET", "url")
        return found

    async def run(self, script: str, *arguments: Any) -> Any:
        """What a function's body returns."""
        return await self._ask("POST", "execute/sync", {"script": script, "args": list(arguments)})

    async def text(self, css: str) -> str:
        """What is to be read there; nothing where there is no such element."""
        read: str = await self.run("return document.querySelector(arguments[0])?.innerText ?? ''", css)
        return read

    async def click(self, css: str) -> None:
        """As a pointer does: only what can be seen; GoneError."""
        await self._ask("POST", f"element/{await self._found(css)}/click", {})

    async def fill(self, css: str, text: str) -> None:
        """Type into a field, in the place of what was there."""
        element = await self._found(css)
        await self._ask("POST", f"element/{element}/clear", {})
        await self._ask("POST", f"element/{element}/value", {"text": text})

    async def choose_file(self, css: str, *paths: Path) -> None:
        """Give files to a file field."""
        await self._ask(
            "POST", f"element/{await self._found(css)}/value", {"text": "\n".join(map(str, paths))}
        )

    async def resize(self, width: int, height: int) -> None:
        """The size of the page that is seen, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self._tell("Emulation.setDeviceMetricsOverride", size)

    async def prefer(self, scheme: Literal["light", "dark"]) -> None:
        """What the system is said to prefer."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self._tell("Emulation.setEmulatedMedia", {"features": features})

    async def picture(self) -> bytes:
        """What is seen, as PNG."""
        return b64decode(await self._ask("GET", "screenshot"))

    async def complaints(self) -> list[str]:
        """Since this was last asked: what scripts failed at, and what the page's policy refused."""
        entries = await self._ask("POST", "se/log", {"type": "browser"})
        return [one["message"] for one in entries if one["level"] == "SEVERE" and one["source"] != "network"]

    async def _tell(self, command: str, values: dict[str, Any]) -> None:
        await self._ask("POST", "goog/cdp/execute", {"cmd": command, "params": values})

    async def _found(self, css: str) -> str:
        found = await self._ask("POST", "element", {"using": "css selector", "value": css})
        element: str = found[_ELEMENT]
        return element

    async def press(self, *keys: str) -> None:
        """Type: names of `KEYS` or text."""
        actions = [
            {"type": kind, "value": char}
            for key in keys
            for char in KEYS.get(key, key)
            for kind in ("keyDown", "keyUp")
        ]
        await self._ask(
            "POST", "actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}
        )

    async def until(self, script: str, *arguments: Any) -> Any:
        """Wait until a function's body returns something true."""
        async with asyncio.timeout(PATIENCE):
            while not (found := await self.run(script, *arguments)):  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.02)
        return found

    async def _ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self._http.request(method, f"/session/{self._session}/{path}", json=body)
        value = answer.json()["value"]
        if not answer.is_success and value["error"] in _GONE:
            raise GoneError(value["message"])
        assert answer.is_success, value
        return value


@asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Browser]:
    """A fresh browser that keeps what it has in this folder."""
    with held_port() as port, _driven(port):
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as http:
            await _answering(http)
            options = {"args": [*_ARGUMENTS, f"--user-data-dir={folder}"]}
            logs = {"browser": "SEVERE"}
            wanted = {
                "goog:chromeOptions": options,
                "goog:loggingPrefs": logs,
                "timeouts": {"script": round(PATIENCE * 1000)},
            }
            asked = {"capabilities": {"alwaysMatch": wanted}}
            made = (await http.post("/session", json=asked)).json()["value"]
            assert "sessionId" in made, made
            yield Browser(http, made["sessionId"])
            await http.delete(f"/session/{made['sessionId']}")


@contextmanager
def _driven(port: int) -> Iterator[None]:
    """A driver that listens, or will in a moment."""
    assert DRIVER is not None
    driver = subprocess.Popen(  # noqa: S603 - it is what this machine calls it
        [DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    leashed = leash(driver.pid)
    try:
        yield
    finally:
        driver.terminate()
        driver.wait()
        unleash(leashed)


async def _answering(http: httpx2.AsyncClient) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                if (await http.get("/status")).is_success:
                    return
            except httpx2.TransportError:
                await asyncio.sleep(0.05)
