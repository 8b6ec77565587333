"""Main text of a web page as Markdown: what trafilatura selects, completed by the page's lead."""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import trafilatura
from lxml import html

from pipeline.parsing.markdown_conversion import to_markdown

_MAX_EXTRACTED_CHARACTERS = 3_000_000
"""Size from which pages are converted whole, as extracting their main text would take too long."""
_MIN_TEXT_CHARACTERS = 200
_MIN_PARAGRAPH_CHARACTERS = 60
_PREFIX_CHARACTERS = 60
"""Beginning of a paragraph by which it is recognized in an extracted text."""
_MIN_SHARE = 0.5
"""Share of the page's paragraphs below which an extraction counts as failed."""
_MIN_GROWTH = 2
"""Factor by which a wider extraction must be longer to replace the first one."""
_MAX_LINK_SHARE = 0.4
"""Share of link text from which a paragraph counts as navigation."""
_PARAGRAPHS = frozenset({"p", "pre", "td", "dd"})
_COMMENT_ATTRIBUTES = re.compile(r"\bcomment|disqus|\breplies\b|respond", re.IGNORECASE)
_LEAD_ELEMENTS = frozenset({"p", "div", "h2", "h3", "h4", "span", "strong", "section"})
_CONTAINERS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "dd", "div", "dl", "fieldset", "figure", "footer", "form"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section"),
        *("table", "td", "th", "tr", "ul"),
    }
)
_SIDE_ELEMENTS = frozenset(
    {
        *("a", "aside", "button", "dialog", "figcaption", "figure", "footer", "head", "iframe", "nav"),
        *("noscript", "script", "select", "style", "template"),
    }
)
_ARTICLE_ELEMENTS = frozenset({"article", "main", "body"})
_LEAD_ATTRIBUTES = re.compile(
    r"abstract|chapo|dek\b|description|entradilla|excerpt|intro|lead|standfirst|sub-?(?:head|line|title)|summary|"
    r"teaser|vorspann",
    re.IGNORECASE,
)
_BOILERPLATE_SELECTORS = (
    *("nav", "header", "footer", "aside", "form", "button", "dialog", "iframe"),
    *("[role=navigation]", "[role=banner]", "[role=contentinfo]", "[role=search]"),
    *(".sidebar", ".breadcrumb", ".breadcrumbs", ".cookie-banner", ".skip-link", ".headerlink"),
)
_PROMOTION_ATTRIBUTES = re.compile(
    r"\b(?:breadcrumbs?|crumbs?|copyright|cta|jp-relatedposts|likes|newsletter\w*|paywall|promo|related-?posts?|"
    r"sharedaddy|share-?(?:bar|buttons?|links?)|sharing|social-?(?:bar|buttons?|icons?|links?|media|share)|subscribe\w*|"
    r"[\w-]+[-_](?:cta|crumbs|newsletter|paywall|promo|subscribe))\b",
    re.IGNORECASE,
)
_MAX_SIDE_SHARE = 0.2
"""Share of the page's text below which a form or a promotion is one, rather than a wrapper of the article."""
_DESCRIPTIONS = ("description", "og:description", "twitter:description")
_BLANK_LINES = re.compile(r"\n{3,}")


def main_text(document: Any, url: str, *, characters: int) -> str:
    """Extract the main text; convert the page without its navigation if an extraction fails.

    `characters` is the length of the page's markup.
    """
    document = deepcopy(document)
    _unwrap_page_forms(document)
    _reveal_paragraphs(document)
    if characters > _MAX_EXTRACTED_CHARACTERS:
        return _converted_page(document, url)
    _remove_promotions(document)
    paragraphs = list(dict.fromkeys(_content_paragraphs(document)))
    found = _extract(document, url)
    share = _share_in(found, paragraphs)
    if share < _MIN_SHARE and len(wider := _extract(document, url, favor_recall=True)) > _MIN_GROWTH * len(found):
        found = wider
    if len(found) < _MIN_TEXT_CHARACTERS and _share_in(found, paragraphs) < _MIN_SHARE:
        page = _converted_page(document, url)
        return page if len(page) > len(found) else found
    lead = "\n\n".join(_lead_paragraphs(document, found))
    return _collapse_blank_lines(f"{lead}\n\n{found}")


def _unwrap_page_forms(document: Any) -> None:
    """Turn forms that hold a good part of the page, or paragraphs of its article, into plain blocks.

    Some sites put whole pages into one.
    """
    limit = len(_text_of(document)) * _MAX_SIDE_SHARE
    for form in document.iter("form"):
        is_read = not _is_aside(form) and any(
            len(_text_of(each)) >= _MIN_PARAGRAPH_CHARACTERS for each in form.iter("p")
        )
        if is_read or len(_text_of(form)) >= limit:
            for element in (form, *form.iter("fieldset")):
                element.tag = "div"


def _reveal_paragraphs(document: Any) -> None:
    """Make texts visible that are hidden from screen readers only: closed tabs and answers, unlike icons."""
    for element in document.xpath("//*[@aria-hidden='true']"):
        text = _text_of(element)
        if (
            len(text) >= _MIN_PARAGRAPH_CHARACTERS
            and element.tag not in _SIDE_ELEMENTS
            and not _is_aside(element)
            and _link_share(element, text) < _MAX_LINK_SHARE
        ):
            del element.attrib["aria-hidden"]


