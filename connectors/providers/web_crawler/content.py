"""Parsing of web pages: main text, links, and directives for crawlers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lxml import html

from connectors.providers.web_crawler.main_text import main_text, meta_values
from connectors.providers.web_crawler.page_dates import structured_dates
from connectors.providers.web_crawler.robots_and_sitemaps import ROBOTS_AGENT, rules_for_page
from connectors.providers.web_crawler.url_normalization import normalize_url
from schemas.address_secrets import mask_links

_MAX_LINKS = 2000
_MAX_PLACEHOLDER_CHARACTERS = 400
"""Length up to which a text may be all that a page shows before its scripts have run."""
_SCRIPT_REQUEST = re.compile(
    r"\b(?:enable|turn on|activ\w+|aktiv\w+|habilit\w+|attiv\w+)\b[^.!?]{0,60}\bjava\s?script\b|"
    r"\bjava\s?script\b[^.!?]{0,60}\b(?:enabled?|turn(?:ed)? on|activ\w+|aktiv\w+|habilit\w+|attiv\w+)\b",
    re.IGNORECASE,
)
_WAITING = re.compile(
    r"\W*(?:loading|please wait|one moment|wird geladen|laden|bitte warten|chargement|cargando|caricamento)"
    r"[^.!?\n]{0,30}\W*",
    re.IGNORECASE,
)
_REFRESH = re.compile(r"\s*[\d.]*\s*[;,]?\s*url\s*=\s*['\"]?([^'\"\s]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageContent:
    """Parsed page; `links` are normalized URLs, `canonical` is the URL that the page declares."""

    title: str | None
    text: str
    links: tuple[str, ...]
    canonical: str | None
    indexable: bool
    author: str | None
    published: str | None
    updated: str | None
    description: str | None
    needs_javascript: bool = False
    """True if the page has scripts and no text of its own, or only the request to enable them or to wait."""


def parse_page(source: str, url: str) -> PageContent:
    document = _parse_html(source)
    if document is None:
        return PageContent(
            None, "", (), None, indexable=True, author=None, published=None, updated=None, description=None
        )
    base = normalize_url(next(iter(document.xpath("//base/@href")), ""), url) or url
    rules = rules_for_page(meta_values(document, "robots", ROBOTS_AGENT))
    canonical = next(iter(document.xpath("//link[@rel='canonical']/@href")), None)
    links = tuple(_iter_links(document, base))
    published, updated = structured_dates(document.xpath("//script[@type='application/ld+json']/text()"))
    text = mask_links(main_text(document, url, characters=len(source)), links)
    return PageContent(
        title=_page_title(document),
        text=text,
        needs_javascript=_needs_javascript(document, text),
        links=() if rules & {"nofollow", "none"} else links,
        canonical=normalize_url(canonical, base) if canonical else None,
        indexable=not rules & {"noindex", "none"},
        author=next(iter(meta_values(document, "author", "article:author")), None),
        published=next(iter(meta_values(document, "article:published_time", "date", "dc.date")), published),
        updated=next(iter(meta_values(document, "article:modified_time")), updated),
        description=next(iter(meta_values(document, "description", "og:description")), None),
    )


def _parse_html(source: str) -> Any:
    """Parse HTML within libxml2's limits of depth and size; None if it is unparsable."""
    # The text is already decoded, so a declared encoding would be wrong.
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", source)
    try:
        return html.document_fromstring(text, parser=html.HTMLParser(huge_tree=False, no_network=True))
    except (html.etree.ParserError, html.etree.XMLSyntaxError, ValueError):
        return None


def _needs_javascript(document: Any, text: str) -> bool:
    if document.find(".//script") is None or len(text) > _MAX_PLACEHOLDER_CHARACTERS:
        return False
    return not text or _SCRIPT_REQUEST.search(text) is not None or _WAITING.fullmatch(text) is not None


def _page_title(document: Any) -> str | None:
    values = [*meta_values(document, "og:title"), *document.xpath("//title/text()"), *document.xpath("//h1//text()")]
    return next((" ".join(each.split()) for each in values if each.strip()), None)


def _iter_links(document: Any, base: str) -> Iterator[str]:
    seen: set[str] = set()
    for target in _refresh_targets(document):
        if (url := normalize_url(target, base)) is not None and url not in seen:
            seen.add(url)
            yield url
    for each in document.iter("a", "area", "frame"):
        href = each.get("src") if each.tag == "frame" else each.get("href")
        if not href or "nofollow" in (each.get("rel") or "").lower():
            continue
        if (url := normalize_url(href, base)) is not None and url not in seen:
            seen.add(url)
            yield url
            if len(seen) >= _MAX_LINKS:
                return


def _refresh_targets(document: Any) -> Iterator[str]:
    """Yield the addresses to which the page sends browsers by itself."""
    for each in document.iter("meta"):
        found = _REFRESH.match(each.get("content") or "")
        if (each.get("http-equiv") or "").lower() == "refresh" and found:
            yield found[1]
