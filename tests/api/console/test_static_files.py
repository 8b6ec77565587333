"""The console's files: what they say to browsers, and that they need nothing from elsewhere."""

import re
from hashlib import sha256
from os.path import normpath
from pathlib import Path

import httpx2
import pytest

from api.console.static_files import ASSETS_DIR
from tests.api.conftest import Service

ROOT = Path(__file__).parents[3]
FILES = sorted(path.relative_to(ASSETS_DIR).as_posix() for path in ASSETS_DIR.rglob("*.*"))

VENDORED = [name for name in FILES if name.startswith("vendor/")]
"""Files of others, as they published them."""


def _visitor(service: Service) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(service.app), base_url="http://test")


@pytest.mark.anyio
async def test_every_file_is_served_under_a_policy_that_lets_nothing_in(service: Service) -> None:
    async with _visitor(service) as http:
        for name in FILES:
            answer = await http.get(f"/console/{name}")
            assert answer.status_code == 200
            assert answer.content == (ASSETS_DIR / name).read_bytes()
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.anyio
async def test_a_file_that_is_known_is_not_sent_again(service: Service) -> None:
    async with _visitor(service) as http:
        etag = (await http.get("/console/main.js")).headers["etag"]
        answer = await http.get("/console/main.js", headers={"if-none-match": f'W/"x", {etag}'})
        assert (answer.status_code, answer.content) == (304, b"")


@pytest.mark.anyio
async def test_text_is_sent_compressed_to_browsers_that_take_it(service: Service) -> None:
    async with _visitor(service) as http:
        plain = await http.get("/console/vendor/cytoscape.js", headers={"accept-encoding": "identity"})
        small = await http.get("/console/vendor/cytoscape.js")
        assert small.content == plain.content
        assert small.headers["content-encoding"] == "gzip"
        assert int(small.headers["content-length"]) < len(plain.content) / 2
        assert "content-encoding" not in plain.headers
        assert small.headers["etag"] != plain.headers["etag"]


@pytest.mark.anyio
async def test_the_door_leads_to_the_page_also_below_a_path_of_a_proxy(service: Service) -> None:
    async with _visitor(service) as http:
        for address in ("/", "/console"):
            assert (await http.get(address)).headers["location"] == "console/"
        assert (await http.get("/console/")).headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.anyio
async def test_nothing_else_is_to_be_had(service: Service) -> None:
    async with _visitor(service) as http:
        for name in ("nothing.js", "..%2Fpages.py", "../pages.py", "pages.py"):
            assert (await http.get(f"/console/{name}")).status_code == 404


@pytest.mark.parametrize("name", [name for name in FILES if name not in VENDORED])
def test_a_file_names_no_other_place_and_writes_no_markup(name: str) -> None:
    text = (ASSETS_DIR / name).read_text().replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://\w|//[a-z]+\.[a-z]|@import|innerHTML|insertAdjacentHTML|\beval\(", text)


@pytest.mark.parametrize("name", [name for name in VENDORED if name.endswith(".js")])
def test_a_file_of_others_is_the_one_that_the_page_of_dependencies_names(name: str) -> None:
    content = (ASSETS_DIR / name).read_bytes()
    assert sha256(content).hexdigest() in (ROOT / "docs" / "dependencies.md").read_text()
    assert b"innerHTML" not in content
    assert (ASSETS_DIR / re.sub(r"(-worker)?\.js$", ".license.txt", name)).is_file()


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".js")])
def test_what_a_module_imports_is_there(name: str) -> None:
    imported = re.findall(r'(?:from |import\()"(\.[^"]+)"', (ASSETS_DIR / name).read_text())
    assert [path for path in imported if not ((ASSETS_DIR / name).parent / path).is_file()] == []


def test_the_page_preloads_every_module_that_its_start_needs() -> None:
    needed, waiting = set(), ["main.js"]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            imported = re.findall(r'from "(\.[^"]+)"', (ASSETS_DIR / name).read_text())
            waiting += [Path(normpath(Path(name).parent / path)).as_posix() for path in imported]
    preloaded = re.findall(r'rel="modulepreload" href="([^"]+)"', (ASSETS_DIR / "index.html").read_text())
    assert sorted([*preloaded, "main.js"]) == sorted(needed)
