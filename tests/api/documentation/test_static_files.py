"""The API reference's files: what they say to browsers, and that they need nothing from elsewhere."""

import re
from hashlib import sha256
from pathlib import Path

import httpx2
import pytest

from api.documentation.static_files import ASSETS_DIR
from tests.api.conftest import Service, open_service

ROOT = Path(__file__).parents[3]
FILES = sorted(path.relative_to(ASSETS_DIR).as_posix() for path in ASSETS_DIR.rglob("*.*"))
VENDORED = [name for name in FILES if "/vendor/" in name]
"""Files of others, as they published them."""


def _visitor(service: Service) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(service.app), base_url="http://test")


@pytest.mark.anyio
async def test_every_file_is_served_under_a_policy_that_lets_nothing_in(service: Service) -> None:
    async with _visitor(service) as http:
        for name in FILES:
            answer = await http.get(f"/docs/{name}")
            assert answer.content == (ASSETS_DIR / name).read_bytes()
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy


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
        for name in ("..%2Fsite-secret", "guides/%2e%2e/%2e%2e/site-secret", "guides/nothing/"):
            assert (await http.get(f"/docs/{name}")).status_code == 404


@pytest.mark.anyio
async def test_nothing_else_is_to_be_had(service: Service) -> None:
    async with _visitor(service) as http:
        for name in ("nothing.js", "..%2Fstatic_files.py", "api/nothing/"):
            assert (await http.get(f"/docs/{name}")).status_code == 404


@pytest.mark.parametrize("name", [name for name in FILES if name not in VENDORED])
def test_a_file_names_no_other_place_and_writes_no_markup(name: str) -> None:
    text = (ASSETS_DIR / name).read_text().replace("http://127.0.0.1:8787", "")
    assert not re.search(r"https?://\w|//[a-z]+\.[a-z]|@import|innerHTML|insertAdjacentHTML|\beval\(", text)


@pytest.mark.parametrize("name", [name for name in VENDORED if not name.endswith(".txt")])
def test_a_file_of_others_is_the_one_that_the_page_of_dependencies_names(name: str) -> None:
    content = (ASSETS_DIR / name).read_bytes()
    assert sha256(content).hexdigest() in (ROOT / "docs" / "dependencies.md").read_text()
    assert (ASSETS_DIR / re.sub(r"\.\w+$", ".license.txt", name)).is_file()
