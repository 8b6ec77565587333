"""Hooks of MkDocs: pages from outside docs/, links to them, code fences and scripts as the site's policy wants them."""

import posixpath
import re
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parent.parent
ROOT_PAGES: Final = {
    "README.md": "about.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "reporting.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
}
"""Pages of the repository's first folder, and their names in the site."""
SOURCES: Final = ("docs", "tools", "mkdocs.yml", *ROOT_PAGES)
"""What the site is built from, beside the icon of the console."""
_STYLE: Final = ROOT / "tools" / "docs_site.css"
_LINK: Final = re.compile(r"(?P<open>!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()(?P<target>[^)\s#]+)(?P<rest>#[^)\s]*)?\)")
_FENCE: Final = re.compile(r"^(?P<fence>\s*```\w+)[ \t]+\S.*$", re.MULTILINE)
BLOCK: Final = re.compile(r"^(?P<indent>[ \t]*)```.*?^(?P=indent)```\s*$", re.MULTILINE | re.DOTALL)
_SEARCH_DIALOG: Final = 'data-md-component="search" role="dialog"'
_INLINE_SCRIPT: Final = re.compile(r"<script>(?P<source>.+?)</script>", re.DOTALL)
_UNUSED: Final = ("assets/javascripts/lunr", "sitemap.xml", "sitemap.xml.gz", "assets/images/favicon.png", "404.html")
"""What a site in English, served by the service itself, never loads."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages that lie outside docs/, and the icon of the console."""
    for source, name in ROOT_PAGES.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text("utf-8")))
    files.append(File.generated(config, "site.css", content=_STYLE.read_text("utf-8")))
    icon = ROOT / "api" / "console" / "assets" / "icon.svg"
    files.append(File.generated(config, "images/icon.svg", abs_src_path=str(icon)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at the site's pages, and leave nothing but the language in a code fence's first line."""
    del config
    parts, end = [], 0
    for block in BLOCK.finditer(markdown):
        parts += [move_links(markdown[end : block.start()], page.file.src_uri, files), block[0]]
        end = block.end()
    parts.append(move_links(markdown[end:], page.file.src_uri, files))
    return _FENCE.sub(r"\g<fence>", "".join(parts))


def move_links(text: str, page: str, files: Files) -> str:
    """Rewrite relative links of a page: pages of the repository's first folder are in the site, its code is not.

    A link to code becomes its path, in brackets; that it exists is for `tests/test_house.py` to see.
    """
    sources = {name: source for source, name in ROOT_PAGES.items()}
    folder = posixpath.dirname(sources.get(page, f"docs/{page}"))

    def moved(link: re.Match[str]) -> str:
        if re.match(r"[a-z]+:", link["target"]):
            return link[0]
        target = posixpath.normpath(posixpath.join(folder, link["target"]))
        name = ROOT_PAGES.get(target) or target.removeprefix("docs/")
        if (target in ROOT_PAGES or target.startswith("docs/")) and files.get_file_from_path(name) is not None:
            return f"{link['open']}{posixpath.relpath(name, posixpath.dirname(page) or '.')}{link['rest'] or ''})"
        if target.startswith("docs/"):
            return link[0]  # a broken link, which strict mode refuses
        label = link["open"].removeprefix("!")[1:-2]
        return label if target in label else f"{label} (`{target}`)"

    return _LINK.sub(moved, text)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Move inline scripts into files, as the policy of the pages allows no others, and name the search's dialog."""

    def moved(script: re.Match[str]) -> str:
        name = f"assets/inline/{sha256(script['source'].encode()).hexdigest()[:16]}.js"
        path = Path(config.site_dir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script["source"], "utf-8")
        return f'<script src="{posixpath.relpath(name, page.url or ".")}"></script>'

    return _INLINE_SCRIPT.sub(moved, output.replace(_SEARCH_DIALOG, f'{_SEARCH_DIALOG} aria-label="Search"'))


def on_post_build(config: MkDocsConfig) -> None:
    """Remove what no page loads."""
    site = Path(config.site_dir)
    for name in _UNUSED:
        path = site / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for path in site.rglob("*.map"):
        path.unlink()
