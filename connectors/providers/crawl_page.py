"""What a page says: its text without its surroundings, where it leads, what it wants of crawlers. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import trafilatura
from lxml import html

from connectors.providers.crawl_urls import normal
from connectors.providers.html import to_markdown

_PARSED = 3_000_000
"""Longer pages are converted as they are: finding their main text would take too long."""
_LINKS = 2000
_SHORT = 200
_SURROUNDINGS = (
    *("nav", "header", "footer", "aside", "form", "button", "dialog", "iframe"),
    *("[role=navigation]", "[role=banner]", "[role=contentinfo]", "[role=search]", "[aria-hidden=true]"),
    *(".sidebar", ".breadcrumb", ".breadcrumbs", ".cookie-banner", ".skip-link", ".headerlink"),
)
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_TABLE = re.compile(r"^\| ?-", re.MULTILINE)
_BLANK = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class PageText:
    """A page. `links` are addresses as `normal` writes them; `canonical` is what it calls itself."""

    title: str | None
    text: str
    links: tuple[str, ...]
    canonical: str | None
    indexed: bool
    author: str | None
    published: str | None
    description: str | None


def page_of(source: str, url: str) -> PageText:
    """Read a page's markup."""
    document = _parsed(source)
    if document is None:
        return PageText(None, "", (), None, indexed=True, author=None, published=None, description=None)
    base = normal(next(iter(document.xpath("//base/@href")), ""), url) or url
    robots = " ".join(_meta(document, "robots", "recollect")).lower()
    follow = "nofollow" not in robots and "none" not in robots
    canonical = next(iter(document.xpath("//link[@rel='canonical']/@href")), None)
    return PageText(
        title=_title(document),
        text=_main_text(source, document, url),
        links=tuple(_links(document, base)) if follow else (),
        canonical=normal(canonical, base) if canonical else None,
        indexed="noindex" not in robots and "none" not in robots,
        author=next(iter(_meta(document, "author", "article:author")), None),
        published=next(iter(_meta(document, "article:published_time", "date", "dc.date")), None),
        description=next(iter(_meta(document, "description", "og:description")), None),
    )


def _parsed(source: str) -> Any:
    """The tree, within libxml2's bounds of depth and size; None where there is none."""
    # A declared encoding would contradict the text that it is by now.
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", source)
    try:
        return html.document_fromstring(text, parser=html.HTMLParser(huge_tree=False, no_network=True))
    except (html.etree.ParserError, html.etree.XMLSyntaxError, ValueError):
        return None


def _main_text(source: str, document: Any, url: str) -> str:
    """The main text; where too little is left of it, or headings or tables are lost, all but surroundings."""
    whole = _tidy(to_markdown(_main_part(source, document), base=url, without=_SURROUNDINGS))
    if len(source) > _PARSED:
        return whole
    # It takes its tree apart, so it gets one of its own.
    found = trafilatura.extract(
        _parsed(source),
        url=url,
        output_format="markdown",
        include_links=True,
        include_formatting=True,
        include_tables=True,
        include_comments=False,
    )
    chosen = _tidy(found or "")
    return chosen if _complete(chosen, whole) else whole


def _complete(found: str, whole: str) -> bool:
    return (
        len(found) >= min(_SHORT, len(whole))
        and len(found) * 2 >= len(whole)
        and len(_HEADING.findall(found)) * 2 >= len(_HEADING.findall(whole))
        and (bool(_TABLE.search(found)) or not _TABLE.search(whole))
    )


def _main_part(source: str, document: Any) -> str:
    for path in ("//main", "//*[@role='main']", "//article"):
        parts = document.xpath(path)
        if len(parts) == 1 and len(parts[0].text_content().strip()) >= _SHORT:
            told: str = html.tostring(parts[0], encoding="unicode", with_tail=False)
            return told
    return source


def _tidy(text: str) -> str:
    return _BLANK.sub("\n\n", text).strip()


def _title(document: Any) -> str | None:
    said = [*_meta(document, "og:title"), *document.xpath("//title/text()"), *document.xpath("//h1//text()")]
    return next((" ".join(each.split()) for each in said if each.strip()), None)


def _meta(document: Any, *names: str) -> list[str]:
    wanted = set(names)
    return [
        content
        for each in document.iter("meta")
        if (each.get("name") or each.get("property") or "").lower() in wanted
        and (content := (each.get("content") or "").strip())
    ]


def _links(document: Any, base: str) -> Iterator[str]:
    seen: set[str] = set()
    for each in document.iter("a", "area"):
        href = each.get("href")
        if not href or "nofollow" in (each.get("rel") or "").lower():
            continue
        if (url := normal(href, base)) is not None and url not in seen:
            seen.add(url)
            yield url
            if len(seen) >= _LINKS:
                return