def _remove_promotions(document: Any) -> None:
    """Remove the elements that their class or id names as offers of the site, if they are small."""
    limit = len(_text_of(document)) * _MAX_SIDE_SHARE
    for element in list(document.iter("div", "section", "ul", "p", "aside", "form")):
        names = f"{element.get('class', '')} {element.get('id', '')}"
        if (
            _PROMOTION_ATTRIBUTES.search(names)
            and element.getparent() is not None
            and len(_text_of(element)) < limit
            and element.find(".//h1") is None
        ):
            element.drop_tree()


def _extract(document: Any, url: str, *, favor_recall: bool = False) -> str:
    """Return trafilatura's selection, "" if there is none."""
    for output_format in ("markdown", "txt"):  # it fails to format a few pages as Markdown
        found = trafilatura.extract(
            deepcopy(document),  # the extraction modifies its tree
            url=url,
            output_format=output_format,
            include_links=True,
            include_formatting=output_format == "markdown",
            include_tables=True,
            include_comments=False,
            favor_recall=favor_recall,
        )
        if found:
            return found
    return ""


def _content_paragraphs(document: Any) -> Iterator[str]:
    """Yield the beginnings of the page's longer texts outside navigation, as letters only."""
    for element in document.iter(*_PARAGRAPHS):
        text = _text_of(element)
        if (
            len(text) >= _MIN_PARAGRAPH_CHARACTERS
            and not _is_aside(element)
            and _link_share(element, text) < _MAX_LINK_SHARE
        ):
            yield _letters(text)[:_PREFIX_CHARACTERS]


def _share_in(found: str, paragraphs: list[str]) -> float:
    letters = _letters(found)
    return sum(each in letters for each in paragraphs) / len(paragraphs) if paragraphs else 0.0


def _lead_paragraphs(document: Any, found: str) -> Iterator[str]:
    """Yield the paragraphs between the heading and the extracted text that are marked as its lead."""
    extracted = _letters(found)
    descriptions = [_letters(text) for text in meta_values(document, *_DESCRIPTIONS)]
    heading = next(document.iter("h1"), None)
    is_below_heading = False
    seen = set() if heading is None else {_letters(_text_of(heading))[:_PREFIX_CHARACTERS]}
    for element in document.iter("h1", *_LEAD_ELEMENTS):
        is_below_heading |= element is heading
        if any(child.tag in _CONTAINERS for child in element.iterdescendants()):
            continue
        text = _text_of(element)
        prefix = _letters(text)[:_PREFIX_CHARACTERS]
        if len(text) < _MIN_PARAGRAPH_CHARACTERS or prefix in seen:
            continue
        if prefix in extracted:
            if is_below_heading:
                return
            continue
        is_described = any(each.startswith(prefix) for each in descriptions)
        if (
            (is_described or (is_below_heading and _is_marked_as_lead(element)))
            and not _is_aside(element)
            and _link_share(element, text) < _MAX_LINK_SHARE
        ):
            seen.add(prefix)
            yield text


def meta_values(document: Any, *names: str) -> list[str]:
    """Return the contents of the meta elements with one of these names."""
    return [
        content
        for each in document.iter("meta")
        if (each.get("name") or each.get("property") or "").lower() in names
        and (content := (each.get("content") or "").strip())
    ]


def _is_marked_as_lead(element: Any) -> bool:
    near = [element, *list(element.iterancestors())[:2]]
    return any(
        each.tag in {"header", "hgroup"} or _LEAD_ATTRIBUTES.search(f"{each.get('class')} {each.get('itemprop')}")
        for each in near
    )


def _is_aside(element: Any) -> bool:
    """Return whether an element stands beside the article that contains it."""
    for each in element.iterancestors():
        if each.tag in _ARTICLE_ELEMENTS:
            return False
        if each.tag in _SIDE_ELEMENTS or _COMMENT_ATTRIBUTES.search(f"{each.get('class')} {each.get('id')}"):
            return True
    return False


def _link_share(element: Any, text: str) -> float:
    return sum(len(_text_of(each)) for each in element.iter("a")) / len(text)


def _text_of(element: Any) -> str:
    return " ".join(element.text_content().split())


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


def _converted_page(document: Any, url: str) -> str:
    """Convert the main element or the whole page without elements for navigation."""
    main = document
    for path in ("//main", "//*[@role='main']", "//article"):
        parts = document.xpath(path)
        if len(parts) == 1 and len(_text_of(parts[0])) >= _MIN_TEXT_CHARACTERS:
            main = parts[0]
            break
    source = html.tostring(main, encoding="unicode", with_tail=False)
    return _collapse_blank_lines(to_markdown(source, base_url=url, exclude_selectors=_BOILERPLATE_SELECTORS))


def _collapse_blank_lines(text: str) -> str:
    return _BLANK_LINES.sub("\n\n", text).strip()
