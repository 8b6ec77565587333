"""The documentation's site is built without warnings, and is whole and closed in itself."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from mkdocs.structure.files import File, Files

from tests.support.documentation_site import build_documentation
from tools.docs_site import BLOCK, move_links

_LOADING = {("script", "src"), ("link", "href"), ("img", "src")}


class Page(HTMLParser):
    """Addresses, ids and inline code of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        for name, value in attrs:
            if (tag, name) in _LOADING and values.get("rel") not in ("canonical", "next", "prev"):
                self.loaded.append(value or "")
            elif (tag, name) == ("a", "href"):
                self.links.append(value or "")
            if name == "style" or name.startswith("on"):
                self.inline.append(f"{tag} {name}={value}")
        if tag == "style" or (tag == "script" and not {"src", "type"} & values.keys()):
            self.inline.append(tag)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    site = build_documentation(tmp_path_factory.mktemp("documentation"))
    return {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html")}


def test_a_page_loads_nothing_from_elsewhere_and_has_no_inline_code(pages: dict[Path, Page]) -> None:
    assert len(pages) > 90
    for path, page in pages.items():
        assert page.inline == [], path
        for address in page.loaded:
            assert not re.match(r"\w+:|//", address), (path, address)
            assert (path.parent / unquote(urldefrag(address)[0])).is_file(), (path, address)


def test_every_link_leads_to_a_page_and_a_heading(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for link in page.links:
            address, fragment = urldefrag(link)
            if re.match(r"\w+:|/", address):
                continue
            target = (path.parent / unquote(address)).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), (path, link)
            if fragment and target.suffix == ".html":
                assert unquote(fragment) in pages[target].ids, (path, link)


def test_links_follow_pages_from_outside_the_folder_and_name_code_by_its_path() -> None:
    names = ("guides/search.md", "guides/faq.md", "about.md", "architecture.md", "images/flow.svg")
    files = Files([File(name, None, "site", use_directory_urls=True) for name in names])
    assert move_links("[a](../../README.md#install-it)", "guides/faq.md", files) == "[a](../about.md#install-it)"
    assert move_links("[a](docs/guides/faq.md)", "about.md", files) == "[a](guides/faq.md)"
    assert move_links("![a](docs/images/flow.svg)", "architecture.md", files) == "![a](images/flow.svg)"
    assert move_links("[a](https://example.com/b.md)", "about.md", files) == "[a](https://example.com/b.md)"
    assert move_links("[rights](../../tests/x.py)", "guides/faq.md", files) == "rights (`tests/x.py`)"
    assert move_links("[`api/x.py`](../../api/x.py)", "guides/faq.md", files) == "`api/x.py`"
    assert move_links("[a](gone.md)", "guides/faq.md", files) == "[a](gone.md)"


def test_a_link_between_two_blocks_is_moved() -> None:
    text = "\n```sh\nls\n```\n\n[a](docs/faq.md)\n\n```\nb\n```\n"
    assert [text[found.start() : found.end()] for found in BLOCK.finditer(text)] == [
        "```sh\nls\n```\n",
        "```\nb\n```\n",
    ]
