"""The page that shows the console's tokens and elements, in a real Chromium."""

import re

import pytest

from api.console.static_files import ASSETS_DIR
from tests.support.chromium import needs_chromium
from tests.support.console_user import ConsoleUser

pytestmark = [pytest.mark.anyio, needs_chromium]
_SHOWN = "return [...document.querySelectorAll('main tbody th')].map((one) => one.innerText)"
_SWATCHES = """
const [light, dark] = document.querySelectorAll("main tbody tr .swatch");
return [light, dark].map((one) => getComputedStyle(one).backgroundColor);
"""
_NOT_SHOWN = {"--shadow", "--shadow-high"}


async def test_the_design_page_shows_every_token(visitor: ConsoleUser) -> None:
    root, _ = (ASSETS_DIR / "style.css").read_text().split("\n}\n", 1)
    await visitor.open_signed_in("#/design")
    shown = await visitor.browser.execute(_SHOWN)
    assert set(shown) == set(re.findall(r"^  (--[\w-]+):", root, re.MULTILINE)) - _NOT_SHOWN
    light, dark = await visitor.browser.execute(_SWATCHES)
    assert light != dark
    assert await visitor.accessibility_violations() == []
    assert await visitor.horizontal_overflow() == 0
