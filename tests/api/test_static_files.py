"""Files of console and API reference: what they say to browsers, and that they need nothing from elsewhere."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from os.path import normpath
from pathlib import Path

import httpx2
import pytest

from api.console.static_files import ASSETS_DIR as CONSOLE_DIR
from api.documentation.static_files import ASSETS_DIR as REFERENCE_DIR
from tests.api.conftest import Service, open_service

DEPENDENCIES = Path(__file__).parents[2] / "docs" / "dependencies.md"


@dataclass(frozen=True)
class ServedFolder:
    """A folder of files and the path under which they are served; `unknown`: names that are not served there."""

    folder: Path
    path: str
    unknown: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.*"))


CONSOLE = ServedFolder(CONSOLE_DIR, "/console", ("nothing.js", "..%2Fpages.py", "../pages.py", "pages.py"))
REFERENCE = ServedFolder(REFERENCE_DIR, "/docs", ("nothing.js", "..%2Fstatic_files.py", "api/nothing/"))
FOLDERS = (CONSOLE, REFERENCE)
NAMED_ADDRESSES = ("http://www.w3.org/2000/svg", "http://127.0.0.1:8787")
"""Addresses that files name without fetching them."""
each_folder = pytest.mark.parametrize("served", FOLDERS, ids=lambda served: served.path)


def _visitor(service: Service) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(service.app), base_url="http://test")


def _is_vendored(name: str) -> bool:
    """Whether a file is of others, as they published it."""
    return "vendor" in Path(name).parts


def _each_file(wanted: Callable[[str], bool]) -> pytest.MarkDecorator:
    files = [served.folder / name for served in FOLDERS for name in served.names if wanted(name)]
    return pytest.mark.parametrize("file", files, ids=lambda file: file.name)


@each_folder
@pytest.mark.anyio
async def test_every_file_is_served_under_a_policy_that_lets_nothing_in(service: Service, served: ServedFolder) -> None:
    async with _visitor(service) as http:
        for name in served.names:
            answer = await http.get(f"{served.path}/{name}")
            assert answer.status_code == 200
            assert answer.content == (served.folder / name).read_bytes()
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"


@each_folder
@pytest.mark.anyio
async def test_nothing_else_is_to_be_had(service: Service, served: ServedFolder) -> None:
    async with _visitor(service) as http:
        for name in served.unknown:
            assert (await http.get(f"{served.path}/{name}")).status_code == 404


@_each_file(lambda name: not _is_vendored(name))
def test_a_file_names_no_other_place_and_writes_no_markup(file: Path) -> None:
    text = file.read_text()
    for address in NAMED_ADDRESSES:
        text = text.replace(address, "")
    assert not re.search(r"https?://\w|//[a-z]+\.[a-z]|@import|innerHTML|insertAdjacentHTML|\beval\(", text)


@_each_file(lambda name: _is_vendored(name) and not name.endswith(".txt"))
def test_a_file_of_others_is_the_one_that_the_page_of_dependencies_names(file: Path) -> None:
    content = file.read_bytes()
    assert sha256(content).hexdigest() in DEPENDENCIES.read_text()
    assert (file.parent / re.sub(r"(-worker)?\.\w+$", ".license.txt", file.name)).is_file()
    assert b"innerHTML" not in content or not file.is_relative_to(CONSOLE.folder)


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
async def test_addresses_lead_to_the_reference_also_below_a_path_of_a_proxy(service: Service) -> None:
    async with _visitor(service) as http:
        for address, target in (("/docs", "docs/"), ("/docs/api", "api/")):
            assert (await http.get(address)).headers["location"] == target
        assert "make docs" in (await http.get("/docs/")).text
        assert "API reference" in (await http.get("/docs/api/")).text


@pytest.mark.anyio
async def test_a_built_site_is_served_around_the_reference(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name in ("index.html", "guides/quickstart/index.html", "api/index.html"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(f"built {name}")
    (tmp_path / "site-secret").write_text("not of the site")
    async with open_service(tmp_path, site) as service, _visitor(service) as http:
        assert (await http.get("/docs/")).text == "built index.html"
        page = await http.get("/docs/guides/quickstart/")
        assert page.text == "built guides/quickstart/index.html"
        assert "script-src 'self';" in page.headers["content-security-policy"]
        known = await http.get("/docs/guides/quickstart/", headers={"if-none-match": page.headers["etag"]})
        assert known.status_code == 304
        assert (await http.get("/docs/guides/quickstart")).headers["location"] == "quickstart/"
        assert "API reference" in (await http.get("/docs/api/")).text
        for name in ("..%2Fsite-secret", "guides/%2e%2e/%2e%2e/site-secret", "guides/nothing/", "%00", "a" * 5000):
            assert (await http.get(f"/docs/{name}")).status_code == 404


@_each_file(lambda name: name.endswith(".js"))
def test_what_a_module_imports_is_there(file: Path) -> None:
    imported = re.findall(r'(?:from |import\()"(\.[^"]+)"', file.read_text())
    assert [path for path in imported if not (file.parent / path).is_file()] == []


def test_the_page_preloads_every_module_that_its_start_needs() -> None:
    needed, waiting = set(), ["main.js"]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            imported = re.findall(r'from "(\.[^"]+)"', (CONSOLE_DIR / name).read_text())
            waiting += [Path(normpath(Path(name).parent / path)).as_posix() for path in imported]
    preloaded = re.findall(r'rel="modulepreload" href="([^"]+)"', (CONSOLE_DIR / "index.html").read_text())
    assert sorted([*preloaded, "main.js"]) == sorted(needed)
