"""The site of guides in a real Chromium."""

from collections.abc import AsyncIterator
from typing import Literal

import pytest

from tests.api.conftest import open_service
from tests.support.asgi_server import serve_app
from tests.support.chromium import Browser, chromium, needs_chromium
from tests.support.console_user import NARROW, WIDE, run_axe
from tests.support.documentation_site import BACKGROUND, WIDTHS, build_documentation

pytestmark = [pytest.mark.anyio, needs_chromium]


@pytest.fixture(scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[tuple[Browser, str]]:
    folder = tmp_path_factory.mktemp("site")
    site = build_documentation(folder)
    (folder / "service").mkdir()
    async with open_service(folder / "service", site) as service, serve_app(service.app) as url:
        async with chromium(folder / "browser") as browser:
            yield browser, f"{url}/docs"


@pytest.fixture
async def site(opened: tuple[Browser, str]) -> AsyncIterator[tuple[Browser, str]]:
    """A browser and the address of the site; fails if a script or the policy reported an error."""
    browser, _ = opened
    await browser.set_viewport(*WIDE)
    yield opened
    assert await browser.severe_log_messages() == []


async def test_the_first_page_leads_to_guides_and_reference(site: tuple[Browser, str]) -> None:
    browser, url = site
    await browser.open(f"{url}/")
    links = await browser.execute("return [...document.querySelectorAll('article a')].map((link) => link.href)")
    assert {f"{url}/guides/quickstart/", f"{url}/api/"} <= set(links)


async def test_a_search_finds_a_guide(site: tuple[Browser, str]) -> None:
    browser, url = site
    await browser.open(f"{url}/")
    await browser.wait_until("return document.querySelector('[data-md-component=search-query]')")
    await browser.fill("[data-md-component=search-query]", "dead letters")
    await browser.wait_until(
        "return [...document.querySelectorAll('.md-search-result__link')].some((link) => /operate/.test(link.href))"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_text_links_and_code_can_be_read(site: tuple[Browser, str], scheme: Literal["light", "dark"]) -> None:
    browser, url = site
    await browser.set_color_scheme(scheme)
    for page in ("", "tutorial/", "concepts/"):
        await browser.open(f"{url}/{page}")
        rules = ("color-contrast", "link-in-text-block", "image-alt", "aria-dialog-name")
        assert await run_axe(browser, *rules) == [], page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["", "guides/quickstart/", "guides/configure/", "benchmarks/", "glossary/"])
async def test_a_page_fits_a_phone_in_both_schemes(
    site: tuple[Browser, str], page: str, scheme: Literal["light", "dark"]
) -> None:
    browser, url = site
    await browser.set_color_scheme(scheme)
    await browser.set_viewport(*NARROW)
    await browser.open(f"{url}/{page}")
    scrolled, seen = await browser.execute(WIDTHS)
    assert scrolled == seen
    assert (await browser.execute(BACKGROUND) == "rgb(255, 255, 255)") == (scheme == "light")
