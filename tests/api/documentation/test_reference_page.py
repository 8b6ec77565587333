"""The API reference in a real Chromium."""

from collections.abc import AsyncIterator
from typing import Literal

import pytest

from tests.api.conftest import ADMIN, open_service
from tests.support.asgi_server import serve_app
from tests.support.chromium import Browser, chromium, needs_chromium
from tests.support.console_user import NARROW, WIDE
from tests.support.documentation_site import BACKGROUND, WIDTHS

pytestmark = [pytest.mark.anyio, needs_chromium]

_ADD = "[id$=postNsByNamespaceDocument]"
_CLICK = "const found = document.querySelector(arguments[0]); found?.click(); return Boolean(found)"


@pytest.fixture(scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[tuple[Browser, str]]:
    folder = tmp_path_factory.mktemp("reference")
    (folder / "service").mkdir()
    async with open_service(folder / "service") as service, serve_app(service.app) as url:
        async with chromium(folder / "browser") as browser:
            yield browser, f"{url}/docs/api/"


@pytest.fixture
async def browser(opened: tuple[Browser, str]) -> AsyncIterator[Browser]:
    """A browser with the page loaded anew; fails if a script or the policy reported an error."""
    browser, url = opened
    await browser.set_viewport(*WIDE)
    await browser.open(f"{url}../../console/icon.svg")
    await browser.open(url)
    await browser.wait_until("return document.querySelector('.opblock')")
    yield browser
    assert await browser.severe_log_messages() == []


async def _open_add(browser: Browser) -> None:
    await browser.wait_until(_CLICK, f"{_ADD} button.opblock-summary-control")
    await browser.wait_until("return document.querySelector(arguments[0])", f"{_ADD} .body-param__example")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_an_operation_fits_a_phone_in_both_schemes(browser: Browser, scheme: Literal["light", "dark"]) -> None:
    await browser.set_color_scheme(scheme)
    await browser.set_viewport(*NARROW)
    await _open_add(browser)
    scrolled, seen = await browser.execute(WIDTHS)
    assert scrolled == seen
    assert (await browser.execute(BACKGROUND) == "rgb(15, 18, 23)") == (scheme == "dark")


async def test_an_operation_shows_a_body_and_a_command_for_this_address(browser: Browser) -> None:
    await _open_add(browser)
    shown = await browser.inner_text(_ADD)
    address = (await browser.address()).partition("/docs/api/")[0]
    assert f"curl {address}/ns/alice/document" in shown
    assert '"content": "My name is Alice. I moved to Porto in May and I play the cello."' in shown


async def test_with_a_key_an_example_can_be_sent(browser: Browser) -> None:
    await browser.wait_until(_CLICK, ".btn.authorize")
    await browser.wait_until("return document.querySelector('.auth-container input')")
    await browser.fill(".auth-container input", ADMIN)
    await browser.wait_until(_CLICK, ".auth-btn-wrapper .authorize")
    await browser.wait_until(_CLICK, ".auth-btn-wrapper .btn-done")
    await _open_add(browser)
    await browser.wait_until(_CLICK, f"{_ADD} .try-out__btn")
    await browser.wait_until(_CLICK, f"{_ADD} .execute")
    await browser.wait_until("return document.querySelector(arguments[0])", f"{_ADD} .live-responses-table")
    assert '"id": "note-2026-05-04"' in await browser.inner_text(f"{_ADD} .live-responses-table tbody")
