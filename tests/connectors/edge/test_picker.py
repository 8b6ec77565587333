"""The picker: a link that opens it once, and in a real browser with a pointer, a keyboard and a full list."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from bench.doubles.sample_source import SampleProvider, SampleSource
from tests.support.asgi_server import serve_app
from tests.support.chromium import Browser, chromium, needs_chromium
from tests.support.connectors.connected_service import ConnectedService, run_connected_service


@pytest.fixture
def shelf() -> SampleSource:
    made = SampleSource()
    for number in range(45):
        made.put(f"k{number}", "A text.", board=f"board{number:02}")
    return made


@pytest.fixture
async def world(tmp_path: Path, shelf: SampleSource, anyio_backend: str) -> AsyncIterator[ConnectedService]:
    async with run_connected_service(tmp_path, {"github": SampleProvider()}, shelf.transport()) as opened:
        yield opened


@pytest.fixture
async def connector(world: ConnectedService) -> str:
    made = await world.create("alice", "github")
    await world.wait_for_run(made)
    return made


async def _link(world: ConnectedService, connector: str, back: str = "") -> str:
    query = f"&returnUrl={back}" if back else ""
    shown = await world.client.ok("GET", f"/ns/alice/connectors/{connector}?include=picker{query}")
    url: str = shown["picker"]["url"]
    return url


@asynccontextmanager
async def _visitor(world: ConnectedService) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(world.app)
    async with httpx2.AsyncClient(transport=transport, base_url="https://memory.test", follow_redirects=True) as http:
        yield http


@pytest.mark.anyio
async def test_a_link_opens_the_page_once(world: ConnectedService, connector: str) -> None:
    url = await _link(world, connector)
    async with _visitor(world) as first, _visitor(world) as second:
        opened = await first.get(url)
        assert opened.status_code == 200
        assert "token" not in str(opened.url)
        assert (await second.get(url)).status_code == 403
        assert (await first.get(f"/picker/{connector}/entries")).status_code == 200
        assert (await second.get(f"/picker/{connector}/entries")).status_code == 403
        assert (await second.put(f"/picker/{connector}/selection", json={"selection": {}})).status_code == 403


@pytest.mark.anyio
async def test_a_new_link_ends_no_visit(world: ConnectedService, connector: str) -> None:
    async with _visitor(world) as http:
        await http.get(await _link(world, connector))
        await _link(world, connector)
        assert (await http.get(f"/picker/{connector}/entries")).status_code == 200


@pytest.mark.anyio
async def test_a_visit_ends_when_the_choice_is_made(world: ConnectedService, connector: str) -> None:
    async with _visitor(world) as http:
        await http.get(await _link(world, connector, "https://app.test/back"))
        chosen = {"selection": {"repos": [{"id": "board07", "name": "Seven"}]}}
        path = f"/picker/{connector}/selection"
        assert (await http.put(path, json=chosen)).json() == {"return": "https://app.test/back"}
        assert (await http.get(path)).status_code == 403
    run = await world.wait_for_run(connector, 2)
    assert run.documents == 1
    shown = await world.get("alice", connector)
    assert shown["selection"] == {"repos": [{"id": "board07", "name": "Seven"}]}


@pytest.mark.anyio
async def test_what_a_form_of_another_site_could_send_is_refused(world: ConnectedService, connector: str) -> None:
    async with _visitor(world) as http:
        await http.get(await _link(world, connector))
        path = f"/picker/{connector}/selection"
        body = b'{"selection": {"repos": []}}'
        assert (await http.put(path, content=body, headers={"content-type": "text/plain"})).status_code == 415
        assert (await http.put(path, json={"selection": {"labels": []}})).status_code == 400
        many = [{"id": str(number), "name": ""} for number in range(501)]
        assert (await http.put(path, json={"selection": {"repos": many}})).status_code == 400


@pytest.mark.anyio
async def test_the_page_needs_nothing_from_outside(world: ConnectedService, connector: str) -> None:
    async with _visitor(world) as http:
        page = await http.get(await _link(world, connector))
        assert "default-src 'none'" in page.headers["content-security-policy"]
        wanted = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert wanted
        for asset in wanted:
            assert asset.startswith("/picker/")
            answer = await http.get(asset)
            assert answer.status_code == 200
            assert "http" not in answer.text.replace("https://", "http://").split("w3.org")[0]


@pytest.mark.anyio
async def test_what_the_provider_refuses_is_told(world: ConnectedService, shelf: SampleSource, connector: str) -> None:
    async with _visitor(world) as http:
        await http.get(await _link(world, connector))
        shelf.revoke_access()
        answer = await http.get(f"/picker/{connector}/entries")
        assert answer.status_code == 502
        assert "Connect it again" in answer.json()["error"]


@asynccontextmanager
async def _at_the_page(world: ConnectedService, connector: str, folder: Path) -> AsyncIterator[Browser]:
    """A browser that has opened the link, on a real server."""
    parts = urlsplit(await _link(world, connector))
    async with serve_app(world.app) as url, chromium(folder) as browser:
        # As over plain HTTP on this machine, where browsers accept secure cookies.
        port = urlsplit(url).port
        await browser.open(f"http://localhost:{port}{parts.path}?{parts.query}")
        await browser.wait_until("return document.querySelectorAll('#entries li').length")
        yield browser


async def _rows(browser: Browser) -> list[str]:
    found: list[str] = await browser.execute(
        "return [...document.querySelectorAll('#entries .name')].map((one) => one.innerText)"
    )
    return found


@needs_chromium
@pytest.mark.anyio
async def test_in_a_browser_one_lists_searches_chooses_and_saves(
    world: ConnectedService, connector: str, tmp_path: Path
) -> None:
    async with _at_the_page(world, connector, tmp_path / "browser") as browser:
        assert "GitHub" in await browser.inner_text("h1")
        assert "reader@shelf.test" in await browser.inner_text("header")
        assert len(await _rows(browser)) == 20
        await browser.click("#more")
        await browser.wait_until("return document.querySelectorAll('#entries li').length === 40")
        await browser.click("#more")
        await browser.wait_until("return document.querySelectorAll('#entries li').length === 45")
        assert not await browser.execute("return document.querySelector('#more').checkVisibility()")
        await browser.click("#entries li:nth-child(3) input")
        assert await browser.inner_text("#count") == "1 chosen"
        await browser.execute("document.querySelector('#query').focus()")
        await browser.press("board33")
        await browser.wait_until("return document.querySelectorAll('#entries li').length === 1")
        assert await _rows(browser) == ["Board board33"]
        await browser.click("#entries input")
        assert await browser.inner_text("#count") == "2 chosen"
        await browser.click("#save")
        await browser.wait_until("return document.querySelector('#status').innerText.startsWith('Saved')")
    run = await world.wait_for_run(connector, 2)
    assert run.documents == 2
    chosen = (await world.get("alice", connector))["selection"]["repos"]
    assert chosen == [
        {"id": "board02", "name": "Board board02"},
        {"id": "board33", "name": "Board board33"},
    ]


@needs_chromium
@pytest.mark.anyio
async def test_in_a_browser_a_keyboard_is_enough_and_what_was_chosen_is_there(
    world: ConnectedService, connector: str, tmp_path: Path
) -> None:
    path = f"/ns/alice/connectors/{connector}"
    await world.client.ok("PATCH", path, {"selection": {"repos": ["board00"]}})
    await world.wait_for_run(connector, 2)
    async with _at_the_page(world, connector, tmp_path / "browser") as browser:
        await browser.wait_until("return document.activeElement.id === 'query'")
        assert await browser.execute("return document.querySelector('#entries input').checked")
        assert await browser.inner_text("#count") == "1 chosen"
        await browser.press("tab", "incarnation", "down", "down", "incarnation")
        assert await browser.inner_text("#count") == "1 chosen"
        await browser.press(*["tab"] * 40)
        await browser.wait_until("document.querySelector('#save').focus(); return document.activeElement.id === 'save'")
        await browser.press("enter")
        await browser.wait_until("return document.querySelector('#status').innerText.startsWith('Saved')")
    await world.wait_for_run(connector, 3)
    chosen = (await world.get("alice", connector))["selection"]["repos"]
    assert [entry["id"] for entry in chosen] == ["board02"]


@needs_chromium
@pytest.mark.anyio
async def test_in_a_browser_trouble_at_the_provider_is_told(
    world: ConnectedService, shelf: SampleSource, connector: str, tmp_path: Path
) -> None:
    async with _at_the_page(world, connector, tmp_path / "browser") as browser:
        shelf.revoke_access()
        await browser.execute("document.querySelector('#query').focus()")
        await browser.press("x", "enter")
        await browser.wait_until("return document.querySelector('#status').innerText.includes('Connect it again')")
